// Cost of recording for the program:
//
// - scopes compared with bare counter reads, at a steady pace, in bursts and unpaced,
// - disabled scopes,
// - arguments, frame marks and metrics,
// - the collector's CPU time meanwhile.
//
//   scope_benchmark [--seconds=N]      N: length of the long runs, default 10
//
// Each repetition computes its own ratio, and alternates between the compared kinds of work.
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include <kymo/kymo.hpp>

#include "generator_shape.hpp"
#include "recording.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr int repetitions = 5;

[[gnu::noinline]] void read_pairs(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t start = detail::read_counter();
    const std::uint64_t end = detail::read_counter();
    asm volatile("" ::"r"(start), "r"(end) : "memory");
  }
}

[[gnu::noinline]] void record_scopes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    KYMO_SCOPE("scope");
    keep();
  }
}

[[gnu::noinline]] void leave_out_scopes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    KYMO_SCOPE("left out");
    keep();
  }
}

[[gnu::noinline]] void record_scopes_with_arguments(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    KYMO_SCOPE("scope", {"index", i}, {"left", count - i});
    keep();
  }
}

[[gnu::noinline]] void count_up(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    keep();
  }
}

[[gnu::noinline]] void mark_frames(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    frame_mark();
  }
}

[[gnu::noinline]] void record_samples(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    record_metric("benchmark_sample", static_cast<double>(i));
  }
}

/// Runs the body once per repetition, on a separate thread, because a track counts its drops from its thread's
/// beginning. Exceptions fail the benchmark.
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

void account_scopes(benchmark::State& state, std::uint64_t issued, const Recorded& recorded) {
  account(state, issued, recorded.scopes, recorded.dropped_scopes);
}

/// Touches every page of the pool, the sites and the thread's track before the measurements.
std::uint64_t warm_up() {
  constexpr std::size_t burst = 900'000;
  for (int i = 0; i < 2; ++i) {
    record_scopes(burst);
    flush();
  }
  return 2 * burst;
}

struct ScopesAndPairs {
  Cost scopes;
  Cost pairs;
};

