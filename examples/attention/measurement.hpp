// What is measured of one run over all samples.
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

/// One sample's figures.
struct SampleFigures {
  std::uint64_t sample = 0;
  std::uint64_t tokens = 0;
  double wall_us = 0;    ///< attention and gate, all steps
  double kernel_us = 0;  ///< attention alone
  double energy_j = kymo::no_value;
  std::uint64_t peak_memory_bytes = 0;
};

/// How alike two outputs are: sums over positions.
struct Likeness {
  double cosines = 0;
  std::uint64_t agreements = 0;  ///< positions whose largest component is the same
  std::uint64_t positions = 0;

  void add(const Matrix& output, const Matrix& baseline);
};

/// The machine's power, where it has a source for it.
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
