// NVMT traces for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "exchange/nvmt/format.hpp"

namespace kymo::test {

using namespace exchange;

/// The bytes of a trace. The header gets the magic, the version and the counts of the vectors.
inline std::string encode_nvmt(const NvmtTrace& trace) {
  nvmetrics::FileHeader header = trace.header;
  header.magic = nvmetrics::magic;
  header.version = nvmetrics::version;
  header.num_fast_samples = trace.fast.size();
  header.num_medium_samples = trace.medium.size();
  header.num_slow_samples = trace.slow.size();
  header.num_sync_points = trace.sync.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  const auto append = [&bytes](const auto& rows) {
    bytes.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof rows[0]);
  };
  append(trace.fast);
  append(trace.medium);
  append(trace.slow);
  append(trace.sync);
  return bytes;
}

struct TraceShape {
  std::uint32_t seed = 1;
  unsigned cores = 12;
  unsigned rails = 4;
  unsigned zones = 11;
  bool has_emc = true;
  std::size_t fast = 500;
  std::size_t medium = 50;
  std::size_t slow = 5;
  std::size_t sync = 7;
  bool has_odd_times = false;  ///< as differences of floating-point times, rather than whole nanoseconds
};

/// A trace with names, random values in what its header counts and ascending times, as a recorder would write it.
inline NvmtTrace random_trace(const TraceShape& shape) {
  std::mt19937_64 random(shape.seed);
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  const auto percent = [&] { return static_cast<float>(below(1'000'001)) / 10000.0F; };
  const auto time_s = [&](std::size_t row, double period_s) {
    const double now_s = static_cast<double>(row) * period_s + static_cast<double>(below(50'000)) * 1e-9;
    const double start_s = 86'400.123456789;
    return shape.has_odd_times ? (start_s + now_s) - start_s : static_cast<double>(std::llround(now_s * 1e9)) / 1e9;
  };
  NvmtTrace trace;
  nvmetrics::FileHeader& header = trace.header;
  header.magic = nvmetrics::magic;
  header.version = nvmetrics::version;
  set_field(header.board_name, "agx_orin");
  header.num_cpu_cores = static_cast<std::uint8_t>(shape.cores);
  header.num_power_rails = static_cast<std::uint8_t>(shape.rails);
  header.num_thermal_zones = static_cast<std::uint8_t>(shape.zones);
  header.emc_available = shape.has_emc ? 1 : 0;
  header.fast_hz = 1000;
  header.medium_hz = 100;
  header.slow_hz = 10;
  header.num_fast_samples = shape.fast;
  header.num_medium_samples = shape.medium;
  header.num_slow_samples = shape.slow;
  header.num_sync_points = shape.sync;
  for (unsigned i = 0; i < shape.rails; ++i) {
    set_field(header.power_rail_names[i], "VDD_RAIL_" + std::to_string(i));
  }
  for (unsigned i = 0; i < shape.zones; ++i) {
    set_field(header.thermal_zone_names[i], "zone" + std::to_string(i) + "-thermal");
  }
  for (std::size_t row = 0; row < shape.fast; ++row) {
    nvmetrics::FastSample sample{};
    sample.time_s = time_s(row, 1e-3);
    sample.gpu_load = static_cast<std::uint16_t>(below(1001));
    for (unsigned core = 0; core < shape.cores; ++core) {
      sample.cpu_util[core] = percent();
    }
    sample.cpu_aggregate = percent();
    sample.ram_used_kb = below(64'349'376);
    sample.ram_available_kb = 64'349'376 - sample.ram_used_kb;
    sample.emc_util = shape.has_emc && below(10) != 0 ? percent() : -1.0F;
    trace.fast.push_back(sample);
  }
  for (std::size_t row = 0; row < shape.medium; ++row) {
    nvmetrics::MediumSample sample{};
    sample.time_s = time_s(row, 1e-2);
    for (unsigned rail = 0; rail < shape.rails; ++rail) {
      sample.voltage_mv[rail] = static_cast<std::uint32_t>(below(20'000));
      // Now and then a negative reading that became a large number.
      sample.current_ma[rail] = static_cast<std::uint32_t>(below(20) == 0 ? 0xFFFFFFF0U + below(16) : below(9'000));
      sample.power_mw[rail] =
          static_cast<float>(sample.voltage_mv[rail]) * static_cast<float>(sample.current_ma[rail]) / 1000.0F;
    }
    trace.medium.push_back(sample);
  }
  for (std::size_t row = 0; row < shape.slow; ++row) {
    nvmetrics::SlowSample sample{};
    sample.time_s = time_s(row, 1e-1);
    for (unsigned zone = 0; zone < shape.zones; ++zone) {
      sample.temp_c[zone] = static_cast<float>(static_cast<std::int64_t>(below(120'000)) - 20'000) / 1000.0F;
    }
    trace.slow.push_back(sample);
  }
  for (std::size_t i = 0; i < shape.sync; ++i) {
    trace.sync.push_back({i + 1, i * shape.fast / (shape.sync > 1 ? shape.sync - 1 : 1)});
  }
  return trace;
}

}  // namespace kymo::test
