// Writes the input of python_read_benchmark.py:
//
//   write_python_load MILLIONS SCOPES.kymo SAMPLES.kymo
//
// The first file has that many million scopes of the generator, the second as many samples of eight metrics at 1 kHz
// each.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <random>
#include <string>

#include "capture/write/capture_writer.hpp"
#include "generator.hpp"

namespace {

void write_scopes(const std::string& path, double count) {
  kymo::benchmarks::ScopeGenerator generator(1);
  kymo::capture::CaptureWriter writer(path, kymo::capture::CaptureWriterOptions{});
  kymo::EventBatch batch;
  while (static_cast<double>(generator.scopes()) < count) {
    generator.next(batch);
    writer.write(batch);
  }
  writer.finish();
}

void write_samples(const std::string& path, double count) {
  constexpr std::uint32_t metrics = 8;
  constexpr std::size_t samples_a_block = 8192;
  constexpr std::int64_t period_ns = 1'000'000;
  kymo::capture::CaptureWriter writer(path, kymo::capture::CaptureWriterOptions{});
  std::mt19937_64 random(1);
  std::normal_distribution<double> steps(0, 1);
  kymo::EventBatch batch;
  batch.declarations.processes.push_back({kymo::ProcessId{1}, 100, "host", "boot", "", "load"});
  for (std::uint32_t id = 1; id <= metrics; ++id) {
    kymo::MetricDeclaration metric;
    metric.id = kymo::MetricId{id};
    metric.name = "metric " + std::to_string(id - 1);
    metric.unit = "W";
    batch.declarations.metrics.push_back(metric);
  }
  double value = 1000;
  std::int64_t time_ns = period_ns;
  for (double written = 0; written < count; written += metrics * samples_a_block) {
    batch.start_ns = time_ns;
    batch.samples.assign(metrics, {});
    for (std::uint32_t id = 1; id <= metrics; ++id) {
      kymo::SampleRun& run = batch.samples[id - 1];
      run.metric = kymo::MetricId{id};
      for (std::size_t i = 0; i < samples_a_block; ++i) {
        run.times_ns.push_back(time_ns + static_cast<std::int64_t>(i) * period_ns + id);
        value += static_cast<double>(static_cast<int>(steps(random)));
        run.values.push_back(value);
      }
    }
    time_ns += static_cast<std::int64_t>(samples_a_block) * period_ns;
    batch.end_ns = time_ns;
    writer.write(batch);
    batch.declarations.clear();
  }
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "write_python_load MILLIONS SCOPES.kymo SAMPLES.kymo\n";
    return 2;
  }
  try {
    const double count = 1e6 * std::strtod(argv[1], nullptr);
    write_scopes(argv[2], count);
    write_samples(argv[3], count);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
