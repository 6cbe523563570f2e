// What the machine and a command's process tree feel while the command runs: kymo record's own recording.
#pragma once

#include <memory>
#include <string>

#include <sys/types.h>

#include <kymo/sampler.hpp>

#include "control/sampling.hpp"

namespace kymo::command {

struct SamplingOptions {
  control::SampleRates hz = control::default_sample_rates;
  SensorOptions sensors;  ///< which ones, and where the machine's files lie

  [[nodiscard]] bool is_off() const { return hz == control::SampleRates{}; }
};

/// "100,10,1" as in KYMO_SAMPLE. Throws Failure where it makes no sense.
[[nodiscard]] control::SampleRates parse_hz(const std::string& text);

/// Samples into a capture in a directory, with the recorder that every program uses. One at a time.
class RecordedMachine {
 public:
  /// Becomes the one who samples this machine, so that the command's processes leave it alone. Throws
  /// std::invalid_argument where the options make no sense.
  explicit RecordedMachine(SamplingOptions options);
  RecordedMachine(const RecordedMachine&) = delete;
  RecordedMachine& operator=(const RecordedMachine&) = delete;
  ~RecordedMachine();

  /// Begins, once the command runs.
  void start(const std::string& directory, pid_t command);
  /// Ends, and closes the capture.
  void stop();

  /// The capture's path; empty where nothing is sampled.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  class Claim;

  SamplingOptions options_;
  std::unique_ptr<Claim> claim_;
  std::unique_ptr<Sampler> sampler_;
  std::string path_;
};

}  // namespace kymo::command
