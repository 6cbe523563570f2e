// Cost of the recorder while thousands of threads are idle.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <kymo/kymo.hpp>

#include "recording.hpp"

namespace kymo::benchmarks {

namespace {

/// Threads that recorded a scope each and then wait.
class IdleThreads {
 public:
  explicit IdleThreads(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        { KYMO_SCOPE("once"); }
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return is_over_; });
      });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return waiting_ == count; });
  }
  IdleThreads(const IdleThreads&) = delete;
  IdleThreads& operator=(const IdleThreads&) = delete;
  ~IdleThreads() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// With `is_quiet` no thread records; otherwise one records a little, so that the collector checks all ten times a
/// second.
void idle(benchmark::State& state, bool is_quiet) {
  constexpr std::size_t threads = 4'000;
  constexpr int tenths = 30;
  for (auto _ : state) {
    try {
      Recording recording;
      double spent = 0;
      {
        const IdleThreads others(threads);
        kymo::flush();
        std::this_thread::sleep_for(std::chrono::seconds(2));
        const double before = cpu_seconds();
        for (int i = 0; i < tenths; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          if (!is_quiet) {
            KYMO_SCOPE("tick");
          }
        }
        spent = cpu_seconds() - before;
      }
      const Recorded recorded = recording.finish();
      account(state, threads + (is_quiet ? 0U : static_cast<unsigned>(tenths)), recorded.scopes,
              recorded.dropped_scopes);
      state.counters["cpu_percent"] = 100 * spent / (0.1 * tenths);
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
  }
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const bool is_quiet : {true, false}) {
    benchmark::RegisterBenchmark(is_quiet ? "idle" : "idle/ticking",
                                 [is_quiet](benchmark::State& state) { kymo::benchmarks::idle(state, is_quiet); })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
