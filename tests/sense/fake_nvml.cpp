// A stand-in for libnvidia-ml.so.1: written from the documentation of its C interface, and not from kymo's declarations
// of it. Built once more as FAKE_NVML_IS_OLD, without the functions that came late, and as FAKE_NVML_STALLS: that
// creates the file that STALLED_NVML_MARK names, and hangs.
#include "fake_nvml.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using kymo::test::FakeCall;
using kymo::test::FakeNvml;

FakeNvml control;

struct Device {
  unsigned index;
  unsigned instance;  // the driver's number of a part; 0: it is a whole GPU
};
Device devices[kymo::test::fake_gpus] = {{0, 0}, {1, 0}};

int error_of(const Device* device, FakeCall call) {
  return control.error[device->index][static_cast<unsigned>(call)];
}

/// The values below are k or scaled by it: the number of renewals so far.
unsigned long long k() {
  return static_cast<unsigned long long>(kymo::test::fake_renewals(control.now_ms));
}

struct Utilization {
  unsigned int gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance_id, compute_instance_id;
};
union Value {
  double d;
  unsigned int ui;
  unsigned long ul;
  unsigned long long ull;
};
struct FieldValue {
  unsigned int field_id, scope_id;
  long long timestamp, latency_usec;
  int value_type, nvml_return;
  Value value;
};

constexpr unsigned long long gib = 1ULL << 30U;

