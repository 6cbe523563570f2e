#include "sense/sampler/entry.hpp"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <kymo/sampler.hpp>

#include "base/system/message.hpp"

namespace {

// Plain pointers without destructors: the recorder stops the sampler when the process ends. One inherited by fork cannot
// be destroyed, since its threads do not exist here.
struct Entry {
  kymo::Sampler* sampler = nullptr;
  const Entry* left_behind = nullptr;
};
constinit Entry entry;

}  // namespace

bool kymo_start_sampling_v1(const kymo_sampling_v1* rates) noexcept {
  if (entry.sampler != nullptr) {
    return false;
  }
  try {
    kymo::SamplerOptions options;
    options.fast_hz = rates->fast_hz;
    options.medium_hz = rates->medium_hz;
    options.slow_hz = rates->slow_hz;
    auto fresh = std::make_unique<kymo::Sampler>(options);
    fresh->start();
    entry.sampler = fresh.release();
    return true;
  } catch (const std::exception& failure) {
    kymo::base::say(std::string("nothing is sampled: ") + failure.what());
    return false;
  }
}

void kymo_stop_sampling_v1() noexcept {
  const std::unique_ptr<kymo::Sampler> stopped(std::exchange(entry.sampler, nullptr));
}

void kymo_forget_sampling_v1() noexcept {
  if (entry.sampler != nullptr) {
    entry.left_behind = std::make_unique<const Entry>(entry).release();
    entry.sampler = nullptr;
  }
}
