// Size of captures on disk and reading speed, with the load of the seeded generator.
//
//   capture_benchmark [--scopes=N]     N: scopes in the capture, default 100,000,000
//
// The capture is written once to a temporary folder and deleted at the end. Each reader is a separate process, so that
// its peak memory is that of reading only.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

#include "capture/merge/merge.hpp"
#include "capture/summary/summary.hpp"
#include "generated_capture.hpp"
#include "generator.hpp"
#include "stats/statistics/call_tree.hpp"
#include "stats/statistics/statistics.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr int repetitions = 5;

/// Results reported by a reading process.
struct Reading {
  std::uint64_t scopes = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t peak_kb = 0;
};

/// Peak memory since the program began; unlike ru_maxrss it excludes the parent's.
std::uint64_t peak_memory_kb() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> status(std::fopen("/proc/self/status", "re"), std::fclose);
  std::array<char, 256> line{};
  std::uint64_t peak_kb = 0;
  while (status && std::fgets(line.data(), static_cast<int>(line.size()), status.get()) != nullptr) {
    if (std::strncmp(line.data(), "VmHWM:", 6) == 0) {
      peak_kb = std::strtoull(line.data() + 6, nullptr, 10);
    }
  }
  return peak_kb;
}

/// Per-site statistics from every event, as in `kymo stats --decode`.
std::uint64_t decode_all(const std::string& path) {
  const Timeline timeline(path);
  stats::StatisticsOptions options;
  options.use_summaries = false;
  const stats::Statistics statistics = stats::gather_statistics(timeline, options);
  std::uint64_t scopes = 0;
  for (const stats::SiteStatistics& site : statistics.sites) {
    scopes += site.durations.count;
  }
  return scopes;
}

/// The call tree, as in `kymo stats --tree`. Unlike a real program's, random sites form more paths than fit.
std::uint64_t build_tree(const std::string& path) {
  const Timeline timeline(path);
  const stats::CallTree tree = stats::gather_call_tree(timeline);
  std::uint64_t scopes = 0;
  for (const stats::CallTreeRow& row : tree.rows) {
    scopes += row.count;
  }
  return scopes;
}

/// The data of a first picture of the whole capture: the tables of the total summary, and the coverage of each track in
/// a few thousand bins.
std::uint64_t read_overview(const std::string& path) {
  constexpr std::size_t enough_summaries = 16;
  const CaptureReader capture(path);
  std::map<unsigned, std::vector<const BlockInfo*>> levels;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::summary) {
      levels[block.level].push_back(&block);
    }
  }
  auto level = levels.rbegin();
  while (level != levels.rend() && level->second.size() < enough_summaries && std::next(level) != levels.rend()) {
    ++level;
  }
  if (level == levels.rend()) {
    return 0;
  }
  std::vector<const BlockInfo*> wanted = level->second;
  if (level->first != capture::total_level) {
    wanted.push_back(levels[capture::total_level].at(0));
  }
  std::uint64_t scopes = 0;
  std::size_t bins = 0;
  BlockPayload payload;
  for (const BlockInfo* block : wanted) {
    if (!capture.read_payload(*block, payload)) {
      return 0;
    }
    const bool is_total = block->level == capture::total_level;
    const capture::SummaryParts parts{is_total, is_total, !is_total || wanted.size() == 1};
    const capture::Summary summary = capture::decode_summary({payload.data(), payload.size()}, parts);
    for (const capture::SiteSummary& site : summary.sites) {
      scopes += site.durations.count();
    }
    for (const capture::CoverageRow& row : summary.coverage.rows()) {
      bins += row.bins.size();
    }
  }
  return bins > 0 ? scopes : 0;
}

/// The reading process: prints its results and its cost.
int read_as_child(std::string_view how, const std::string& path) {
  try {
    Reading reading;
    const std::uint64_t start_ns = wall_ns();
    const std::uint64_t cpu_start_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    reading.scopes = how == "decode" ? decode_all(path) : how == "tree" ? build_tree(path) : read_overview(path);
    reading.cpu_ns = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start_ns;
    reading.wall_ns = wall_ns() - start_ns;
    std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", reading.scopes, reading.cpu_ns, reading.wall_ns,
                peak_memory_kb());
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

/// Starts this program again to read a capture.
Reading read_in_child(const std::string& how, const std::string& path) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "'" + program + "' --read=" + how + " '" + path + "'";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> child(::popen(command.c_str(), "re"), ::pclose);
  Reading reading;
  if (!child || std::fscanf(child.get(), "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &reading.scopes,
                            &reading.cpu_ns, &reading.wall_ns, &reading.peak_kb) != 4) {
    throw std::runtime_error("the process that reads the capture failed: " + command);
  }
  return reading;
}

