#include "apps/kymo/record/recorded_machine.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <kymo/recorder.hpp>
#include <kymo/sampler.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/ranges.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "control/environment.hpp"

namespace kymo::command {

control::SampleRates parse_hz(const std::string& text) {
  const auto rates = control::parse_sample_rates(text);
  if (!rates) {
    throw Failure(
        fmt::format("--hz {}: up to three rates for the fast, the medium and the slow tier are expected, such as "
                    "100,10,1, each 0.1 to 1000 or 0 for off",
                    text));
  }
  return *rates;
}

std::pair<std::string, double> parse_sensor_hz(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto hz = equals == std::string::npos ? std::nullopt : parse_number<double>(text.substr(equals + 1));
  if (!hz || equals == 0) {
    throw Failure(fmt::format("--sensor-hz {}: a sensor and its rate are expected, such as cpu=200", printable(text)));
  }
  return {text.substr(0, equals), *hz};
}

RecordedMachine::RecordedMachine(SamplingOptions options) : options_(std::move(options)) {
  if (options_.is_off()) {
    return;
  }
  // Checks names and rates before the command runs.
  const Sampler checked(sampler_options());
}

RecordedMachine::~RecordedMachine() = default;

SamplerOptions RecordedMachine::sampler_options() const {
  SamplerOptions sampling;
  sampling.fast_hz = options_.hz[0];
  sampling.medium_hz = options_.hz[1];
  sampling.slow_hz = options_.hz[2];
  sampling.sensor_hz = options_.sensor_hz;
  sampling.sensors = options_.sensors;
  sampling.shares_machine = false;
  return sampling;
}

void RecordedMachine::start(const std::string& directory, pid_t command) {
  if (options_.is_off()) {
    return;
  }
  CaptureOptions capture;
  // The name sorts after those of the command's processes, which are merged by name.
  capture.path = directory + "/~machine.kymo";
  if (!start_capture(capture)) {
    return;
  }
  path_ = std::string(capture_path());
  SamplerOptions sampling = sampler_options();
  sampling.sensors.process = static_cast<std::uint64_t>(command);
  sampling.sensors.covers_machine = options_.machine != sense::MachineMode::off;
  const bool is_shared = options_.machine == sense::MachineMode::shared;
  sampling.shares_machine = is_shared;
  if (is_shared) {
    // Among all that record here, whatever KYMO_RECORD is.
    ::setenv("KYMO_MACHINE", "shared", 1);
  }
  sampler_ = std::make_unique<Sampler>(std::move(sampling));
  sampler_->start();
  if (is_shared && !sampler_->samples_machine()) {
    say("kymo: process {} samples this machine already: this capture has the command's processes only, until that one "
        "ends\n",
        sampler_->machine_holder());
  }
}

void RecordedMachine::stop() {
  if (sampler_) {
    sampler_.reset();
    stop_capture();
  }
}

}  // namespace kymo::command
