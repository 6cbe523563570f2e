// Power measured by the program itself: the joules of a code section, without a capture.
//
//     std::vector<std::unique_ptr<kymo::PowerSource>> sources = kymo::find_power_sources();
//     kymo::PowerTracker tracker(*sources.front(), 100);
//     tracker.start();
//     work();
//     const kymo::EnergyReport report = tracker.stop();   // report.energy_j, report.mean_watts, ...
//
// Component kymo::sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/sampler.hpp>

namespace kymo {

/// Result of reading a power source; NaN: could not be read, or not supported by the source.
struct PowerReading {
  double watts = std::numeric_limits<double>::quiet_NaN();
  double joules = std::numeric_limits<double>::quiet_NaN();  ///< a counter with any starting point; may be reset
};

/// A source of power readings. One thread at a time; sources found together may be read by different threads.
class KYMO_API PowerSource {
 public:
  PowerSource() = default;
  PowerSource(const PowerSource&) = delete;
  PowerSource& operator=(const PowerSource&) = delete;
  virtual ~PowerSource();

  /// Human-readable name: "cpu_energy package=0 domain=package + ...".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Reads the source. `now_ns` is CLOCK_MONOTONIC and must ascend from call to call. Does not throw.
  virtual PowerReading read(std::int64_t now_ns) = 0;
};

/// A given power: constant, or a function of the time in seconds passed to read().
class KYMO_API FixedPowerSource final : public PowerSource {
 public:
  explicit FixedPowerSource(double watts);
  explicit FixedPowerSource(std::function<double(double time_s)> watts);

  [[nodiscard]] std::string name() const override;
  PowerReading read(std::int64_t now_ns) override;

 private:
  std::function<double(double)> watts_;
};

/// Finds the power sources of this machine. First comes the machine's supply, if any: RAPL, the board's rails or hwmon,
/// as the sum of those that do not contain one another. Then each GPU by itself. `options.sensors` restricts the
/// choice: {"rapl"}, {"nvml"}. Energy counters are preferred. Takes some milliseconds. Throws std::invalid_argument for
/// an unknown sensor.
[[nodiscard]] KYMO_API std::vector<std::unique_ptr<PowerSource>> find_power_sources(const SensorOptions& options = {});

/// Says why this machine's sensors of power give nothing, those that do: "rapl: permission denied; nvml: ...", with
/// what to do about it. Empty if all of them work. Takes as long as find_power_sources(), and throws the same.
[[nodiscard]] KYMO_API std::string explain_missing_power(const SensorOptions& options = {});

/// Power at one moment.
struct PowerSample {
  double time_s = 0;
  double watts = 0;
};

/// Integrates power over time by trapezoids. Times must ascend. 0 for fewer than two samples. Non-finite ones are
/// ignored.
[[nodiscard]] KYMO_API double integrate(const std::vector<PowerSample>& samples);

/// Energy of a time interval.
struct EnergyReport {
  double energy_j = 0;    ///< 0 for fewer than two samples
  double mean_watts = 0;  ///< mean of the samples
  double peak_watts = 0;  ///< maximum of the samples
  double duration_s = 0;  ///< from the first sample to the last
  std::uint64_t samples = 0;
  double unknown_s = 0;     ///< part of the duration: the source could not be read, its energy is not in energy_j
  bool is_counted = false;  ///< energy_j comes from an energy counter, not from integrated power
  std::string label;        ///< of the tracker
  /// Bound on the error of energy_j, for the time in which the source could be read. A counter moves in steps: what its
  /// first step holds may be from before the start, and what follows its last step is not shown. That is taken to be at
  /// most the greatest power seen; the power of a gauge, to be between the values it showed. Infinite: the counter did
  /// not move.
  double bound_j = 0;
};

/// What a PowerTracker measures, and how often.
struct PowerTrackerOptions {
  double hz = 10;                ///< 0.1 to 1000
  std::string label;             ///< name of the report
  std::size_t kept_samples = 0;  ///< how many of the latest readings samples() returns; 16 bytes each
};

/// Sums the energy of a source. A thread reads it `hz` times a second, and at start and stop. Memory is constant,
/// apart from the samples that are to be kept.
/// Thread-safe, as long as nothing else reads the source.
///
/// Between two reads, the increase of the source's energy counter is added; without a counter, the trapezoid of its
/// power. If a counter goes back, the power is used for that interval.
class KYMO_API PowerTracker {
 public:
  /// The source must outlive the tracker. Throws std::invalid_argument for a rate outside of 0.1 to 1000.
  explicit PowerTracker(PowerSource& source, double hz = 10);
  PowerTracker(PowerSource& source, const PowerTrackerOptions& options);
  PowerTracker(const PowerTracker&) = delete;
  PowerTracker& operator=(const PowerTracker&) = delete;
  /// Stops.
  ~PowerTracker();

  /// Starts a new measurement. False if already running.
  bool start();
  /// Reads the source once more, ends the thread and returns the result. Without a start, returns the former result.
  EnergyReport stop() noexcept;
  [[nodiscard]] bool is_running() const noexcept;
  /// The result so far.
  [[nodiscard]] EnergyReport report() const;
  /// The latest readings whose power is known, in the order of time: CLOCK_MONOTONIC in seconds, and watts, for a
  /// counter its growth from one renewal to the next. Of `options.kept_samples` at most; write_csv() of
  /// <kymo/bench.hpp> takes them.
  [[nodiscard]] std::vector<PowerSample> samples() const;

  /// Takes one reading at this time, for callers that set their own pace; start() is not needed. Times must ascend; an
  /// earlier one is ignored.
  void sample(std::int64_t now_ns);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
