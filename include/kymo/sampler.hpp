// Sampling: what the machine and the recorded processes feel, on the recorder's time axis.
//
//     kymo::start_capture({"run.kymo"});
//     kymo::Sampler sampler({.fast_hz = 1000, .medium_hz = 100, .slow_hz = 10});
//     sampler.start();
//     sampler.wait_for_warmup();
//
// A program that is started with KYMO_RECORD needs none of this: kymo::enable() starts a sampler of its own. Component
// kymo::sense.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/board.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// A sampling rate and the thread that keeps it.
enum class Tier : std::uint8_t {
  fast = 0,    ///< CPU, memory, the recorded processes, GPU load
  medium = 1,  ///< power, disks, network, pressure, clocks
  slow = 2,    ///< temperatures, proportional memory, power modes
};

/// Which sensors to make.
struct SensorOptions {
  std::string root = "/";            ///< where the machine's files lie; a recorded tree stands in for any machine
  std::vector<std::string> sensors;  ///< names as `kymo doctor` lists them; empty: all. "-name" leaves one out
  std::uint64_t process = 0;         ///< root of the process tree to watch; 0: this process
  bool covers_machine = true;        ///< false: only the process tree
  /// The rails, the zones, the GPU and memory controller load, by the paths that are here rather than below root.
  std::shared_ptr<const BoardConfig> board = {};
};

/// Rates are in hertz, 0.1 to 1000; 0 turns a tier off.
struct SamplerOptions {
  double fast_hz = 100;
  double medium_hz = 10;
  double slow_hz = 1;
  std::vector<std::pair<std::string, double>> sensor_hz;  ///< rates of single sensors
  std::vector<int> cpus;                                  ///< where the sampling threads may run; empty: anywhere
  SensorOptions sensors = {};
  /// Leave the machine to another process of this user that samples it already: then only the process tree is sampled,
  /// until the other one ends.
  bool shares_machine = true;
};

/// Samples sensors into the recorder, a thread for each tier that has any. Thread safe. What goes wrong in a source is
/// a gap in its metrics and one line on stderr; nothing throws but the constructor.
class KYMO_API Sampler {
 public:
  /// Checks the options and finds the sensors: some milliseconds. Throws std::invalid_argument where a rate is out of
  /// range, a sensor is not known or a CPU is not there.
  explicit Sampler(SamplerOptions options = {});
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  /// Stops.
  ~Sampler();

  /// Begins to sample. False where it is running already. Samples go wherever events go; without a capture or a sink
  /// they go nowhere.
  bool start();
  /// Ends the threads and waits for them: at most one period of the slow tier's sources' reads. May start again.
  void stop() noexcept;
  /// Waits until the fast tier has taken ten samples since the start; whether it has.
  bool wait_for_warmup(std::chrono::nanoseconds timeout = std::chrono::seconds(10)) const;
  /// Sets a sync point of the recording and returns its number: 1, 2, 3, ... 0 while nothing is recorded.
  std::uint64_t sync() noexcept;

  [[nodiscard]] bool is_running() const noexcept;
  /// Samples of the fast tier since the last start, those of the warm-up included.
  [[nodiscard]] std::uint64_t sample_count() const noexcept;
  /// Deadlines that a tier has missed since the last start: moments at which it should have sampled and did not.
  [[nodiscard]] std::uint64_t missed_deadlines(Tier tier) const noexcept;
  /// Whether the machine is sampled, and not only the process tree.
  [[nodiscard]] bool samples_machine() const noexcept;
  /// The process that keeps this one from sampling the machine; 0: none.
  [[nodiscard]] std::uint64_t machine_holder() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
