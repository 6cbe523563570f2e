// Cost of summaries: the collector pays for add() with every scope, readers for matching and decoding.
#include <cmath>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "capture/format/bytes.hpp"
#include "capture/summary/builder.hpp"
#include "capture/summary/histogram.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "generator.hpp"

namespace kymo::benchmarks {

namespace {

using capture::Histogram;
using capture::ScopeSpan;
using capture::ScopeStack;
using capture::SummaryBuilder;

constexpr std::uint64_t seed = 1;

void per_item(benchmark::State& state, const char* name, double items) {
  state.counters[name] = benchmark::Counter(items, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_HistogramRecord(benchmark::State& state) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> duration_ns(std::log(700.0), 1.0);
  std::vector<std::int64_t> values(65536);
  for (std::int64_t& value : values) {
    value = static_cast<std::int64_t>(duration_ns(random));
  }
  Histogram histogram;
  for (auto _ : state) {
    for (const std::int64_t value : values) {
      histogram.record(value);
    }
    benchmark::DoNotOptimize(histogram.total_ns());
  }
  per_item(state, "s/record", static_cast<double>(state.iterations()) * static_cast<double>(values.size()));
}
BENCHMARK(BM_HistogramRecord);

/// Times `take(batch)` for successive batches, each just produced as by the collector.
template <typename Take>
void time_batches(benchmark::State& state, Take&& take) {
  ScopeGenerator generator(seed);
  EventBatch batch;
  double scopes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    generator.next(batch);
    for (const ScopeRun& run : batch.runs) {
      scopes += static_cast<double>(run.events.size()) / 2;
    }
    state.ResumeTiming();
    take(batch);
  }
  per_item(state, "s/scope", scopes);
}

void BM_MatchScopes(benchmark::State& state) {
  std::vector<ScopeStack> stacks(ScopeGenerator::thread_count + 1);
  std::int64_t self_ns = 0;
  time_batches(state, [&](const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      match(run, stacks[run.track.value() % stacks.size()], [&](const ScopeSpan& span) { self_ns += span.self_ns; });
    }
    benchmark::DoNotOptimize(self_ns);
  });
}
BENCHMARK(BM_MatchScopes);

void BM_SummaryAdd(benchmark::State& state) {
  SummaryBuilder builder;
  std::uint32_t number = 0;
  std::size_t bytes = 0;
  time_batches(state, [&](const EventBatch& batch) {
    for (const auto& summary : builder.add(batch, ++number)) {
      bytes += summary.payload.size();
    }
  });
  state.counters["bytes/scope"] = static_cast<double>(bytes) / (static_cast<double>(number) * 65536);
}
BENCHMARK(BM_SummaryAdd);

}  // namespace

}  // namespace kymo::benchmarks

BENCHMARK_MAIN();
