// What a scope costs beside its two reads of the clock: here they are loads of a variable.
#include <kymo/detail/counter.hpp>

namespace kymo::detail {

/// Stands in for the counter. It must not lie before the recorder's chunks begin.
inline std::uint64_t frozen_counter = 0;
inline std::uint64_t load_counter() noexcept {
  // Volatile: loaded each time, as the counter would be read.
  return *static_cast<const volatile std::uint64_t*>(&frozen_counter);
}

}  // namespace kymo::detail

#define read_counter load_counter
#include <kymo/kymo.hpp>
#undef read_counter

#include <exception>

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

/// The recorder's chunks begin at the true time: the frozen one is set ahead of them, and stays within their reach.
void freeze_counter() {
  detail::frozen_counter = detail::read_counter() + (std::uint64_t{1} << 33U);
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
  add("bookkeeping", record_scopes, count_up);
  add("bookkeeping/throwing", record_throwing_scopes, call_only);
  return true;
}();

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
