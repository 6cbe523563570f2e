#include "sense/macos_calls.hpp"
#include "sense/sensor_kinds.hpp"

namespace kymo::sense {

namespace {

void make_cpu(const SensorContext& /*context*/, SensorList& list) {
  make_mach_cpu_sensors(mach_calls(), list);
}

void make_memory(const SensorContext& /*context*/, SensorList& list) {
  make_mach_memory_sensors(mach_calls(), list);
}

void make_process(const SensorContext& context, SensorList& list) {
  make_mach_process_sensors(mach_calls(), context.process, list);
}

void make_gpu(const SensorContext& /*context*/, SensorList& list) {
  make_accelerator_sensors(accelerator_calls(), list);
}

void make_power(const SensorContext& /*context*/, SensorList& list) {
  make_energy_report_sensors(energy_report_calls(), list);
}

constexpr std::array kinds{
    SensorKind{make_cpu, {"cpu"}},
    SensorKind{make_memory, {"memory", "paging"}},
    SensorKind{make_process, {"process"}, true},
    SensorKind{make_gpu, {"apple_gpu"}, false, true},
    SensorKind{make_power, {"apple_power"}, false, true},
};

}  // namespace

std::span<const SensorKind> sensor_kinds() noexcept {
  return kinds;
}

}  // namespace kymo::sense
