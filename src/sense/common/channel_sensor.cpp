#include "sense/common/channel_sensor.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

namespace kymo::sense {

namespace {

constexpr std::int64_t look_period_ns = 1'000'000'000;
/// No single device takes more. A counter that seems to say so was reset: its greatest value is hours away from a wrap.
constexpr double most_watts = 5'000;
/// A source may have kept back so much before it renewed its value.
constexpr std::int64_t longest_renewal_ns = 1'000'000'000;

bool is_same(const MetricDeclaration& left, const MetricDeclaration& right) {
  return left.name == right.name && left.labels == right.labels;
}

}  // namespace

double GrowingCounter::take(double raw, double most) {
  const double growth = raw >= raw_ ? raw - raw_ : range_ - raw_ + raw;
  const bool is_possible = (raw >= raw_ || range_ > raw_) && growth <= most;
  says_reset_ = has_value_ && !is_possible;
  if (!has_value_) {
    total_ = raw;
  } else if (is_possible) {
    total_ += growth;
  }
  has_value_ = true;
  raw_ = raw;
  return total_;
}

ChannelSensor::ChannelSensor(std::string name, Tier tier, SensorContext context)
    : Sensor(std::move(name), tier), context_(std::move(context)) {}

std::string ChannelSensor::advice_for(int error) const {
  return error == EACCES || error == EPERM ? "run as root, or make the file readable" : std::string();
}

std::string_view ChannelSensor::without_root(std::string_view path) const {
  const std::string& root = context_.root;
  return path.substr(0, root.size()) == root ? path.substr(root.size()) : path;
}

void ChannelSensor::look(std::int64_t now_ns) {
  next_look_ns_ = now_ns + look_period_ns;
  std::string found = signature();
  if (has_looked_ && !has_lost_ && found == signature_) {
    return;
  }
  has_looked_ = true;
  has_lost_ = false;
  signature_ = std::move(found);
  for (Watched& watched : watched_) {
    watched.is_present = false;
  }
  for (Channel& channel : find_channels()) {
    watch(std::move(channel));
  }
  for (const Watched& watched : watched_) {
    has_lost_ = has_lost_ || !watched.is_present;
  }
  reported_ = nullptr;
}

void ChannelSensor::watch(Channel channel) {
  for (Watched& known : watched_) {
    if (!is_same(metric(known.metric), channel.declaration)) {
      continue;
    }
    if (known.file.path() != channel.path) {
      known.file = SourceFile(std::move(channel.path), number_bytes);
    }
    known.is_present = true;
    return;
  }
  const std::size_t index = add_metric(std::move(channel.declaration));
  const std::size_t power = channel.power ? add_metric(std::move(*channel.power)) : none;
  watched_.push_back({.file = SourceFile(std::move(channel.path), number_bytes),
                      .metric = index,
                      .power = power,
                      .per_unit = channel.per_unit,
                      .pace = channel.pace,
                      .is_present = true,
                      .energy = GrowingCounter(channel.range)});
}

void ChannelSensor::read_source(std::int64_t now_ns) {
  if (now_ns >= next_look_ns_ || !has_looked_) {
    look(now_ns);
  }
  std::size_t working = 0;
  const Watched* failed = nullptr;
  const Watched* reset = nullptr;
  for (Watched& watched : watched_) {
    if (!watched.is_present) {
      miss(watched);
      continue;
    }
    const double raw = watched.file.read_number();
    if (!std::isnan(raw)) {
      ++working;
      take(watched, raw, now_ns);
      reset = watched.energy.says_reset() ? &watched : reset;
      continue;
    }
    miss(watched);
    const int error = watched.file.error();
    has_lost_ = has_lost_ || error == ENOENT || error == ENODEV;
    // A device may answer "not now": it sleeps or has no value yet. This is no error.
    if (failed == nullptr && error != EAGAIN && error != ENODATA) {
      failed = &watched;
    }
    working += error == EAGAIN || error == ENODATA ? 1 : 0;
  }
  report(working, failed, reset);
}

void ChannelSensor::take(Watched& watched, double raw, std::int64_t now_ns) {
  const MetricKind kind = metric(watched.metric).kind;
  if (kind != MetricKind::energy_counter) {
    const double value = raw / watched.per_unit;
    if (watched.pace == Channel::Pace::own) {
      set_renewing(watched.metric, value, raw, now_ns);
    } else {
      set(watched.metric, value);
    }
    return;
  }
  const auto since_ns = static_cast<double>(now_ns - watched.energy_ns + longest_renewal_ns);
  const double joules = watched.energy.take(raw, most_watts * watched.per_unit * since_ns / 1e9) / watched.per_unit;
  watched.energy_ns = now_ns;
  if (watched.energy.says_reset()) {
    miss(watched);
    return;
  }
  set_renewing(watched.metric, joules, raw, now_ns);
  if (watched.power != none) {
    take_power(watched, joules, now_ns);
  }
}

/// Between two renewals a source holds back joules that belong to the time before, so stretches begin and end with one.
void ChannelSensor::take_power(Watched& watched, double joules, std::int64_t now_ns) {
  const bool is_first = watched.renewed_ns == 0;
  const bool is_renewed = !is_first && joules != watched.seen_j;
  if (is_first || is_renewed) {
    watched.renewed_ns = now_ns;
  }
  watched.seen_j = joules;
  const std::int64_t renewal_ns = metric(watched.metric).renewal_ns;
  set_window(watched.power, std::max(power_window_ns, renewal_ns));
  const bool stands_still = now_ns - watched.renewed_ns >= std::max(longest_renewal_ns, 5 * renewal_ns);
  const std::int64_t stretch_ns = now_ns - watched.power_start_ns;
  const bool is_end = (is_renewed || stands_still) && stretch_ns >= power_window_ns;
  if (is_end && watched.power_start_ns != 0) {
    watched.watts = (joules - watched.power_start_j) / (static_cast<double>(stretch_ns) / 1e9);
  }
  if (is_end || (is_renewed && watched.power_start_ns == 0)) {
    watched.power_start_ns = now_ns;
    watched.power_start_j = joules;
  }
  if (!std::isnan(watched.watts)) {
    set(watched.power, watched.watts, is_end ? std::uint8_t{0} : SampleRun::stale);
  }
}

void ChannelSensor::miss(Watched& watched) {
  set(watched.metric, missing);
  if (watched.power != none) {
    set(watched.power, missing);
  }
  // A stretch across a gap would exceed the window declared for the watts.
  watched.power_start_ns = 0;
  watched.renewed_ns = 0;
  watched.watts = missing;
}

void ChannelSensor::report(std::size_t working, const Watched* failed, const Watched* reset) {
  if (watched_.empty()) {
    set_unavailable(absence());
    return;
  }
  if (working == 0) {
    const std::string reason =
        failed != nullptr ? failed->file.describe_error() : "gone: " + watched_.front().file.path();
    set_unavailable(reason, failed != nullptr ? advice_for(failed->file.error()) : std::string());
    reported_ = nullptr;
    return;
  }
  const int error = failed != nullptr ? failed->file.error() : 0;
  if (failed == reported_ && error == reported_error_ && (reset != nullptr) == reported_reset_) {
    return;
  }
  reported_reset_ = reset != nullptr;
  if (reset != nullptr) {
    set_trouble("was reset or jumped further than a device can: " + reset->file.path());
    reported_ = reset;
    return;
  }
  reported_ = failed;
  reported_error_ = error;
  if (failed != nullptr) {
    set_trouble(failed->file.describe_error(), advice_for(error));
  } else {
    clear_trouble();
  }
}

}  // namespace kymo::sense
