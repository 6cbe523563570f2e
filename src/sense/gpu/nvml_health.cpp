// The calls for an NVIDIA GPU that tell how it fares: fan, memory temperature, power limit, P-state, errors.
#include <utility>

#include "sense/gpu/nvml_extra_calls.hpp"

namespace kymo::sense {

namespace {

NvmlReturn read_memory_temperature(NvmlGpu& gpu, NvmlValues& values) {
  constexpr double most_degrees = 1000;
  const NvmlReturn result = read_field(gpu, NvmlFieldValue::memory_temperature, 0, values.values[0]);
  if (!(values.values[0] <= most_degrees)) {
    values.values[0] = missing;
  }
  // Chips without the sensor report 0.
  return result == NvmlReturn::success && values.values[0] == 0 ? NvmlReturn::not_supported : result;
}

constexpr std::uint64_t most_fan_percent = 1000;  // of the greatest intended speed, which fans may exceed
constexpr std::uint64_t slowest_state = 15;

/// Errors of all memories since the driver was loaded.
NvmlReturn read_memory_errors(NvmlGpu& gpu, NvmlValues& values) {
  const auto function = gpu.nvml->get_memory_errors;
  if (function == nullptr) {
    return NvmlReturn::not_supported;
  }
  constexpr unsigned since_loading = 0;
  for (const unsigned is_uncorrected : {0U, 1U}) {
    unsigned long long errors = 0;
    const NvmlReturn result = function(gpu.device, is_uncorrected, since_loading, &errors);
    if (result != NvmlReturn::success) {
      return result;
    }
    values.values[is_uncorrected] = static_cast<double>(errors);
  }
  return NvmlReturn::success;
}

/// The driver's critical errors since sampling began, and the number of the last one.
NvmlReturn read_critical_errors(NvmlGpu& gpu, NvmlValues& values) {
  if (gpu.critical_errors == nullptr) {
    auto errors = std::make_shared<CriticalErrors>(gpu.nvml);
    const NvmlReturn result = errors->begin(gpu.device);
    if (result != NvmlReturn::success) {
      return result;
    }
    gpu.critical_errors = std::move(errors);
  }
  const NvmlReturn result = gpu.critical_errors->look();
  values.values[0] = static_cast<double>(gpu.critical_errors->count());
  values.values[1] = gpu.critical_errors->last();
  return result;
}

}  // namespace

CriticalErrors::~CriticalErrors() {
  if (set_ != nullptr && nvml_->is_of_this_process() && nvml_->free_events != nullptr) {
    nvml_->free_events(set_);
  }
}

NvmlReturn CriticalErrors::begin(NvmlDevice device) {
  if (nvml_->create_events == nullptr || nvml_->register_events == nullptr || nvml_->wait_for_event == nullptr) {
    return NvmlReturn::not_supported;
  }
  const NvmlReturn result = nvml_->create_events(&set_);
  return result == NvmlReturn::success ? nvml_->register_events(device, NvmlEvent::critical_error, set_) : result;
}

NvmlReturn CriticalErrors::look() {
  constexpr int most_a_look = 64;
  for (int i = 0; i < most_a_look; ++i) {
    NvmlEvent event{};
    const NvmlReturn result = nvml_->wait_for_event(set_, &event, 0);
    if (result != NvmlReturn::success) {
      return result == NvmlReturn::timeout ? NvmlReturn::success : result;
    }
    if (event.type == NvmlEvent::critical_error) {
      ++count_;
      last_ = static_cast<double>(event.data);
    }
  }
  return NvmlReturn::success;
}

void add_health_calls(Tier tier, std::vector<NvmlCall>& calls) {
  constexpr MetricKind gauge = MetricKind::gauge;
  constexpr MetricKind counter = MetricKind::counter;
  if (tier == Tier::medium) {
    calls.push_back({"nvmlDeviceGetFieldValues(NVML_FI_DEV_MEMORY_TEMP)",
                     {{"gpu_mem_temp", "C", gauge, 1}},
                     read_memory_temperature});
    calls.push_back({"nvmlDeviceGetPerformanceState",
                     {{"gpu_pstate", "", gauge, 1}},
                     read_number<&NvmlLibrary::get_performance_state, 1, slowest_state>});
    calls.push_back(
        {"nvmlEventSetWait_v2", {{"gpu_xid_errors", "", counter, 1}, {"gpu_xid", "", gauge, 1}}, read_critical_errors});
  } else if (tier == Tier::slow) {
    calls.push_back({"nvmlDeviceGetFanSpeed",
                     {{"gpu_fan", "%", gauge, 1}},
                     read_number<&NvmlLibrary::get_fan_speed, 1, most_fan_percent>});
    calls.push_back({"nvmlDeviceGetEnforcedPowerLimit",
                     {{"gpu_power_limit", "W", gauge, 0.001}},
                     read_number<&NvmlLibrary::get_power_limit, 1000>});
    calls.push_back({"nvmlDeviceGetTotalEccErrors",
                     {{"gpu_ecc_corrected", "", counter, 1}, {"gpu_ecc_uncorrected", "", counter, 1}},
                     read_memory_errors});
  }
}

}  // namespace kymo::sense
