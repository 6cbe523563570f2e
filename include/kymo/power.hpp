// Power of a program's own choosing: how many joules a stretch of it took, without a capture.
//
//     std::vector<std::unique_ptr<kymo::PowerSource>> sources = kymo::find_power_sources();
//     kymo::PowerTracker tracker(*sources.front(), 100);
//     tracker.start();
//     work();
//     const kymo::EnergyReport report = tracker.stop();   // report.energy_j, report.mean_watts, ...
//
// Component kymo::sense.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/sampler.hpp>

namespace kymo {

/// What one read of a power source gave; NaN: could not be read, or the source has no such thing.
struct PowerReading {
  double watts = std::numeric_limits<double>::quiet_NaN();
  double joules = std::numeric_limits<double>::quiet_NaN();  ///< a counter since any time; may be reset
};

/// Something that measures power. One thread at a time.
class KYMO_API PowerSource {
 public:
  PowerSource() = default;
  PowerSource(const PowerSource&) = delete;
  PowerSource& operator=(const PowerSource&) = delete;
  virtual ~PowerSource();

  /// What it measures, for people: "cpu_energy package=0 domain=package + ...".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Reads the source; `now_ns` is CLOCK_MONOTONIC and ascends from call to call. Throws nothing.
  virtual PowerReading read(std::int64_t now_ns) = 0;
};

/// A power that is given: constant, or by the time in seconds, which is that of read().
class KYMO_API FixedPowerSource final : public PowerSource {
 public:
  explicit FixedPowerSource(double watts);
  explicit FixedPowerSource(std::function<double(double time_s)> watts);

  [[nodiscard]] std::string name() const override;
  PowerReading read(std::int64_t now_ns) override;

 private:
  std::function<double(double)> watts_;
};

/// What can be measured on this machine. First what feeds the machine (RAPL, or the board's rails, or hwmon; the sum of
/// those that do not contain one another), where there is any, then each GPU by itself. `options.sensors` narrows it
/// down: {"rapl"}, {"nvml"}. Energy counters are used where there are any. Takes some milliseconds. Throws
/// std::invalid_argument for a sensor that is not known.
[[nodiscard]] KYMO_API std::vector<std::unique_ptr<PowerSource>> find_power_sources(const SensorOptions& options = {});

/// Power at a moment.
struct PowerSample {
  double time_s = 0;
  double watts = 0;
};

/// Joules by trapezoids over samples of ascending time; 0 for fewer than two. Samples that are no numbers are left out.
[[nodiscard]] KYMO_API double integrate(const std::vector<PowerSample>& samples);

/// Energy of a stretch of time.
struct EnergyReport {
  double energy_j = 0;    ///< 0 for fewer than two samples
  double mean_watts = 0;  ///< mean of the samples
  double peak_watts = 0;  ///< the greatest of the samples
  double duration_s = 0;  ///< from the first sample to the last
  std::uint64_t samples = 0;
  double unknown_s = 0;     ///< of the duration: the source could not be read, its energy is not in energy_j
  bool is_counted = false;  ///< energy_j comes from an energy counter, not from integrated power
};

/// Adds up the energy of a source: a thread that reads it so many times a second, and at start and stop. Memory does
/// not grow. Thread safe, as far as nobody else reads the source.
///
/// Between two reads the growth of the source's energy counter counts, or else the trapezoid of its power. A counter
/// that goes back leaves that to the power.
class KYMO_API PowerTracker {
 public:
  /// The source must stay. Throws std::invalid_argument for a rate outside of 0.1 to 1000.
  explicit PowerTracker(PowerSource& source, double hz = 10);
  PowerTracker(const PowerTracker&) = delete;
  PowerTracker& operator=(const PowerTracker&) = delete;
  /// Stops.
  ~PowerTracker();

  /// Begins anew. False where it is running already.
  bool start();
  /// Reads the source once more, ends the thread and tells what came out. Without a start: what came out before.
  EnergyReport stop() noexcept;
  [[nodiscard]] bool is_running() const noexcept;
  /// What came out so far.
  [[nodiscard]] EnergyReport report() const;

  /// Takes a reading of this time by hand, for callers with a pace of their own; start() is not needed. Times must
  /// ascend: an earlier one is left out.
  void sample(std::int64_t now_ns);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
