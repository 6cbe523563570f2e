#include "sense/sampler/entry.hpp"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/sampler.hpp>

#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "sense/common/parse.hpp"

namespace {

// Plain pointers without destructors: the recorder stops the sampler when the process ends. One inherited by fork
// cannot be destroyed, since its threads do not exist here.
struct Entry {
  kymo::Sampler* sampler = nullptr;
  const Entry* left_behind = nullptr;
};
constinit Entry entry;

/// What KYMO_SENSORS names: "cpu,memory", or "-gpu" for all but one.
std::vector<std::string> wanted_sensors() {
  std::vector<std::string> names;
  const char* const value = kymo::base::trusted_variable("KYMO_SENSORS");
  for (kymo::sense::TextCursor rest(value != nullptr ? value : ""); !rest.at_end();) {
    if (const std::string_view name = rest.until(','); !name.empty()) {
      names.emplace_back(name);
    }
  }
  return names;
}

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
    options.sensors.sensors = wanted_sensors();
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
