// kymo record's own recording: samples the machine and the command's process tree.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <kymo/sampler.hpp>

#include "control/sampling.hpp"
#include "sense/sampler/machine_lock.hpp"

namespace kymo::command {

struct SamplingOptions {
  control::SampleRates hz = control::default_sample_rates;
  std::vector<std::pair<std::string, double>> sensor_hz;  ///< SamplerOptions::sensor_hz
  SensorOptions sensors;                                  ///< selection of sensors and root of the machine's files
  sense::MachineMode machine = sense::MachineMode::own;

  /// Whether no sensor has a rate.
  [[nodiscard]] bool is_off() const {
    return hz == control::SampleRates{} &&
           std::all_of(sensor_hz.begin(), sensor_hz.end(), [](const auto& rate) { return rate.second == 0; });
  }
};

/// Parses "100,10,1" as in KYMO_SAMPLE. Throws Failure if it is invalid.
[[nodiscard]] control::SampleRates parse_hz(const std::string& text);

/// Parses "cpu=200" or "nvml.fast=1000". Throws Failure if it is no name with a rate; the sampler checks both.
[[nodiscard]] std::pair<std::string, double> parse_sensor_hz(const std::string& text);

/// Samples into a capture in a directory, using the normal recorder. One at a time.
class RecordedMachine {
 public:
  /// Throws std::invalid_argument for invalid options.
  explicit RecordedMachine(SamplingOptions options);
  RecordedMachine(const RecordedMachine&) = delete;
  RecordedMachine& operator=(const RecordedMachine&) = delete;
  ~RecordedMachine();

  /// Begins sampling. Call when the command runs. Its processes must not sample the machine: KYMO_MACHINE=off.
  void start(const std::string& directory, pid_t command);
  /// Ends sampling and closes the capture.
  void stop();

  /// The capture's path; empty if nothing is sampled.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] SamplerOptions sampler_options() const;

  SamplingOptions options_;
  std::unique_ptr<Sampler> sampler_;
  std::string path_;
};

}  // namespace kymo::command
