// macOS support for the sampler: scheduling, and the table of sensors. Without timers like Linux's, the stop signal's
// own sleep is used.

#include <pthread/qos.h>

#include "sense/macos/calls.hpp"
#include "sense/sampler/deadline_timer.hpp"
#include "sense/sampler/sensors.hpp"

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
    SensorKind{make_power, {"apple_power"}, false, true, nullptr, "apple_power"},
};

}  // namespace

std::span<const SensorKind> sensor_kinds() noexcept {
  return kinds;
}

long cpu_limit() noexcept {
  return 0;
}

bool schedule_tier(Tier /*tier*/, const std::vector<int>& cpus) noexcept {
  // The class whose timers macOS delays least. Threads of a lower class may also be confined to the slow cores.
  ::pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
  return cpus.empty();
}

void DeadlineTimer::open() noexcept {}

void DeadlineTimer::close() noexcept {}

bool DeadlineTimer::sleep_until(StopSignal& stop, std::int64_t deadline_ns, std::int64_t /*following_ns*/) noexcept {
  return stop.sleep_until(deadline_ns);
}

void DeadlineTimer::wake() noexcept {}

}  // namespace kymo::sense