int copy_text(const std::string& text, char* to, unsigned int length) {
  if (length <= text.size()) {
    return 7;
  }
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace

EXPORT FakeNvml* kymo_fake_nvml() {
  return &control;
}

EXPORT int nvmlInit_v2() {
#ifdef FAKE_NVML_STALLS
  const char* const mark = std::getenv("STALLED_NVML_MARK");
  ::close(::open(mark != nullptr ? mark : "/dev/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  for (;;) {
    ::pause();
  }
#endif
  if (control.general_error != 0) {
    return control.general_error;
  }
  ++control.initialised;
  ++control.initialisations;
  return 0;
}
EXPORT int nvmlShutdown() {
  --control.initialised;
  return 0;
}
EXPORT const char* nvmlErrorString(int error) {
  switch (error) {
    case 3:
      return "Not Supported";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
EXPORT int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = kymo::test::fake_gpus;
  return control.initialised > 0 ? 0 : 1;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device** device) {
  if (index >= kymo::test::fake_gpus) {
    return 2;
  }
  *device = &devices[index];
  return error_of(*device, FakeCall::handle);
}
EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return copy_text("535.104.05", version, length);
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(Device* device, unsigned int* milliwatts) {
  *milliwatts = device->index == 0 ? 350'000 : 312'500;
  return error_of(device, FakeCall::power_limit);
}
EXPORT int nvmlDeviceGetName(Device* device, char* name, unsigned int length) {
  return copy_text(device->index == 0 ? "NVIDIA H100 PCIe" : "NVIDIA A100-SXM4-80GB", name, length);
}
EXPORT int nvmlDeviceGetUUID(Device* device, char* uuid, unsigned int length) {
  return copy_text("GPU-0000000" + std::to_string(device->index), uuid, length);
}
EXPORT int nvmlDeviceGetUtilizationRates(Device* device, Utilization* utilization) {
  utilization->gpu = control.has_huge_values ? 4'000'000'000 : static_cast<unsigned int>((k() + device->index) % 101);
  utilization->memory = 21 + device->index;
  return error_of(device, FakeCall::utilization);
}
EXPORT int nvmlDeviceGetMemoryInfo(Device* device, Memory* memory) {
  *memory = {80 * gib, 78 * gib, 2 * gib};  // 1 GiB of it is the driver's
  return error_of(device, FakeCall::memory);
}
EXPORT int nvmlDeviceGetPowerUsage(Device* device, unsigned int* milliwatts) {
  *milliwatts = static_cast<unsigned int>(100'000 + k() * 500);
  return error_of(device, FakeCall::power);
}
EXPORT int nvmlDeviceGetTemperature(Device* device, int sensor, unsigned int* degrees) {
  *degrees = 40 + device->index;
  return sensor == 0 ? error_of(device, FakeCall::temperature) : 2;
}
EXPORT int nvmlDeviceGetClockInfo(Device* device, int type, unsigned int* megahertz) {
  *megahertz = type == 1 ? 1755 : type == 2 ? 1593 : 1;
  return error_of(device, FakeCall::clock);
}
EXPORT int nvmlDeviceGetPcieThroughput(Device* device, int counter, unsigned int* kilobytes) {
  *kilobytes = counter == 0 ? 2000 : 300;
  return error_of(device, FakeCall::pcie);
}
EXPORT int nvmlDeviceGetEncoderUtilization(Device* device, unsigned int* utilization, unsigned int* period_us) {
  *utilization = 12;
  *period_us = 167'000;
  return error_of(device, FakeCall::encoder);
}
EXPORT int nvmlDeviceGetDecoderUtilization(Device* device, unsigned int* utilization, unsigned int* period_us) {
  *utilization = 34;
  *period_us = 200'000;
  return error_of(device, FakeCall::decoder);
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Device* device, unsigned long long* reasons) {
  *reasons = 0x4;
  return error_of(device, FakeCall::clock_reasons);
}

EXPORT int nvmlDeviceGetFanSpeed(Device* device, unsigned int* percent) {
  *percent = 30 + device->index;
  return error_of(device, FakeCall::fan);
}
EXPORT int nvmlDeviceGetPerformanceState(Device* device, int* state) {
  *state = device->index == 0 ? 2 : 32;  // of GPU 1 it is not known
  return error_of(device, FakeCall::performance_state);
}
EXPORT int nvmlDeviceGetTotalEccErrors(Device* device, int type, int since, unsigned long long* errors) {
  *errors = since != 0 ? 1000 : type == 0 ? 5 : 1;
  return error_of(device, FakeCall::memory_errors);
}

#ifndef FAKE_NVML_IS_OLD

Device instances[] = {{1, 7}, {1, 9}};

struct EventSet {
  Device* device;
};
struct EventData {
  Device* device;
  unsigned long long type, data;
  unsigned int gpu_instance_id, compute_instance_id;
};

EXPORT int nvmlEventSetCreate(EventSet** set) {
  *set = new EventSet{nullptr};
  ++control.open_events;
  return 0;
}
EXPORT int nvmlEventSetFree(EventSet* set) {
  delete set;
  --control.open_events;
  return 0;
}
EXPORT int nvmlDeviceRegisterEvents(Device* device, unsigned long long types, EventSet* set) {
  set->device = device;
  return types == 8 ? error_of(device, FakeCall::events) : 2;
}
EXPORT int nvmlEventSetWait_v2(EventSet* set, EventData* data, unsigned int /*timeout_ms*/) {
  if (const int error = error_of(set->device, FakeCall::events); error != 0) {
    return error;
  }
  const unsigned long long number = set->device->index == 0 ? control.error_event.exchange(0) : 0;
  *data = {set->device, 8, number, 0, 0};
  return number != 0 ? 0 : 10;
}

struct ProcessSample {
  unsigned int pid;
  unsigned long long time_us;
  unsigned int sm, memory, encoder, decoder;
};

EXPORT int nvmlDeviceGetProcessUtilization(Device* device, ProcessSample* samples, unsigned int* count,
                                           unsigned long long since) {
  if (const int error = error_of(device, FakeCall::shares); error != 0) {
    return error;
  }
  const bool is_used = device->index == 1 && control.share != 0 && control.share_time > since;
  const unsigned int room = *count;
  *count = is_used ? 3 : 0;
  if (!is_used) {
    return 6;
  }
  if (samples == nullptr || room < 3) {
    return 7;
  }
  samples[0] = {control.process, control.share_time, control.share, 1, 2, 3};
  samples[1] = {control.process, control.share_time - 100'000, control.share - 10, 1, 2, 3};
  samples[2] = {4'000'000, control.share_time, 17, 1, 2, 3};
  return 0;
}

EXPORT int nvmlDeviceGetMigMode(Device* device, unsigned int* now, unsigned int* later) {
  *now = *later = device->index == 1 && control.is_shared_out ? 1 : 0;
  return device->index == 1 ? 0 : 3;
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(Device* /*device*/, unsigned int* count) {
  *count = 7;
  return 0;
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Device* device, unsigned int index, Device** instance) {
  if (device->index != 1 || (index != 0 && index != 2)) {
    return 6;
  }
  *instance = &instances[index / 2];
  return 0;
}
EXPORT int nvmlDeviceGetGpuInstanceId(Device* device, unsigned int* id) {
  *id = device->instance;
  return device->instance != 0 ? 0 : 3;
}

struct GpmSample {
  long long time_ms;
  unsigned int instance;
};
struct GpmMetric {
  unsigned int id;
  int nvml_return;
  double value;
  struct {
    char *short_name, *long_name, *unit;
  } info;
};
struct GpmMetrics {
  unsigned int version, count;
  GpmSample *first, *second;
  GpmMetric metrics[98];
};
struct GpmSupport {
  unsigned int version, is_supported;
};

EXPORT int nvmlGpmQueryDeviceSupport(Device* device, GpmSupport* support) {
  support->is_supported = device->index == 0 || control.is_shared_out ? 1 : 0;
  return support->version == 1 ? error_of(device, FakeCall::units) : 25;
}
EXPORT int nvmlGpmSampleAlloc(GpmSample** sample) {
  *sample = new GpmSample{-1, 0};
  ++control.open_samples;
  return 0;
}
EXPORT int nvmlGpmSampleFree(GpmSample* sample) {
  delete sample;
  --control.open_samples;
  return 0;
}
EXPORT int nvmlGpmSampleGet(Device* device, GpmSample* sample) {
  *sample = {control.now_ms, 0};
  return device->instance == 0 ? error_of(device, FakeCall::units) : 3;
}
EXPORT int nvmlGpmMigSampleGet(Device* device, unsigned int instance, GpmSample* sample) {
  *sample = {control.now_ms, instance};
  return device->instance == 0 ? error_of(device, FakeCall::units) : 2;
}
/// Metric N of a whole GPU is N percent and a hundredth for each millisecond; of instance M, 10 M more.
EXPORT int nvmlGpmMetricsGet(GpmMetrics* metrics) {
  if (metrics->version != 1 || metrics->first->time_ms < 0 || metrics->second->time_ms < 0) {
    return 2;
  }
  for (unsigned int i = 0; i < metrics->count; ++i) {
    GpmMetric& metric = metrics->metrics[i];
    metric.nvml_return = 0;
    metric.value = metric.id + 10.0 * metrics->first->instance +
                   static_cast<double>(metrics->second->time_ms - metrics->first->time_ms) / 100;
    if (control.has_huge_values) {
      metric.value = 1e30;
    }
  }
  return 0;
}

EXPORT int nvmlDeviceGetArchitecture(Device* device, unsigned int* architecture) {
  *architecture = device->index == 0 ? control.architecture.load() : 7;
  return 0;
}
EXPORT int nvmlDeviceGetMemoryInfo_v2(Device* device, MemoryV2* memory) {
  if (memory->version != (sizeof(MemoryV2) | 2U << 24U)) {
    return 25;
  }
  *memory = {memory->version, 80 * gib, gib, 78 * gib, gib};
  return error_of(device, FakeCall::memory_v2);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device* device, unsigned int* count, ProcessInfo* infos) {
  if (const int error = error_of(device, FakeCall::processes); error != 0) {
    return error;
  }
  const unsigned int others = control.other_processes;
  const bool is_here = device->index == 1 && control.process != 0;
  const unsigned int room = *count;
  *count = others + (is_here ? 1 : 0);
  if (room < *count) {
    return 7;
  }
  for (unsigned int i = 0; i < others; ++i) {
    infos[i] = {4'000'000 + i, 77, 0, 0};
  }
  if (is_here) {
    infos[others] = {control.process, 3 * gib, 0, 0};
  }
  return 0;
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(Device* device, unsigned int* count, ProcessInfo* infos) {
  const bool has_room = *count > 0;
  *count = device->index == 1 && control.graphics_process != 0 ? 1 : 0;
  if (*count > 0 && !has_room) {
    return 7;
  }
  if (*count > 0) {
    infos[0] = {control.graphics_process, gib, 0, 0};
  }
  return error_of(device, FakeCall::graphics_processes);
}
EXPORT int nvmlDeviceGetFieldValues(Device* device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    value.value_type = 1;
    value.value.ull = ~0ULL;
    if (value.field_id == 186) {
      value.value.ui = static_cast<unsigned int>(200'000 + k() * 1000);
      value.nvml_return = error_of(device, FakeCall::instant_power);
    } else if (value.field_id == 185) {
      value.value.ui = 190'000;
      value.nvml_return = error_of(device, FakeCall::average_power);
    } else if (value.field_id == 82) {
      value.value.ui = 61;
      value.nvml_return = device->index == 1 ? 3 : error_of(device, FakeCall::memory_temperature);
    } else if ((value.field_id == 138 || value.field_id == 139) && value.scope_id == ~0U) {
      value.value_type = 3;
      value.value.ull = (value.field_id == 138 ? 3000ULL : 5000ULL) * k();
      value.nvml_return = error_of(device, FakeCall::links);
    } else {
      value.nvml_return = 2;
    }
  }
  return 0;
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(Device* device, unsigned long long* millijoules) {
  control.cpu_ns += control.energy_cost_ns;
  *millijoules = 1'000'000 + k() * 20'000;
  return error_of(device, FakeCall::energy);
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Device* device, unsigned long long* reasons) {
  *reasons = 0x40 | 0x4;
  return error_of(device, FakeCall::clock_reasons);
}

#endif
