// Speed of exports, with the load of the seeded generator.
//
//   export_benchmark [--scopes=N]     N: scopes in the capture, default 5,000,000
//
// Each export writes a new file in the temporary folder. One thread does all work; its CPU time is measured: opening,
// decoding and writing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include <kymo/exchange.hpp>

#include "generated_capture.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

constexpr int repetitions = 3;

using Export = void (*)(const Timeline&, const std::string&, const ExportOptions&);

void run(benchmark::State& state, const GeneratedCapture& generated, Export write) {
  const std::string path = generated.beside("exported");
  for (auto _ : state) {
    try {
      const std::uint64_t start_ns = thread_cpu_ns();
      write(Timeline(generated.path()), path, {});
      const double seconds = static_cast<double>(thread_cpu_ns() - start_ns) / 1e9;
      state.SetIterationTime(seconds);
      const auto bytes = static_cast<double>(std::filesystem::file_size(path));
      state.counters["mb_per_s"] = bytes / 1e6 / seconds;
      state.counters["million_per_s"] = static_cast<double>(generated.scopes()) / 1e6 / seconds;
      state.counters["bytes_per_scope"] = bytes / static_cast<double>(generated.scopes());
    } catch (const std::exception& failure) {
      state.SkipWithError(failure.what());
    }
    std::filesystem::remove(path);
  }
}

void add(const char* name, const GeneratedCapture& generated, Export write) {
  benchmark::RegisterBenchmark(name, [&generated, write](benchmark::State& state) { run(state, generated, write); })
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  using namespace kymo::benchmarks;  // NOLINT(google-build-using-namespace)
  constexpr std::string_view scopes_option = "--scopes=";
  std::uint64_t scopes = 5'000'000;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
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
    add("export/chrome", generated, kymo::export_chrome_trace);
    add("export/perfetto", generated, kymo::export_perfetto_trace);
    add("export/csv_spans", generated, kymo::export_spans_csv);
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "export_benchmark: %s\n", failure.what());
    return 1;
  }
  benchmark::Shutdown();
  return 0;
}
