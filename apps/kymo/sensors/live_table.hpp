// Live metrics: a row each, with the latest value and a sparkline of the past.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::command {

/// The history of one metric, at most a few hundred values. Counters are shown as growth per second, counters of joules
/// as watts.
class LiveRow {
 public:
  /// What comes within `bar_ns` of a bar's beginning shares the bar, which shows the last of it.
  explicit LiveRow(const MetricDeclaration& metric, std::int64_t bar_ns = 0);

  void add(std::int64_t time_ns, double value, bool is_stale);

  [[nodiscard]] const MetricDeclaration& metric() const { return metric_; }
  [[nodiscard]] const std::string& name() const { return metric_.name; }
  /// Whether a sensor measured it rather than the program recorded it.
  [[nodiscard]] bool is_sampled() const { return !metric_.source.empty(); }
  /// The core that it is of; empty: none.
  [[nodiscard]] const std::string& core() const { return core_; }
  /// Name and labels, printable.
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  [[nodiscard]] bool has_value() const { return !values_.empty(); }
  [[nodiscard]] double latest() const { return values_.back(); }
  [[nodiscard]] bool is_stale() const { return is_stale_; }
  /// Whether several values are the same.
  [[nodiscard]] bool is_constant() const { return values_.size() > 1 && min_ == max_ && latest() == max_; }
  /// Least and greatest of all values, not of the bars; NaN until there is a number.
  [[nodiscard]] double min() const { return min_; }
  [[nodiscard]] double max() const { return max_; }
  /// The last `width` values. The smallest has the lowest bar.
  [[nodiscard]] std::string sparkline(std::size_t width) const;

 private:
  MetricDeclaration metric_;
  std::string title_;
  std::string core_;
  std::string unit_;
  std::vector<double> values_;
  double counted_ = 0;
  std::int64_t counted_ns_ = 0;
  std::int64_t bar_ns_ = 0;
  std::int64_t bar_start_ns_ = 0;
  double min_ = std::numeric_limits<double>::quiet_NaN();
  double max_ = std::numeric_limits<double>::quiet_NaN();
  bool is_stale_ = false;
};

/// A number with its unit, such as "12.3 %", "1.20 GB", "3.5 MB/s".
[[nodiscard]] std::string format_quantity(double value, const std::string& unit);

}  // namespace kymo::command
