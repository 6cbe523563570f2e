// Linux support for the sampler: timers, scheduling, and the table of sensors.
#include <algorithm>
#include <cerrno>
#include <ctime>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/system/clock.hpp"
#include "sense/sampler/deadline_timer.hpp"
#include "sense/sampler/sensors.hpp"

namespace kymo::sense {

SensorMaker make_cpu_sensors;
SensorMaker make_cpu_clock_sensors;
SensorMaker make_memory_sensors;
SensorMaker make_process_sensors;
SensorMaker make_thread_sensors;
SensorMaker make_disk_sensors;
SensorMaker make_network_sensors;
SensorMaker make_pressure_sensors;
SensorMaker make_cgroup_sensors;
SensorMaker make_hwmon_sensors;
SensorMaker make_thermal_sensors;
SensorMaker make_battery_sensors;
SensorMaker make_rapl_sensors;
SensorMaker make_nvml_sensors;
SensorMaker make_amd_gpu_sensors;
SensorMaker make_intel_gpu_sensors;
SensorMaker make_jetson_sensors;
SensorMaker make_board_zone_sensors;

namespace {

constexpr std::array kinds{
    SensorKind{make_cpu_sensors, {"cpu", "scheduler"}},
    SensorKind{make_cpu_clock_sensors, {"cpu_clock"}},
    SensorKind{make_memory_sensors, {"memory", "paging"}},
    SensorKind{make_process_sensors, {"process", "process_memory"}, true},
    SensorKind{make_thread_sensors, {"threads"}, true},
    SensorKind{make_disk_sensors, {"disk"}},
    SensorKind{make_network_sensors, {"network"}},
    SensorKind{make_pressure_sensors, {"pressure"}},
    SensorKind{make_cgroup_sensors, {"cgroup"}, true},
    SensorKind{make_hwmon_sensors, {"hwmon"}, false, false, nullptr, "hwmon"},
    SensorKind{make_thermal_sensors, {"thermal"}, false, false, make_board_zone_sensors},
    SensorKind{make_rapl_sensors, {"rapl"}, false, false, nullptr, "rapl"},
    SensorKind{make_battery_sensors, {"battery"}, false, false, nullptr, "battery"},
    SensorKind{make_nvml_sensors, {"nvml"}, false, true, nullptr, "nvml"},
    SensorKind{make_amd_gpu_sensors, {"amdgpu"}, false, false, nullptr, "amdgpu"},
    SensorKind{make_intel_gpu_sensors, {"intel_gpu"}, false, false, nullptr, "intel_gpu"},
    SensorKind{make_jetson_sensors, {"gpu_load", "emc", "ina3221", "jetson"}, false, false, nullptr, "ina3221"},
};

}  // namespace

std::span<const SensorKind> sensor_kinds() noexcept {
  return kinds;
}

long cpu_limit() noexcept {
  return std::min<long>(CPU_SETSIZE, ::sysconf(_SC_NPROCESSORS_CONF));
}

bool schedule_tier(Tier tier, const std::vector<int>& cpus) noexcept {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  // Faster tiers get higher priority. Without permission the thread keeps its scheduling.
  for (const int level : {3 - static_cast<int>(tier), 1}) {
    const sched_param priority{level};
    if (::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &priority) == 0) {
      break;
    }
  }
  if (cpus.empty()) {
    return true;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

namespace {

bool set_timer(int file, int flags, std::int64_t time_ns) noexcept {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const itimerspec once{{0, 0}, {static_cast<time_t>(time_ns / second_ns), time_ns % second_ns}};
  return ::timerfd_settime(file, flags, &once, nullptr) == 0;
}

}  // namespace

void DeadlineTimer::open() noexcept {
  for (Timer& timer : timers_) {
    timer = {base::KnownFile(base::move_high(base::FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)))), 0};
  }
  has_timers_ = true;
  is_woken_ = false;
}

void DeadlineTimer::close() noexcept {
  timers_ = {};
}

bool DeadlineTimer::sleep_until(StopSignal& stop, std::int64_t deadline_ns, std::int64_t following_ns) noexcept {
  while (base::monotonic_now_ns() < deadline_ns && !is_woken_.exchange(false)) {
    Timer* const timer = has_timers_ ? start(deadline_ns, nullptr) : nullptr;
    if (timer == nullptr || start(following_ns, timer) == nullptr) {
      return stop.sleep_until(deadline_ns);
    }
    // Do not wait for a timer that was set after wake().
    if (stop.is_raised()) {
      return false;
    }
    if (is_woken_.load()) {
      continue;
    }
    std::uint64_t expirations = 0;
    if (::read(timer->file.number(), &expirations, sizeof expirations) > 0) {
      timer->deadline_ns = 0;
    } else {
      has_timers_ = errno == EINTR;
    }
  }
  return !stop.is_raised();
}

DeadlineTimer::Timer* DeadlineTimer::start(std::int64_t deadline_ns, const Timer* other) noexcept {
  Timer* idle = nullptr;
  for (Timer& timer : timers_) {
    if (&timer == other) {
      continue;
    }
    if (timer.deadline_ns == deadline_ns) {
      return &timer;
    }
    idle = idle == nullptr || timer.deadline_ns == 0 ? &timer : idle;
  }
  // Fails if the program closed all descriptors, these included.
  has_timers_ = set_timer(idle->file.get(), TFD_TIMER_ABSTIME, deadline_ns);
  idle->deadline_ns = deadline_ns;
  return has_timers_ ? idle : nullptr;
}

void DeadlineTimer::wake() noexcept {
  is_woken_ = true;
  for (const Timer& timer : timers_) {
    set_timer(timer.file.get(), 0, 1);
  }
}

}  // namespace kymo::sense
