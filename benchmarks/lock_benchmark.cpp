// Cost of recorded locks and fibers for their threads, compared with scopes at the same moment.
#include <exception>
#include <mutex>
#include <thread>

#include <benchmark/benchmark.h>

#include <kymo/kymo.hpp>
#include <kymo/lockable.hpp>

#include "recording.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr std::size_t burst = 100'000;
constexpr int rounds = 20;

[[gnu::noinline]] void record_scopes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    KYMO_SCOPE("scope");
    keep();
  }
}

std::mutex bare_mutex;
Lockable<std::mutex> recorded_mutex("benchmark");
Lockable<std::mutex> placed_mutex("benchmark, by place");

[[gnu::noinline]] void lock_bare(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::lock_guard lock(bare_mutex);
    keep();
  }
}

[[gnu::noinline]] void lock_recorded(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::lock_guard lock(recorded_mutex);
    keep();
  }
}

[[gnu::noinline]] void lock_placed(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    placed_mutex.lock();
    keep();
    placed_mutex.unlock();
  }
}

[[gnu::noinline]] void enter_and_leave(std::size_t count) {
  static const Fiber fiber("benchmark");
  for (std::size_t i = 0; i < count; ++i) {
    fiber_enter(fiber);
    keep();
    fiber_leave();
  }
}

/// Scopes of a thread inside a fiber.
[[gnu::noinline]] void record_scopes_in_fiber(std::size_t count) {
  static const Fiber fiber("benchmark, inside");
  const FiberGuard guard(fiber);
  record_scopes(count);
}

/// Runs the body once per repetition, on a separate thread.
template <typename Body>
void once(benchmark::State& state, const Body& body) {
  for (auto _ : state) {
    const std::uint64_t start_ns = wall_ns();
    std::thread([&] {
      try {
        body();
      } catch (const std::exception& failure) {
        state.SkipWithError(failure.what());
      }
    }).join();
    state.SetIterationTime(static_cast<double>(wall_ns() - start_ns) / 1e9);
  }
}

/// The alternated kinds of work, in bursts that fit the pool.
struct Turn {
  void (*work)(std::size_t);
  Cost cost;
};

template <typename... Turns>
void take_turns(Turns&... turns) {
  for (int round = -2; round < rounds; ++round) {
    // The first rounds touch every page and declare everything.
    (
        [&] {
          Cost unused;
          measure(round < 0 ? unused : turns.cost, burst, turns.work);
          flush();
        }(),
        ...);
  }
}

void lock(benchmark::State& state, void (*work)(std::size_t)) {
  once(state, [&] {
    Recording recording;
    Turn scopes{record_scopes, {}};
    Turn bare{lock_bare, {}};
    Turn recorded{work, {}};
    take_turns(scopes, bare, recorded);
    const Recorded result = recording.finish();
    account(state, (rounds + 2) * burst, result.scopes, result.dropped_scopes + result.dropped_others);
    const double added_ns = recorded.cost.cpu_each_ns() - bare.cost.cpu_each_ns();
    state.counters["added_ns"] = added_ns;
    state.counters["mutex_ns"] = bare.cost.cpu_each_ns();
    state.counters["scope_ns"] = scopes.cost.cpu_each_ns();
    state.counters["ratio"] = added_ns / (2 * scopes.cost.cpu_each_ns());
  });
}

void lock_off(benchmark::State& state) {
  once(state, [&] {
    Turn bare{lock_bare, {}};
    Turn off{lock_recorded, {}};
    take_turns(bare, off);
    state.counters["added_ns"] = off.cost.cpu_each_ns() - bare.cost.cpu_each_ns();
    state.counters["mutex_ns"] = bare.cost.cpu_each_ns();
  });
}

void fiber(benchmark::State& state) {
  once(state, [&] {
    Recording recording;
    Turn scopes{record_scopes, {}};
    Turn inside{record_scopes_in_fiber, {}};
    Turn switches{enter_and_leave, {}};
    take_turns(scopes, inside, switches);
    const Recorded result = recording.finish();
    // Each switch appears as a scope on the thread, and so does each burst in a fiber.
    account(state, (rounds + 2) * (3 * burst + 1), result.scopes, result.dropped_scopes);
    state.counters["switch_ns"] = switches.cost.cpu_each_ns();
    state.counters["scope_ns"] = scopes.cost.cpu_each_ns();
    state.counters["ratio"] = switches.cost.cpu_each_ns() / scopes.cost.cpu_each_ns();
    state.counters["scope_ratio"] = inside.cost.cpu_each_ns() / scopes.cost.cpu_each_ns();
  });
}

void fiber_off(benchmark::State& state) {
  once(state, [&] {
    Turn switches{enter_and_leave, {}};
    take_turns(switches);
    state.counters["switch_ns"] = switches.cost.cpu_each_ns();
  });
}

template <typename Function>
void add(const char* name, Function function) {
  benchmark::RegisterBenchmark(name, function)
      ->Iterations(1)
      ->Repetitions(5)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  using namespace kymo::benchmarks;
  add("lock", [](benchmark::State& state) { lock(state, lock_recorded); });
  add("lock/by_place", [](benchmark::State& state) { lock(state, lock_placed); });
  add("lock/off", lock_off);
  add("fiber", fiber);
  add("fiber/off", fiber_off);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
