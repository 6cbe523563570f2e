// A sensor: code that reads one source (a proc file, a rail, NVML) and fills metrics.
//
// Every source of the machine is a file in one of this layer's folders with one SensorMaker, and a row in the table of
// sampler/linux.cpp or sampler/macos.cpp. A sensor is created even if its source is absent, so that the reason can be
// reported.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/events.hpp>
#include <kymo/sampler.hpp>

#include "base/system/clock.hpp"
#include "sense/common/renewal.hpp"

namespace kymo::sense {

/// The value for "could not be read".
inline constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// The result of one read for one metric.
struct Reading {
  bool has_value = false;  ///< false: nothing was due, or nothing is known yet (a rate needs two reads)
  std::uint8_t flags = 0;  ///< SampleRun::stale
  double value = 0;        ///< NaN: could not be read
};

/// Base of all sensors. One thread at a time.
class Sensor {
 public:
  /// The cost of a read.
  enum class Cost : std::uint8_t {
    device,  ///< a device or driver may have to answer, or the kernel has to visit many objects
    kernel,  ///< a few numbers that the kernel keeps: microseconds
  };

  Sensor(std::string name, Tier tier, Cost cost = Cost::device) : name_(std::move(name)), tier_(tier), cost_(cost) {}
  Sensor(const Sensor&) = delete;
  Sensor& operator=(const Sensor&) = delete;
  virtual ~Sensor() = default;

  /// The name for users: "cpu", "disk", "nvml". Several sensors may share a name.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Tier tier() const { return tier_; }
  [[nodiscard]] Cost cost() const { return cost_; }
  /// The metrics it fills, in a fixed order. Grows when devices appear and never shrinks. A description may become more
  /// precise; description_count() counts such changes.
  [[nodiscard]] const std::vector<MetricDeclaration>& metrics() const { return metrics_; }
  [[nodiscard]] std::uint64_t description_count() const { return description_count_; }

  /// What stays the same while it is sampled, such as the name of a device: keys and values for the facts of the run.
  /// Grows when devices appear.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& facts() const { return facts_; }

  /// Reads the source once. A value that nothing in its unit can have (-300 C, 1e20 W) is a gap. `now_ns` is
  /// CLOCK_MONOTONIC and ascends from call to call. Never throws because of the source's content or failure. Retries a
  /// failing source once a second, whatever the rate.
  void read(std::int64_t now_ns);
  /// The results of the last read, by index into metrics().
  [[nodiscard]] const std::vector<Reading>& readings() const { return readings_; }

  /// Reads before this time return nothing; skip them.
  [[nodiscard]] std::int64_t resting_until_ns() const { return is_unavailable_ ? next_try_ns_ : resting_until_ns_; }

  /// Why the source returns nothing or only a part, such as "permission denied". Empty: it works.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// A remedy for the user; may be empty.
  [[nodiscard]] const std::string& advice() const { return advice_; }
  /// No value can be read at all.
  [[nodiscard]] bool is_unavailable() const { return is_unavailable_; }
  /// What it measured has come to its end, which is no gap.
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 protected:
  /// Reads the source and calls set() for each known value. Must not throw; reports trouble with set_unavailable().
  virtual void read_source(std::int64_t now_ns) = 0;

  /// Adds a metric and returns its index. `id` and `process` of the declaration are ignored.
  std::size_t add_metric(MetricDeclaration declaration);
  /// Adds a fact; none if the value is empty.
  void add_fact(std::string key, std::string value) {
    if (!value.empty()) {
      facts_.emplace_back(std::move(key), std::move(value));
    }
  }
  /// Sets a metric's value at this read; NaN if it could not be read.
  void set(std::size_t metric, double value, std::uint8_t flags = 0) { readings_[metric] = {true, flags, value}; }
  /// Sets a metric's value if the source renews values at its own pace: marks repeats as stale and measures the pace.
  /// `raw` is the source's value if `value` was computed from it.
  void set_renewing(std::size_t metric, double value, std::int64_t now_ns) {
    set_renewing(metric, value, value, now_ns);
  }
  void set_renewing(std::size_t metric, double value, double raw, std::int64_t now_ns);
  [[nodiscard]] const MetricDeclaration& metric(std::size_t index) const { return metrics_[index]; }
  /// The averaging window of a metric turned out to be another.
  void set_window(std::size_t metric, std::int64_t window_ns) {
    if (metrics_[metric].window_ns != window_ns) {
      metrics_[metric].window_ns = window_ns;
      ++description_count_;
    }
  }

