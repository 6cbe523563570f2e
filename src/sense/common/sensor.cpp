#include "sense/common/sensor.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace kymo::sense {

namespace {

constexpr std::int64_t retry_ns = 1'000'000'000;

/// The values that something measured in a unit can have, generously.
std::pair<double, double> possible_values(std::string_view unit) {
  struct Bounds {
    std::string_view unit;
    double least;
    double greatest;
  };
  // Sensors that are not connected say -273 C, all bits set, or something negative.
  constexpr std::array all{
      Bounds{"%", 0, 1e6},    Bounds{"C", -150, 1'000}, Bounds{"W", 0, 1e6},    Bounds{"J", 0, 1e15},
      Bounds{"V", -1e4, 1e4}, Bounds{"A", -1e5, 1e5},   Bounds{"MHz", 0, 1e6},  Bounds{"rpm", 0, 1e6},
      Bounds{"s", 0, 1e11},   Bounds{"B", 0, 1e18},     Bounds{"B/s", 0, 1e15}, Bounds{"1/s", 0, 1e15},
  };
  for (const Bounds& bounds : all) {
    if (bounds.unit == unit) {
      return {bounds.least, bounds.greatest};
    }
  }
  constexpr double any = std::numeric_limits<double>::infinity();
  return {-any, any};
}

}  // namespace

std::size_t Sensor::add_metric(MetricDeclaration declaration) {
  possible_.push_back(possible_values(declaration.unit));
  metrics_.push_back(std::move(declaration));
  readings_.emplace_back();
  was_missing_.push_back(true);
  renewals_.emplace_back();
  ++description_count_;
  return metrics_.size() - 1;
}

void Sensor::set_renewing(std::size_t metric, double value, double raw, std::int64_t now_ns) {
  RenewalMeter& meter = renewals_[metric];
  const bool is_new = meter.take(raw, now_ns);
  MetricDeclaration& declaration = metrics_[metric];
  if (meter.has_changed_estimate() && meter.renewal_ns() != 0) {
    declaration.renewal_ns = meter.renewal_ns();
    declaration.traits |= MetricDeclaration::renewal_measured;
    ++description_count_;
  }
  const bool is_stale = !is_new && (declaration.kind != MetricKind::gauge || meter.is_within_renewal(now_ns));
  set(metric, value, is_stale ? SampleRun::stale : std::uint8_t{0});
}

void Sensor::read(std::int64_t now_ns) {
  for (Reading& reading : readings_) {
    reading = {};
  }
  if (is_unavailable_ && now_ns < next_try_ns_) {
    return;
  }
  if (is_unavailable_) {
    set_trouble({});
  }
  read_source(now_ns);
  if (is_unavailable_) {
    next_try_ns_ = now_ns + retry_ns;
  } else {
    drop_impossible();
  }
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    Reading& reading = readings_[i];
    if (is_unavailable_) {
      reading = {true, 0, missing};
    }
    if (!reading.has_value) {
      continue;
    }
    const bool is_missing = std::isnan(reading.value);
    reading.has_value = !is_missing || !was_missing_[i];
    was_missing_[i] = is_missing;
  }
}

void Sensor::drop_impossible() {
  const MetricDeclaration* impossible = nullptr;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    Reading& reading = readings_[i];
    const auto& [least, greatest] = possible_[i];
    if (reading.has_value && (reading.value < least || reading.value > greatest)) {
      reading.value = missing;
      impossible = &metrics_[i];
    }
  }
  if (impossible != nullptr && (trouble_.empty() || said_impossible_)) {
    set_trouble(impossible->name + " has a value that nothing can have: " + impossible->source);
    said_impossible_ = true;
  } else if (said_impossible_ && impossible == nullptr) {
    clear_trouble();
    said_impossible_ = false;
  }
}

void Sensor::set_unavailable(std::string reason, std::string advice) {
  set_trouble(std::move(reason), std::move(advice));
  is_unavailable_ = true;
}

void Sensor::set_trouble(std::string reason, std::string advice) {
  trouble_ = std::move(reason);
  advice_ = std::move(advice);
  is_unavailable_ = false;
  has_ended_ = false;
}

MetricDeclaration describe(std::string_view name, std::string_view unit, std::string_view source, MetricKind kind,
                           double step, std::vector<std::pair<std::string, std::string>> labels) {
  MetricDeclaration declaration;
  declaration.name = name;
  declaration.unit = unit;
  declaration.source = source;
  declaration.kind = kind;
  declaration.step = step;
  declaration.labels = std::move(labels);
  return declaration;
}

MetricDeclaration describe_power(MetricDeclaration energy, std::string_view name, std::int64_t window_ns) {
  energy.name = name;
  energy.unit = "W";
  energy.kind = MetricKind::gauge;
  energy.step = 0;
  energy.window_ns = window_ns;
  return energy;
}

double CounterRate::take(double count, std::int64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - time_ns_) / 1e9;
  const double grown = count - count_;
  const bool is_known = time_ns_ != 0 && seconds > 0 && grown >= 0;
  count_ = count;
  time_ns_ = now_ns;
  return is_known ? grown / seconds : missing;
}

}  // namespace kymo::sense
