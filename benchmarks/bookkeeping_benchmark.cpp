// The cost of a scope without its two clock reads, which are replaced by loads of a variable.
//
// Runs on one CPU, shared with the collector. On another CPU the collector would run at the same time, and every line
// of a chunk that it had read would have to come back from its cache. The result would then measure the machine's
// caches. scope_benchmark (bursts, unpaced) shows how much of that remains with real clock reads.
#include <kymo/detail/counter.hpp>

namespace kymo::detail {

/// Replaces the counter. Must not be earlier than the start of the recorder's chunks.
inline std::uint64_t frozen_counter = 0;
inline std::uint64_t load_counter() noexcept {
  // Volatile: loaded each time, as the counter would be read.
  return *static_cast<const volatile std::uint64_t*>(&frozen_counter);
}
inline CounterHalves load_counter_halves() noexcept {
  const std::uint64_t count = load_counter();
  return {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count >> 32U)};
}

}  // namespace kymo::detail

#define read_counter load_counter
#define read_counter_halves load_counter_halves
#include <kymo/kymo.hpp>
#undef read_counter
#undef read_counter_halves

#include <exception>

#include <sched.h>

#include <benchmark/benchmark.h>

#include "opaque.hpp"
#include "recording.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr std::size_t burst = 400'000;

[[gnu::noinline]] void record_scopes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    KYMO_SCOPE("scope");
    keep();
  }
}

[[gnu::noinline]] void count_up(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    keep();
  }
}

[[gnu::noinline]] void record_throwing_scopes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    KYMO_SCOPE("throwing");
    opaque_call();
  }
}

[[gnu::noinline]] void call_only(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    opaque_call();
  }
}

/// The recorder's chunks begin at the true time. The frozen time is set ahead of them and stays within their reach.
void freeze_counter() {
  detail::frozen_counter = detail::read_counter() + (std::uint64_t{1} << 33U);
}

/// Threads started later inherit the affinity.
void stay_on_this_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

using Work = void (*)(std::size_t);

void bookkeeping(benchmark::State& state, Work record, Work loop) {
  for (auto _ : state) {
    try {
      Recording recording;
      Cost scopes;
      Cost nothing;
      std::uint64_t issued = 0;
      for (int i = 0; i < 25; ++i) {
        freeze_counter();
        // The first bursts touch every page of the pool.
        Cost unused;
        measure(i < 5 ? unused : scopes, burst, record);
        issued += burst;
        flush();
        measure(nothing, burst, loop);
      }
      const Recorded recorded = recording.finish();
      account(state, issued, recorded.scopes, recorded.dropped_scopes);
      state.counters["loop_ns"] = nothing.cpu_each_ns();
      state.counters["scope_ns"] = scopes.cpu_each_ns() - nothing.cpu_each_ns();
      state.SetIterationTime(static_cast<double>(scopes.wall_ns) / 1e9);
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
  }
}
void add(const char* name, Work record, Work loop) {
  benchmark::RegisterBenchmark(name, bookkeeping, record, loop)
      ->Iterations(1)
      ->Repetitions(9)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

const bool are_added = [] {
  stay_on_this_cpu();
  add("bookkeeping", record_scopes, count_up);
  add("bookkeeping/throwing", record_throwing_scopes, call_only);
  return true;
}();

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
