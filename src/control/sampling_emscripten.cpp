// What a browser knows of the machine is not worth a sampler's thread.
#include "control/sampling.hpp"

namespace kymo::control {

bool Sampling::start(const SampleRates& /*rates*/, bool /*is_wanted*/) noexcept {
  return is_running_;
}

void Sampling::stop() noexcept {}

bool Sampling::forget() noexcept {
  return is_running_;
}

}  // namespace kymo::control
