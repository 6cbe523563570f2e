// Live metrics: a row each, with the latest value and a sparkline of the past.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::command {

/// The history of one metric, at most a few hundred values. Counters are shown as growth per second, counters of joules
/// as watts.
class LiveRow {
 public:
  explicit LiveRow(const MetricDeclaration& metric);

  void add(std::int64_t time_ns, double value, bool is_stale);

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  [[nodiscard]] bool has_value() const { return !values_.empty(); }
  [[nodiscard]] double latest() const { return values_.back(); }
  [[nodiscard]] bool is_stale() const { return is_stale_; }
  [[nodiscard]] double min() const { return min_; }
  [[nodiscard]] double max() const { return max_; }
  /// The last `width` values. The smallest has the lowest bar.
  [[nodiscard]] std::string sparkline(std::size_t width) const;

 private:
  std::string title_;
  std::string unit_;
  MetricKind kind_;
  std::vector<double> values_;
  double counted_ = 0;
  std::int64_t counted_ns_ = 0;
  double min_ = 0;
  double max_ = 0;
  bool is_stale_ = false;
};

/// A number with its unit, such as "12.3 %", "1.20 GB", "3.5 MB/s".
[[nodiscard]] std::string format_quantity(double value, const std::string& unit);

/// Rows as lines of text `width` columns wide.
[[nodiscard]] std::string format_rows(const std::vector<const LiveRow*>& rows, std::size_t width);

}  // namespace kymo::command
