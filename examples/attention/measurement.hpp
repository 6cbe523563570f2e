// Measurements of one run over all samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/bench.hpp>
#include <kymo/memory_tracker.hpp>
#include <kymo/power.hpp>

#include "workload.hpp"

namespace attention {

/// The measurements of one sample.
struct SampleFigures {
  std::uint64_t sample = 0;
  std::uint64_t tokens = 0;
  double wall_us = 0;    ///< attention and gate, all steps
  double kernel_us = 0;  ///< attention alone
  double energy_j = kymo::no_value;
  std::uint64_t peak_memory_bytes = 0;
};

/// The similarity of two outputs: sums over positions.
struct Likeness {
  double cosines = 0;
  std::uint64_t agreements = 0;  ///< positions with the same largest component
  std::uint64_t positions = 0;

  void add(const Matrix& output, const Matrix& baseline);
};

/// Measures the machine's energy if it has a power source.
class EnergyMeter {
 public:
  EnergyMeter();

  [[nodiscard]] bool has_source() const { return tracker_ != nullptr; }
  [[nodiscard]] std::string source() const { return has_source() ? sources_.front()->name() : ""; }
  void start();
  /// Joules since start(); NaN without a source.
  double stop();

 private:
  std::vector<std::unique_ptr<kymo::PowerSource>> sources_;
  std::unique_ptr<kymo::PowerTracker> tracker_;
};

/// Writes the metrics as a JSON object; NaN becomes null.
void write_metrics(const std::string& path, const std::vector<std::pair<std::string, double>>& metrics);

}  // namespace attention