/// Threads that record at a steady pace, interleaved with bare counter reads at the same pace.
void paced(benchmark::State& state, std::size_t thread_count, const Pace& pace) {
  constexpr std::uint64_t stretch_ns = second_ns / 4;
  constexpr std::uint64_t stretches = 8;
  once(state, [&] {
    Recording recording;
    std::uint64_t issued = warm_up();
    std::vector<ScopesAndPairs> costs(thread_count);
    const std::uint64_t start_ns = wall_ns() + 20'000'000;
    const auto run = [&](ScopesAndPairs& cost) {
      record_scopes(pace.burst);
      for (std::uint64_t i = 0; i < stretches; ++i) {
        const std::uint64_t from_ns = start_ns + i * stretch_ns;
        if (i % 2 == 0) {
          measure_paced(cost.scopes, pace, from_ns, from_ns + stretch_ns, record_scopes);
        } else {
          measure_paced(cost.pairs, pace, from_ns, from_ns + stretch_ns, read_pairs);
        }
      }
    };
    std::vector<std::thread> threads;
    for (ScopesAndPairs& cost : costs) {
      threads.emplace_back(run, std::ref(cost));
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    ScopesAndPairs all;
    for (const ScopesAndPairs& cost : costs) {
      all.scopes.add(cost.scopes);
      all.pairs.add(cost.pairs);
    }
    issued += thread_count * pace.burst + all.scopes.count;
    account_scopes(state, issued, recording.finish());
    state.counters["scope_ns"] = all.scopes.cpu_each_ns();
    state.counters["pair_ns"] = all.pairs.cpu_each_ns();
    state.counters["ratio"] = all.scopes.cpu_each_ns() / all.pairs.cpu_each_ns();
    state.counters["million_per_s"] =
        static_cast<double>(all.scopes.count) / (static_cast<double>(stretches / 2 * stretch_ns) * 1e-3);
  });
}

void bursts(benchmark::State& state) {
  constexpr std::size_t burst = 500'000;
  once(state, [&] {
    Recording recording;
    std::uint64_t issued = warm_up();
    ScopesAndPairs cost;
    for (int i = 0; i < 20; ++i) {
      measure(cost.scopes, burst, record_scopes);
      flush();
      measure(cost.pairs, burst, read_pairs);
    }
    issued += cost.scopes.count;
    account_scopes(state, issued, recording.finish());
    state.counters["scope_ns"] = cost.scopes.cpu_each_ns();
    state.counters["pair_ns"] = cost.pairs.cpu_each_ns();
    state.counters["ratio"] = cost.scopes.cpu_each_ns() / cost.pairs.cpu_each_ns();
  });
}

/// A thread that only records, far faster than any collector drains.
void unpaced(benchmark::State& state, double seconds) {
  constexpr std::size_t burst = 20'000;
  const auto measure_for = [](Cost& cost, double length_s, const auto& work) {
    const std::uint64_t end_ns = wall_ns() + static_cast<std::uint64_t>(length_s * 1e9);
    while (wall_ns() < end_ns) {
      measure(cost, burst, work);
    }
  };
  once(state, [&] {
    ScopesAndPairs cost;
    measure_for(cost.pairs, seconds / 10, read_pairs);
    Recording recording;
    std::uint64_t issued = warm_up();
    measure_for(cost.scopes, seconds, record_scopes);
    issued += cost.scopes.count;
    const Recorded recorded = recording.finish();
    measure_for(cost.pairs, seconds / 10, read_pairs);
    account_scopes(state, issued, recorded);
    state.counters["scope_ns"] = cost.scopes.wall_each_ns();
    state.counters["pair_ns"] = cost.pairs.wall_each_ns();
    state.counters["ratio"] = cost.scopes.wall_each_ns() / cost.pairs.wall_each_ns();
    state.counters["cpu_ratio"] = cost.scopes.cpu_each_ns() / cost.pairs.cpu_each_ns();
    state.counters["share_recorded"] = static_cast<double>(recorded.scopes) / static_cast<double>(issued);
    state.counters["million_recorded_per_s"] = static_cast<double>(recorded.scopes) / seconds / 1e6;
  });
}

/// CPU time of the collector for scopes at a steady pace.
void collector(benchmark::State& state, double seconds, void (*work)(std::size_t)) {
  once(state, [&] {
    const Pace pace;
    Cost cost;
    Recording recording;
    const std::uint64_t start_ns = wall_ns();
    measure_paced(cost, pace, start_ns, start_ns + static_cast<std::uint64_t>(seconds * 1e9), work);
    const double length_s = static_cast<double>(wall_ns() - start_ns) / 1e9;
    const Recorded recorded = recording.finish();
    account_scopes(state, cost.count, recorded);
    const auto scopes = static_cast<double>(recorded.scopes);
    state.counters["collector_ns"] = static_cast<double>(recorded.collector_cpu_ns) / scopes;
    state.counters["million_per_s"] = scopes / length_s / 1e6;
    state.counters["bytes_per_scope"] = static_cast<double>(recorded.bytes) / scopes;
    state.counters["scope_ns"] = cost.cpu_each_ns();
  });
}

void disabled(benchmark::State& state) {
  constexpr std::size_t count = 10'000'000;
  once(state, [&] {
    Cost scopes;
    Cost nothing;
    for (int i = 0; i < 10; ++i) {
      measure(scopes, count, record_scopes);
      measure(nothing, count, count_up);
    }
    state.counters["loop_ns"] = nothing.cpu_each_ns();
    state.counters["scope_ns"] = scopes.cpu_each_ns() - nothing.cpu_each_ns();
  });
}

/// Over an empty loop.
double left_out_scope_ns() {
  constexpr std::size_t count = 1'000'000;
  Cost scopes;
  Cost nothing;
  for (int i = 0; i < 10; ++i) {
    measure(scopes, count, leave_out_scopes);
    measure(nothing, count, count_up);
  }
  return scopes.cpu_each_ns() - nothing.cpu_each_ns();
}

/// Scopes left out by KYMO_SITES, inside a recorded one and in none. main() sets the variable for all benchmarks, as it
/// must not make the others slower.
void left_out(benchmark::State& state) {
  once(state, [&] {
    Recording recording;
    { KYMO_SCOPE("first"); }
    state.counters["outermost_ns"] = left_out_scope_ns();
    {
      KYMO_SCOPE("around");
      state.counters["scope_ns"] = left_out_scope_ns();
    }
    recording.finish();
  });
}

void arguments(benchmark::State& state) {
  constexpr std::size_t burst = 150'000;
  once(state, [&] {
    Recording recording;
    std::uint64_t scopes = warm_up();
    Cost without;
    Cost with;
    record_scopes_with_arguments(burst);
    flush();
    for (int i = 0; i < 20; ++i) {
      measure(with, burst, record_scopes_with_arguments);
      flush();
      measure(without, burst, record_scopes);
      flush();
    }
    scopes += burst + with.count + without.count;
    const Recorded recorded = recording.finish(true);
    account(state, scopes + 2 * (with.count + burst), recorded.scopes + recorded.arguments,
            recorded.dropped_scopes + recorded.dropped_others);
    state.counters["with_ns"] = with.cpu_each_ns();
    state.counters["without_ns"] = without.cpu_each_ns();
    state.counters["ratio"] = with.cpu_each_ns() / without.cpu_each_ns();
  });
}

/// Events other than scopes, in bursts that fit into the pool.
void others(benchmark::State& state, void (*work)(std::size_t), std::uint64_t Recorded::*counted) {
  constexpr std::size_t burst = 200'000;
  once(state, [&] {
    Recording recording;
    Cost cost;
    const std::uint64_t scopes = warm_up();
    work(burst);
    flush();
    for (int i = 0; i < 10; ++i) {
      measure(cost, burst, work);
      flush();
    }
    const Recorded recorded = recording.finish(true);
    account(state, scopes + burst + cost.count, recorded.scopes + recorded.*counted,
            recorded.dropped_scopes + recorded.dropped_others);
    state.counters["each_ns"] = cost.cpu_each_ns();
  });
}

template <typename Function>
void add(const char* name, Function function) {
  benchmark::RegisterBenchmark(name, function)
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void add_all(double seconds) {
  add("disabled", disabled);
  add("left_out", left_out);
  add("paced/one_thread", [](benchmark::State& state) { paced(state, 1, {20'000, 1'000'000}); });
  add("paced/two_threads", [](benchmark::State& state) { paced(state, 2, {10'000, 1'000'000}); });
  // Far more threads than processors, as in servers.
  add("many_threads", [](benchmark::State& state) { paced(state, 300, {500, 10'000'000}); });
  add("bursts", bursts);
  add("arguments", arguments);
  add("frame_mark", [](benchmark::State& state) { others(state, mark_frames, &Recorded::frame_marks); });
  add("record_metric", [](benchmark::State& state) { others(state, record_samples, &Recorded::samples); });
  add("collector", [seconds](benchmark::State& state) { collector(state, seconds, record_scopes); });
  add("collector/generated_shape",
      [seconds](benchmark::State& state) { collector(state, seconds / 5, record_generated_shape); });
  add("unpaced", [seconds](benchmark::State& state) { unpaced(state, seconds); });
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  double seconds = 10;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    constexpr std::string_view option = "--seconds=";
    const std::string_view argument = argv[i];
    if (argument.substr(0, option.size()) == option) {
      seconds = std::atof(argv[i] + option.size());
    } else {
      rest.push_back(argv[i]);
    }
  }
  ::setenv("KYMO_SITES", "-left out", 1);
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) {
    return 2;
  }
  kymo::benchmarks::add_all(seconds);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
