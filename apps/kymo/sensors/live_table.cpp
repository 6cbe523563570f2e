#include "apps/kymo/sensors/live_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"
#include "base/time_math.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::command {

namespace {

constexpr std::size_t most_values = 400;

}  // namespace

LiveRow::LiveRow(const MetricDeclaration& metric, std::int64_t bar_ns)
    : metric_(metric), title_(metric.name), unit_(metric.unit), bar_ns_(bar_ns) {
  for (const auto& [key, value] : metric.labels) {
    if (key == "core") {
      core_ = printable(value, 6);
    }
    if (key != "uuid") {
      title_ += fmt::format(" {}={}", key, value);
    }
  }
  title_ = printable(title_, 60);
  if (metric_.kind == MetricKind::energy_counter) {
    unit_ = "W";
  } else if (metric_.kind == MetricKind::counter) {
    unit_ = unit_.empty() ? "1/s" : unit_ + "/s";
  }
}

void LiveRow::add(std::int64_t time_ns, double value, bool is_stale) {
  is_stale_ = is_stale;
  double shown = value;
  if (metric_.kind != MetricKind::gauge) {
    if (is_stale || std::isnan(value)) {
      return;
    }
    const double seconds = static_cast<double>(time_ns - counted_ns_) / 1e9;
    const bool is_first = counted_ns_ == 0;
    // The growth over a shorter time tells when the source counts, rather than how fast.
    if (!is_first && base::length_between(counted_ns_, time_ns) < bar_ns_ / 2) {
      return;
    }
    shown = value >= counted_ && seconds > 0 ? (value - counted_) / seconds : std::numeric_limits<double>::quiet_NaN();
    counted_ = value;
    counted_ns_ = time_ns;
    if (is_first) {
      return;
    }
  }
  // With NaN these give the other number.
  min_ = std::fmin(min_, shown);
  max_ = std::fmax(max_, shown);
  if (!values_.empty() && base::length_between(bar_start_ns_, time_ns) < bar_ns_) {
    values_.back() = shown;
    return;
  }
  bar_start_ns_ = time_ns;
  if (values_.size() == most_values) {
    values_.erase(values_.begin());
  }
  values_.push_back(shown);
}

std::string LiveRow::sparkline(std::size_t width) const {
  constexpr std::array<const char*, 8> bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = values_.size() > width ? values_.size() - width : 0;
  double least = std::numeric_limits<double>::infinity();
  double greatest = -least;
  for (std::size_t i = first; i < values_.size(); ++i) {
    if (!std::isnan(values_[i])) {
      least = std::min(least, values_[i]);
      greatest = std::max(greatest, values_[i]);
    }
  }
  // Percentages are drawn against 100, so that idle looks idle.
  if (unit_ == "%" && least >= 0 && greatest <= 100) {
    least = 0;
    greatest = 100;
  }
  std::string line;
  for (std::size_t i = first; i < values_.size(); ++i) {
    const double share = greatest > least ? (values_[i] - least) / (greatest - least) : 0;
    line += std::isnan(values_[i]) ? " " : bars[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return line;
}

std::string format_quantity(double value, const std::string& unit) {
  return stats::value_text(value, printable(unit, 8), {4, false});
}

}  // namespace kymo::command
