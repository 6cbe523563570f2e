// A sensor: code that reads one source (a proc file, a rail, NVML) and fills metrics.
//
// Every source of the machine is a file of this folder with one make_..._sensors function; sensor_list.cpp calls them
// all. A sensor is made even where its source is not there, so that somebody can be told why.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/events.hpp>
#include <kymo/sampler.hpp>

#include "sense/renewal.hpp"

namespace kymo::sense {

/// What stands for a value that could not be read.
inline constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// What one read gave for one metric.
struct Reading {
  bool has_value = false;  ///< false: nothing was due, or nothing can be known yet (a rate needs two reads)
  std::uint8_t flags = 0;  ///< SampleRun::stale
  double value = 0;        ///< NaN: could not be read
};

/// Base of all sensors. One thread at a time.
class Sensor {
 public:
  /// What a sensor asks of its source.
  enum class Cost : std::uint8_t {
    device,  ///< a device or its driver may have to answer, or the kernel has to look at many things
    kernel,  ///< some numbers that the kernel keeps: microseconds
  };

  Sensor(std::string name, Tier tier, Cost cost = Cost::device) : name_(std::move(name)), tier_(tier), cost_(cost) {}
  Sensor(const Sensor&) = delete;
  Sensor& operator=(const Sensor&) = delete;
  virtual ~Sensor() = default;

  /// What users call it: "cpu", "disk", "nvml". Several sensors may share a name.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Tier tier() const { return tier_; }
  [[nodiscard]] Cost cost() const { return cost_; }
  /// What it fills, in a fixed order. Grows when devices appear; nothing in it goes, but a description may become
  /// better known: description_count() counts such changes.
  [[nodiscard]] const std::vector<MetricDeclaration>& metrics() const { return metrics_; }
  [[nodiscard]] std::uint64_t description_count() const { return description_count_; }

  /// Reads the source once. `now_ns` is CLOCK_MONOTONIC and ascends from call to call. Never throws because of what a
  /// source says or fails to say. A source in trouble is tried again once a second, whatever the rate.
  void read(std::int64_t now_ns);
  /// What the last read gave, by index into metrics().
  [[nodiscard]] const std::vector<Reading>& readings() const { return readings_; }

  /// Until when reads give nothing: there is no need for them.
  [[nodiscard]] std::int64_t resting_until_ns() const { return is_unavailable_ ? next_try_ns_ : resting_until_ns_; }

  /// Why the source gives nothing, or not everything; empty: it works. For example "permission denied".
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// What the user can do about it; may be empty.
  [[nodiscard]] const std::string& advice() const { return advice_; }
  /// Nothing can be read at all.
  [[nodiscard]] bool is_unavailable() const { return is_unavailable_; }

 protected:
  /// Reads the source and calls set() for what it knows. Throws nothing; trouble goes to set_unavailable().
  virtual void read_source(std::int64_t now_ns) = 0;

  /// Adds a metric; its index. `id` and `process` of the declaration are ignored.
  std::size_t add_metric(MetricDeclaration declaration);
  /// The value of a metric at this read; NaN where it could not be read.
  void set(std::size_t metric, double value, std::uint8_t flags = 0) { readings_[metric] = {true, flags, value}; }
  /// The value of a metric whose source makes new values at a pace of its own: repeats are marked stale and the pace is
  /// measured. `raw` is what the source said where `value` was worked out from it.
  void set_renewing(std::size_t metric, double value, std::int64_t now_ns) {
    set_renewing(metric, value, value, now_ns);
  }
  void set_renewing(std::size_t metric, double value, double raw, std::int64_t now_ns);
  [[nodiscard]] const MetricDeclaration& metric(std::size_t index) const { return metrics_[index]; }

  /// Reads before this time would give nothing.
  void rest_until(std::int64_t time_ns) { resting_until_ns_ = time_ns; }

  /// Nothing can be read at this time: every metric that had a value gets a gap. Holds until the next read.
  void set_unavailable(std::string reason, std::string advice = {});
  /// Something is missing, the rest works. Holds until clear_trouble().
  void set_trouble(std::string reason, std::string advice = {});
  /// What was missing is there again.
  void clear_trouble();

 private:
  std::string name_;
  Tier tier_;
  Cost cost_;
  std::vector<MetricDeclaration> metrics_;
  std::vector<Reading> readings_;
  std::vector<bool> was_missing_;  // its last value was NaN: a gap is said once
  std::vector<RenewalMeter> renewals_;
  std::uint64_t description_count_ = 0;
  std::string trouble_;
  std::string advice_;
  bool is_unavailable_ = false;
  std::int64_t next_try_ns_ = 0;
  std::int64_t resting_until_ns_ = 0;
};

using SensorList = std::vector<std::unique_ptr<Sensor>>;

/// What the sensors of a run are made for.
struct SensorContext {
  std::string root;                               ///< before every path, without a slash at its end: empty for "/"
  std::uint64_t process = 0;                      ///< root of the recorded process tree
  std::shared_ptr<const BoardConfig> board = {};  ///< what stands for the board below root; null: that one
  /// What is loaded to ask NVIDIA GPUs. Below another root only where it is another than this.
  std::string nvml_library = std::string(default_nvml_library);

  static constexpr std::string_view default_nvml_library = "libnvidia-ml.so.1";

  /// Where a file of the machine lies: at("/proc/stat").
  [[nodiscard]] std::string at(std::string_view path) const { return root + std::string(path); }
};

/// A description of a metric; what is not given stays unknown.
[[nodiscard]] MetricDeclaration describe(std::string_view name, std::string_view unit, std::string_view source,
                                         MetricKind kind = MetricKind::gauge, double step = 0);

/// Growth of a counter between two reads, per second. Nothing at the first read, after a gap, and where the counter
/// went back (it was reset).
class CounterRate {
 public:
  /// The rate since the read before; NaN where there is none to be had.
  double take(double count, std::int64_t now_ns);
  /// Forgets the read before.
  void forget() { time_ns_ = 0; }

 private:
  double count_ = 0;
  std::int64_t time_ns_ = 0;
};

}  // namespace kymo::sense
