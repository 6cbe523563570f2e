#include "apps/kymo/record/recorded_machine.hpp"

#include <utility>

#include <fmt/format.h>
#include <kymo/recorder.hpp>
#include <kymo/sampler.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/say.hpp"
#include "control/environment.hpp"
#include "sense/sampler/machine_lock.hpp"
#include "sense/sampler/sensors.hpp"

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

class RecordedMachine::Claim {
 public:
  explicit Claim(const std::string& root) : lock_(root), is_ours_(lock_.try_acquire()) {
    if (!is_ours_) {
      say("kymo: process {} samples this machine already: this capture has the command's processes only\n",
          lock_.holder());
    }
  }
  [[nodiscard]] bool is_ours() const { return is_ours_; }

 private:
  sense::MachineLock lock_;
  bool is_ours_;
};

RecordedMachine::RecordedMachine(SamplingOptions options) : options_(std::move(options)) {
  if (options_.is_off()) {
    return;
  }
  // Checks names before the command runs.
  SensorOptions none = options_.sensors;
  none.covers_machine = false;
  static_cast<void>(sense::make_sensors(none));
  claim_ = std::make_unique<Claim>(options_.sensors.root);
}

RecordedMachine::~RecordedMachine() = default;

void RecordedMachine::start(const std::string& directory, pid_t command) {
  if (!claim_) {
    return;
  }
  CaptureOptions capture;
  // The name sorts after those of the command's processes, which are merged by name.
  capture.path = directory + "/~machine.kymo";
  if (!start_capture(capture)) {
    return;
  }
  path_ = std::string(capture_path());
  SamplerOptions sampling;
  sampling.fast_hz = options_.hz[0];
  sampling.medium_hz = options_.hz[1];
  sampling.slow_hz = options_.hz[2];
  sampling.sensors = options_.sensors;
  sampling.sensors.process = static_cast<std::uint64_t>(command);
  sampling.sensors.covers_machine = claim_->is_ours();
  sampling.shares_machine = false;
  sampler_ = std::make_unique<Sampler>(std::move(sampling));
  sampler_->start();
}

void RecordedMachine::stop() {
  if (sampler_) {
    sampler_->stop();
    sampler_.reset();
    stop_capture();
  }
}

}  // namespace kymo::command