  /// A metric has new values this rarely. Small changes are not worth a new description.
  void set_renewal(std::size_t metric, std::int64_t renewal_ns) {
    std::int64_t& known_ns = metrics_[metric].renewal_ns;
    if (renewal_ns / 2 > known_ns || renewal_ns < known_ns / 2) {
      known_ns = renewal_ns;
      ++description_count_;
    }
  }

  /// Reads before this time would return nothing.
  void rest_until(std::int64_t time_ns) { resting_until_ns_ = time_ns; }

  /// Nothing can be read: every metric that had a value gets a gap. Applies until the next read.
  void set_unavailable(std::string reason, std::string advice = {});
  /// The same once what it measured has come to its end.
  void set_ended(std::string reason) {
    set_unavailable(std::move(reason));
    has_ended_ = true;
  }
  /// A part is missing, the rest works; without a reason, nothing is missing any more.
  void set_trouble(std::string reason, std::string advice = {});
  void clear_trouble() { set_trouble({}); }

 private:
  void drop_impossible();

  std::string name_;
  Tier tier_;
  Cost cost_;
  std::vector<MetricDeclaration> metrics_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::vector<Reading> readings_;
  std::vector<bool> was_missing_;                    // its last value was NaN: a gap is recorded once
  std::vector<std::pair<double, double>> possible_;  // by metric: the least and the greatest value of its unit
  bool said_impossible_ = false;
  std::vector<RenewalMeter> renewals_;
  std::uint64_t description_count_ = 0;
  std::string trouble_;
  std::string advice_;
  bool is_unavailable_ = false;
  bool has_ended_ = false;
  std::int64_t next_try_ns_ = 0;
  std::int64_t resting_until_ns_ = 0;
};

/// Stands for a source that this machine does not have, and says why.
class AbsentSensor final : public Sensor {
 public:
  AbsentSensor(std::string name, Tier tier, std::string why, std::string advice = {})
      : Sensor(std::move(name), tier), why_(std::move(why)), remedy_(std::move(advice)) {
    set_unavailable(why_, remedy_);
  }

 protected:
  void read_source(std::int64_t /*now_ns*/) override { set_unavailable(why_, remedy_); }

 private:
  std::string why_;
  std::string remedy_;
};

/// part / whole in %, rounded to 0.01 to encode compactly. NaN if the whole is 0.
[[nodiscard]] inline double percent(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 10'000) / 100 : missing;
}

using SensorList = std::vector<std::unique_ptr<Sensor>>;

/// The parameters for creating sensors.
struct SensorContext {
  std::string root;                               ///< prefix of every path without a final slash: empty for "/"
  std::uint64_t process = 0;                      ///< root of the recorded process tree
  std::shared_ptr<const BoardConfig> board = {};  ///< replaces the board found below root; null: use that one
  /// The library for NVIDIA GPUs. Below another root it is used only if it differs from this default.
  std::string nvml_library = std::string(default_nvml_library);
  /// CPU time of the calling thread, ns: what a call of NVML costs.
  std::function<std::int64_t()> cpu_clock = base::thread_cpu_ns;

  static constexpr std::string_view default_nvml_library = "libnvidia-ml.so.1";

  /// The path of a file of the machine: at("/proc/stat").
  [[nodiscard]] std::string at(std::string_view path) const { return root + std::string(path); }
};

/// Adds the sensors of one kind of source, whether or not the source exists.
using SensorMaker = void(const SensorContext& context, SensorList& list);

/// Describes a metric; anything not given stays unknown.
[[nodiscard]] MetricDeclaration describe(std::string_view name, std::string_view unit, std::string_view source,
                                         MetricKind kind = MetricKind::gauge, double step = 0,
                                         std::vector<std::pair<std::string, std::string>> labels = {});

/// Describes the watts that are computed from an energy counter over a window.
[[nodiscard]] MetricDeclaration describe_power(MetricDeclaration energy, std::string_view name, std::int64_t window_ns);

/// Growth of a counter between two reads, per second. Unknown at the first read, after a gap, and if the counter
/// decreased (it was reset).
class CounterRate {
 public:
  /// The rate since the previous read; NaN if unknown.
  double take(double count, std::int64_t now_ns);
  /// Forgets the previous read.
  void forget() { time_ns_ = 0; }

 private:
  double count_ = 0;
  std::int64_t time_ns_ = 0;
};

}  // namespace kymo::sense
