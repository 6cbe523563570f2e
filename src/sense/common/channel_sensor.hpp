// Base of the sensors whose sources are files with a single number: hwmon, thermal zones, RAPL, GPUs in sysfs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

/// Turns a counter that wraps around or is reset into one that never decreases.
class GrowingCounter {
 public:
  /// `range`: one more than the greatest value of the source; 0: unknown.
  explicit GrowingCounter(double range = 0) : range_(range) {}
  /// Takes a raw value and returns the total growth since the first one. If the counter grew by more than `most`, or
  /// decreased without wrapping around, its growth is unknown and left out; says_reset() reports this.
  double take(double raw, double most = std::numeric_limits<double>::infinity());
  [[nodiscard]] bool says_reset() const { return says_reset_; }

 private:
  double range_ = 0;
  double raw_ = 0;
  double total_ = 0;
  bool has_value_ = false;
  bool says_reset_ = false;
};

/// A file with one number, and how to turn it into a metric.
struct Channel {
  enum class Pace : std::uint8_t {
    every_read,  ///< every reading is a new value
    own,         ///< the source renews its value at its own pace: repeats are stale
  };

  MetricDeclaration declaration;
  std::string path;     ///< resolved, including the root: no other device can appear below it
  double per_unit = 1;  ///< units of the file per unit of the metric: 1000 for degrees from millidegrees
  Pace pace = Pace::every_read;
  /// For an energy counter in joules: the metric for the watts computed from it.
  std::optional<MetricDeclaration> power = std::nullopt;
  /// For an energy counter: one more than the file's greatest number; 0: it does not wrap around.
  double range = 0;
};

/// The shortest stretch for computing watts from joules: 20 renewals of RAPL. Sources that renew less often get a
/// longer one: from a renewal to another.
inline constexpr std::int64_t power_window_ns = 20'000'000;

/// Reads channels. Searches for them at the first read and whenever signature() changes or a file vanishes, at most
/// once a second. A channel that vanished is a gap until it reappears, at any path.
class ChannelSensor : public Sensor {
 public:
  ChannelSensor(std::string name, Tier tier, SensorContext context);

 protected:
  /// The channels present. Channels with the same metric name and labels are the same.
  [[nodiscard]] virtual std::vector<Channel> find_channels() = 0;
  /// A text that changes when devices appear or vanish. Must be cheap.
  [[nodiscard]] virtual std::string signature() = 0;
  /// The reason for having no channels.
  [[nodiscard]] virtual std::string absence() const = 0;
  /// What to do about an error.
  [[nodiscard]] virtual std::string advice_for(int error) const;

  [[nodiscard]] const SensorContext& context() const { return context_; }
  /// A path without the root, as on the machine itself.
  [[nodiscard]] std::string_view without_root(std::string_view path) const;

  void read_source(std::int64_t now_ns) final;

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct Watched {
    SourceFile file;
    std::size_t metric = 0;
    std::size_t power = none;
    double per_unit = 1;
    Channel::Pace pace = Channel::Pace::every_read;
    bool is_present = true;
    GrowingCounter energy;
    std::int64_t energy_ns = 0;   // of the last value of `energy`
    double seen_j = 0;            // the last value
    std::int64_t renewed_ns = 0;  // since when it has been that; 0: none seen since a gap
    double power_start_j = 0;     // joules at the start of the next watts' stretch
    std::int64_t power_start_ns = 0;
    double watts = std::numeric_limits<double>::quiet_NaN();
  };

  void look(std::int64_t now_ns);
  void watch(Channel channel);
  void take(Watched& watched, double raw, std::int64_t now_ns);
  void take_power(Watched& watched, double joules, std::int64_t now_ns);
  void miss(Watched& watched);
  void report(std::size_t working, const Watched* failed, const Watched* reset);

  SensorContext context_;
  std::vector<Watched> watched_;
  std::string signature_;
  std::int64_t next_look_ns_ = 0;
  bool has_looked_ = false;
  bool has_lost_ = false;  // a file has vanished since the last search
  const Watched* reported_ = nullptr;
  int reported_error_ = 0;
  bool reported_reset_ = false;
};

}  // namespace kymo::sense
