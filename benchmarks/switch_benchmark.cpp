// Cost of a context switch that `kymo record` observes, compared with one that nobody observes at the same moment.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <benchmark/benchmark.h>

#include "threads/states/switch_events.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr int round_trips = 50'000;
constexpr int rounds = 6;

/// Two ends of a pipe that forked processes share.
struct Pipe {
  Pipe() { is_open = ::pipe(ends.data()) == 0; }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  template <typename Value>
  Value read() const {
    Value value{};
    static_cast<void>(!::read(ends[0], &value, sizeof value));
    return value;
  }
  template <typename Value>
  void write(const Value& value) const {
    static_cast<void>(!::write(ends[1], &value, sizeof value));
  }

  std::array<int, 2> ends{-1, -1};
  bool is_open = false;
};

/// Two processes on one CPU hand a byte to and fro: each hand-over is a switch. Writes the ns of one into `result`.
void ping_pong(const Pipe& go, const Pipe& result) {
  static_cast<void>(go.read<char>());
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ::sched_setaffinity(0, sizeof one, &one);
  const Pipe there;
  const Pipe back;
  const std::uint64_t start_ns = wall_ns();
  if (::fork() == 0) {
    for (int i = 0; i < round_trips; ++i) {
      back.write(there.read<char>());
    }
    ::_exit(0);
  }
  for (int i = 0; i < round_trips; ++i) {
    there.write(char{1});
    static_cast<void>(back.read<char>());
  }
  result.write(static_cast<double>(wall_ns() - start_ns) / (2.0 * round_trips));
  ::_exit(0);
}

struct Switches {
  double each_ns = 0;
  double reading_ns = 0;  ///< CPU time of the observer
  std::uint64_t lost = 0;
};

Switches run_switches(bool is_observed) {
  const Pipe go;
  const Pipe result;
  const pid_t child = ::fork();
  if (child == 0) {
    ping_pong(go, result);
  }
  Switches switches;
  threads::SwitchEvents events;
  threads::RunStates states;
  std::atomic<bool> is_over{false};
  std::thread reader;
  if (is_observed && events.attach(child).error == 0) {
    reader = std::thread([&] {
      EventBatch batch;
      while (!is_over) {
        std::vector<pollfd> polled = events.polled();
        ::poll(polled.data(), polled.size(), 100);
        events.read(states);
        states.collect(events.complete_until_ns(), 1'000'000'000, batch);
      }
      switches.reading_ns = static_cast<double>(thread_cpu_ns());
    });
  }
  go.write(char{1});
  switches.each_ns = result.read<double>();
  ::waitpid(child, nullptr, 0);
  if (reader.joinable()) {
    is_over = true;
    reader.join();
    switches.reading_ns /= std::max(1.0, static_cast<double>(states.switches()));
    switches.lost = events.lost_records() + events.overruns();
  }
  return switches;
}

void switches(benchmark::State& state) {
  if (const threads::Refusal refusal = threads::check_switch_events(); refusal.error != 0) {
    state.SkipWithError(refusal.reason.c_str());
  }
  for (auto _ : state) {
    Switches bare;
    Switches observed;
    for (int round = 0; round < rounds; ++round) {
      bare.each_ns += run_switches(false).each_ns / rounds;
      const Switches one = run_switches(true);
      observed.each_ns += one.each_ns / rounds;
      observed.reading_ns += one.reading_ns / rounds;
      observed.lost += one.lost;
    }
    state.counters["added_ns"] = observed.each_ns - bare.each_ns;
    state.counters["bare_ns"] = bare.each_ns;
    state.counters["reading_ns"] = observed.reading_ns;
    state.counters["dropped"] = static_cast<double>(observed.lost);
    state.SetIterationTime(observed.each_ns / 1e9);
  }
}

BENCHMARK(switches)->Iterations(1)->Repetitions(3)->UseManualTime();

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
