// Base of the sensors whose sources are files of one number each: hwmon, thermal zones, RAPL, GPUs in sysfs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sense/sensor.hpp"
#include "sense/source_file.hpp"

namespace kymo::sense {

/// Makes a counter that never goes back of one that wraps around or is reset.
class GrowingCounter {
 public:
  /// `range`: one more than the greatest value that the source can hold; 0: not known.
  explicit GrowingCounter(double range = 0) : range_(range) {}
  /// Takes what the source says; what it has come to. Begins at the first value that is taken. Where it went back
  /// without having wrapped around, what it grew by is not known and left out; says_reset() tells.
  double take(double raw);
  [[nodiscard]] bool says_reset() const { return says_reset_; }

 private:
  double range_ = 0;
  double raw_ = 0;
  double total_ = 0;
  bool has_value_ = false;
  bool says_reset_ = false;
};

/// A file that holds one number, and what is made of it.
struct Channel {
  enum class Pace : std::uint8_t {
    every_read,  ///< every reading stands for its moment
    own,         ///< the source makes new values at its own pace: repeats are stale
  };

  MetricDeclaration declaration;
  std::string path;     ///< with the root before it, resolved: below it no other device can appear
  double per_unit = 1;  ///< what the file says for one of the metric's unit: 1000 for degrees of millidegrees
  Pace pace = Pace::every_read;
  /// Of an energy counter in joules: the metric of the watts that are worked out from it.
  std::optional<MetricDeclaration> power;
  /// Of an energy counter: one more than the greatest number of the file; 0: it does not wrap around.
  double range = 0;
};

/// The least stretch over which watts are worked out from joules: 20 renewals of RAPL.
inline constexpr std::int64_t power_window_ns = 20'000'000;

/// Reads channels. What is there is looked for at the first read and whenever signature() changes or a file went, at
/// most once a second; a channel that went is a gap until it is there again, by whatever path.
class ChannelSensor : public Sensor {
 public:
  ChannelSensor(std::string name, Tier tier, SensorContext context);

 protected:
  /// The channels that are there now. Those with the same metric name and labels are the same.
  [[nodiscard]] virtual std::vector<Channel> find_channels() = 0;
  /// A text that changes when devices come or go; cheap.
  [[nodiscard]] virtual std::string signature() = 0;
  /// Why there are no channels.
  [[nodiscard]] virtual std::string absence() const = 0;
  /// What to do about an error.
  [[nodiscard]] virtual std::string advice_for(int error) const;

  [[nodiscard]] const SensorContext& context() const { return context_; }
  /// A path as the machine itself has it: without the root.
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
    double power_start_j = 0;  // where the stretch that the next watts are taken over begins
    std::int64_t power_start_ns = 0;
    double watts = std::numeric_limits<double>::quiet_NaN();
  };

  void look(std::int64_t now_ns);
  void watch(Channel channel);
  void take(Watched& watched, double raw, std::int64_t now_ns);
  void miss(Watched& watched);
  void report(std::size_t working, const Watched* failed);

  SensorContext context_;
  std::vector<Watched> watched_;
  std::string signature_;
  std::int64_t next_look_ns_ = 0;
  bool has_looked_ = false;
  bool has_lost_ = false;  // a file went since the last look
  const Watched* reported_ = nullptr;
  int reported_error_ = 0;
};

}  // namespace kymo::sense