/// Runs the body once per repetition. Exceptions fail the benchmark.
template <typename Body>
void once(benchmark::State& state, const Body& body) {
  for (auto _ : state) {
    try {
      const std::uint64_t start_ns = wall_ns();
      body();
      state.SetIterationTime(static_cast<double>(wall_ns() - start_ns) / 1e9);
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
  }
}

/// Ended scopes: up to six per thread are still open.
void check_scopes(benchmark::State& state, const GeneratedCapture& generated, std::uint64_t read) {
  state.counters["scopes"] = static_cast<double>(read);
  constexpr std::uint64_t most_open = ScopeGenerator::thread_count * ScopeGenerator::max_depth;
  if (read > generated.scopes() || read + most_open < generated.scopes()) {
    const std::string what =
        "of " + std::to_string(generated.scopes()) + " scopes " + std::to_string(read) + " were read";
    state.SkipWithError(what.c_str());
  }
}

void size_with_lz4(benchmark::State& state, const GeneratedCapture& generated) {
  once(state, [&] {
    state.counters["bytes_per_scope"] = generated.bytes_per_scope(generated.path());
    state.counters["writing_ns"] = generated.writing_ns();
  });
}

void size_with_zstd(benchmark::State& state, const GeneratedCapture& generated) {
  once(state, [&] {
    const std::string path = generated.beside("repacked.kymo");
    const std::vector<std::filesystem::path> inputs{generated.path()};
    Cost cost;
    measure(cost, generated.scopes(), [&](std::size_t) { capture::merge(inputs, path); });
    state.counters["bytes_per_scope"] = generated.bytes_per_scope(path);
    state.counters["repacking_ns"] = cost.cpu_each_ns();
    std::filesystem::remove(path);
  });
}

/// Reads everything.
void read_all(benchmark::State& state, const GeneratedCapture& generated, const char* how) {
  once(state, [&] {
    const Reading reading = read_in_child(how, generated.path());
    check_scopes(state, generated, reading.scopes);
    state.counters["million_per_s"] = static_cast<double>(reading.scopes) * 1e3 / static_cast<double>(reading.cpu_ns);
    state.counters["wall_ms"] = static_cast<double>(reading.wall_ns) / 1e6;
    state.counters["peak_mb"] = static_cast<double>(reading.peak_kb) * 1024 / 1e6;
  });
}

void decode(benchmark::State& state, const GeneratedCapture& generated) {
  read_all(state, generated, "decode");
}

void tree(benchmark::State& state, const GeneratedCapture& generated) {
  read_all(state, generated, "tree");
}

void overview(benchmark::State& state, const GeneratedCapture& generated) {
  once(state, [&] {
    const Reading reading = read_in_child("overview", generated.path());
    check_scopes(state, generated, reading.scopes);
    state.counters["wall_ms"] = static_cast<double>(reading.wall_ns) / 1e6;
    state.counters["cpu_ms"] = static_cast<double>(reading.cpu_ns) / 1e6;
    state.counters["peak_mb"] = static_cast<double>(reading.peak_kb) * 1024 / 1e6;
  });
}

using Function = void (*)(benchmark::State&, const GeneratedCapture&);

void add(const char* name, const GeneratedCapture& generated, Function function, int times) {
  benchmark::RegisterBenchmark(name, [&generated, function](benchmark::State& state) { function(state, generated); })
      ->Iterations(1)
      ->Repetitions(times)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  using namespace kymo::benchmarks;  // NOLINT(google-build-using-namespace)
  constexpr std::string_view read_option = "--read=";
  constexpr std::string_view scopes_option = "--scopes=";
  std::uint64_t scopes = 100'000'000;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, read_option.size()) == read_option && i + 1 < argc) {
      return read_as_child(argument.substr(read_option.size()), argv[i + 1]);
    }
    if (argument.substr(0, scopes_option.size()) == scopes_option) {
      scopes = std::strtoull(argv[i] + scopes_option.size(), nullptr, 10);
    } else {
      rest.push_back(argv[i]);
    }
  }
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) {
    return 2;
  }
  try {
    const GeneratedCapture generated(scopes);
    // The same load produces the same file, so its size needs no repetition.
    add("size/lz4", generated, size_with_lz4, 1);
    add("size/zstd", generated, size_with_zstd, 1);
    add("decode", generated, decode, repetitions);
    add("tree", generated, tree, repetitions);
    add("overview", generated, overview, repetitions);
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "capture_benchmark: %s\n", failure.what());
    return 1;
  }
  benchmark::Shutdown();
  return 0;
}
