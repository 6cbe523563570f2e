// A complete benchmark: the fingerprint of the configuration, trackers of energy and memory, 1,000 iterations,
// statistics, and CSV files.
//
//     bench_loop [DIR]      writes latency.csv and memory.csv to DIR (default: here)
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/bench.hpp>
#include <kymo/kymo.hpp>
#include <kymo/latency_stats.hpp>
#include <kymo/memory_tracker.hpp>
#include <kymo/power.hpp>

namespace {

/// The measured work: sorts numbers, more with every iteration.
std::uint64_t work(std::vector<std::uint32_t>& numbers, std::size_t size) {
  KYMO_FUNCTION();
  numbers.resize(size);
  std::uint32_t state = 1;
  for (std::uint32_t& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = state;
  }
  for (std::size_t gap = size / 2; gap > 0; gap /= 2) {
    for (std::size_t i = gap; i < size; ++i) {
      for (std::size_t j = i; j >= gap && numbers[j - gap] > numbers[j]; j -= gap) {
        std::swap(numbers[j - gap], numbers[j]);
      }
    }
  }
  return numbers[size / 2];
}

int run(const std::string& directory) {
  constexpr std::uint64_t iterations = 1000;
  kymo::enable();
  kymo::ParameterSet parameters;
  parameters.add("algorithm", "shell sort").add("iterations", iterations).add("generator", "lcg 1664525 1013904223");
  const std::string fingerprint = parameters.fingerprint();
  kymo::set_info("configuration", fingerprint);
  std::printf("configuration %s\n  %s\n", fingerprint.c_str(), parameters.to_json().c_str());

  const std::vector<std::unique_ptr<kymo::PowerSource>> sources = kymo::find_power_sources();
  std::unique_ptr<kymo::PowerTracker> power;
  if (!sources.empty()) {
    power = std::make_unique<kymo::PowerTracker>(*sources.front(), 100);
    power->start();
  }
  kymo::MemoryTracker memory("shell sort");
  std::vector<kymo::LatencyRecord> latencies;
  std::vector<double> times_us;
  std::vector<std::uint32_t> numbers;
  std::uint64_t checksum = 0;
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    const std::size_t size = 64 + iteration;
    const auto start = std::chrono::steady_clock::now();
    checksum += work(numbers, size);
    const double time_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    times_us.push_back(time_us);
    latencies.push_back({iteration, time_us, time_us, size});
    memory.snapshot({0, numbers.size() * sizeof(numbers[0]), 0});
    kymo::frame_mark();
  }

  const kymo::LatencyStats stats = kymo::LatencyStats::of(times_us);
  std::printf("%zu iterations (checksum %llu): p50 %.1f us, p95 %.1f us, p99 %.1f us, mean %.1f us, std %.1f us\n",
              stats.n, static_cast<unsigned long long>(checksum), stats.p50, stats.p95, stats.p99, stats.mean,
              stats.std);
  if (power) {
    std::printf("energy of %s: %s\n", sources.front()->name().c_str(), kymo::to_json(power->stop()).c_str());
  } else {
    std::printf("energy: there is no power source here; `kymo doctor` says why\n");
  }
  std::printf("memory: %s\n", kymo::to_json(memory.report()).c_str());
  kymo::write_csv(directory + "/latency.csv", latencies);
  kymo::write_csv(directory + "/memory.csv", memory.snapshots());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : ".");
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench_loop: %s\n", failure.what());
    return 1;
  }
}
