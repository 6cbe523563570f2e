// Samples the machine and the recorded processes on the recorder's time axis.
//
//     kymo::start_capture({"run.kymo"});
//     kymo::Sampler sampler({.fast_hz = 1000, .medium_hz = 100, .slow_hz = 10});
//     sampler.start();
//     sampler.wait_for_warmup();
//
// A program started with KYMO_RECORD needs none of this: kymo::enable() starts its own sampler. Component kymo::sense.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/board.hpp>
#include <kymo/detail/chrono.hpp>
#include <kymo/detail/cxx_library.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// A sampling rate with its thread.
enum class Tier : std::uint8_t {
  fast = 0,    ///< CPU, memory, the recorded processes, GPU load
  medium = 1,  ///< power, disks, network, pressure, clocks
  slow = 2,    ///< temperatures, proportional memory, power modes
};

/// Selects the sensors.
struct KYMO_DETAIL_STANDARD_TYPES SensorOptions {
  std::string root = "/";            ///< root of the machine's files; a recorded tree can replace any machine
  std::vector<std::string> sensors;  ///< names as listed by `kymo doctor`; empty: all. "-name" excludes one
  std::uint64_t process = 0;         ///< root of the process tree to watch; 0: this process
  bool covers_machine = true;        ///< false: only the process tree
  /// Rails, zones, GPU load and memory controller load are read from these paths instead of paths below `root`.
  std::shared_ptr<const BoardConfig> board = {};
};

/// Rates are in hertz, 0.1 to 1000; 0 turns a tier off.
struct KYMO_DETAIL_STANDARD_TYPES SamplerOptions {
  double fast_hz = 100;
  double medium_hz = 10;
  double slow_hz = 1;
  /// Rates of single sensors, in tiers that are off too: "cpu", or "nvml.fast" for a sensor's part of one tier.
  std::vector<std::pair<std::string, double>> sensor_hz;
  std::vector<int> cpus;  ///< CPUs for the sampling threads; empty: any
  /// Added to every metric: keeps several samplers of one process apart. Only a sampler without labels records facts
  /// about the run.
  std::vector<std::pair<std::string, std::string>> labels = {};
  SensorOptions sensors = {};
  /// If another process of the same recording (the same KYMO_RECORD) already samples the machine, sample only the
  /// process tree until that process ends. Without KYMO_RECORD, any process of this user counts. KYMO_MACHINE=own,
  /// shared or off changes that.
  bool shares_machine = true;
};

/// Samples sensors into the recorder, with one thread per tier that has any. Thread-safe. A failing source leaves a gap
/// in its metrics and one line on stderr. Only the constructor throws.
class KYMO_API Sampler {
 public:
  /// Checks the options. Throws std::invalid_argument if a rate is out of range, a sensor is unknown or a CPU does not
  /// exist.
  explicit Sampler(SamplerOptions options = {});
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  /// Stops. Does not wait for a source that has not answered within a second: its thread is left behind, which a
  /// message says.
  ~Sampler();

  /// Starts the threads, which find the sensors and sample them; less than a millisecond. False if already running.
  /// Samples go to the same places as events; without a capture or sink they are discarded.
  bool start();
  /// Ends the threads and waits for them, as long as their sources take to read. May be started again.
  void stop() noexcept;
  /// The same, but false if a source has not answered within `timeout`: its thread still runs, and ends once it has.
  bool stop(std::chrono::nanoseconds timeout) noexcept;
  /// Waits until the fast tier has taken ten samples since the start and every metric has its first value. A metric
  /// that has none after two reads and two of its windows, or after a second at most, is not waited for: its source
  /// cannot be read. Returns false if that takes longer than `timeout`.
  bool wait_for_warmup(std::chrono::nanoseconds timeout = std::chrono::seconds(10)) const;
  /// Sets a sync point and returns its number: 1, 2, 3, ..., or 0 while nothing is recorded.
  std::uint64_t sync() noexcept;

  [[nodiscard]] bool is_running() const noexcept;
  /// Samples of the fast tier since the last start, including the warm-up.
  [[nodiscard]] std::uint64_t sample_count() const noexcept;
  /// Deadlines that a tier has missed since the last start: sampling times at which it did not sample.
  [[nodiscard]] std::uint64_t missed_deadlines(Tier tier) const noexcept;
  /// True if the machine is sampled, not only the process tree.
  [[nodiscard]] bool samples_machine() const noexcept;
  /// The process that keeps this one from sampling the machine; 0: none.
  [[nodiscard]] std::uint64_t machine_holder() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
