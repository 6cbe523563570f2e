// NVIDIA's management library, loaded at run time. Declares the part of its C interface that kymo calls, so a build
// needs nothing of NVIDIA's.
#pragma once

#include <sys/types.h>
#include <memory>
#include <string>

#include "base/system/library_function.hpp"

namespace kymo::sense {

// Types of the library's interface, laid out as in its documentation.
struct nvml_device;  // opaque
using NvmlDevice = nvml_device*;

/// Results of calls. Other values have a text from nvmlErrorString() only.
enum class NvmlReturn : int {
  success = 0,
  invalid_argument = 2,
  not_supported = 3,
  not_found = 6,
  insufficient_size = 7,
  driver_not_loaded = 9,
  timeout = 10,
  function_not_found = 13,
  gpu_is_lost = 15,
  version_mismatch = 25,  // of a structure
};

struct NvmlUtilization {
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(NvmlUtilization) == 8);

struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;  // includes the driver's reserve
};
static_assert(sizeof(NvmlMemory) == 24);

struct NvmlMemoryV2 {
  static constexpr unsigned version_2 = 40U | 2U << 24U;  // size and number of the version
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(NvmlMemoryV2) == 40);

struct NvmlProcess {
  static constexpr unsigned long long memory_unknown = ~0ULL;
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(NvmlProcess) == 24);

struct NvmlProcessShare {
  unsigned pid;
  unsigned long long timestamp_us;  // since 1970
  unsigned multiprocessors;         // percent
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};
static_assert(sizeof(NvmlProcessShare) == 32);

struct nvml_event_set;  // opaque
using NvmlEventSet = nvml_event_set*;

struct NvmlEvent {
  static constexpr unsigned long long critical_error = 8;
  NvmlDevice device;
  unsigned long long type;
  unsigned long long data;  // of a critical error its number (XID)
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(NvmlEvent) == 32);

struct nvml_gpm_sample;  // opaque
using NvmlGpmSample = nvml_gpm_sample*;

struct NvmlGpmSupport {
  static constexpr unsigned version_1 = 1;
  unsigned version;
  unsigned is_supported;
};
static_assert(sizeof(NvmlGpmSupport) == 8);

struct NvmlGpmMetric {
  unsigned id;
  NvmlReturn result;
  double value;
  const char* names[3];
};
static_assert(sizeof(NvmlGpmMetric) == 40);

struct NvmlGpmMetrics {
  static constexpr unsigned version_1 = 1;
  unsigned version;
  unsigned count;
  NvmlGpmSample before;
  NvmlGpmSample now;
  NvmlGpmMetric metrics[512];  // `count` are used; no library's own declaration has more
};

struct NvmlFieldValue {
  static constexpr unsigned memory_temperature = 82;
  static constexpr unsigned link_data_sent = 138;      // KiB
  static constexpr unsigned link_data_received = 139;  // KiB
  static constexpr unsigned power_average = 185;
  static constexpr unsigned power_instant = 186;
  static constexpr unsigned all_links = ~0U;  // a scope
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  unsigned type;  // of the value: 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long, 5 int
  NvmlReturn result;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_unsigned_long;
    long long as_long;
    int as_int;
  } value;
};
static_assert(sizeof(NvmlFieldValue) == 40);

/// The library, initialised once for all holders and shut down with the last one. Calls may come from any thread.
class NvmlLibrary {
 private:
  struct Unload {
    void operator()(void* handle) const;
  };

  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] base::LibraryFunction find(const char* name) const { return {handle_.get(), name}; }

  std::unique_ptr<void, Unload> handle_;  // before the functions that are found in it

 public:
  /// Loads and initialises a library, or returns the loaded one. On failure returns nothing and sets the reason in
  /// `why` and a remedy in `advice`. The first call takes as long as the driver needs to wake GPUs: up to seconds.
  [[nodiscard]] static std::shared_ptr<const NvmlLibrary> open(const std::string& path, std::string& why,
                                                               std::string& advice);
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  /// False in a process that was forked after initialisation. It must not make any call.
  [[nodiscard]] bool is_of_this_process() const;
  [[nodiscard]] std::string describe(NvmlReturn error) const;

  // Always present.
  NvmlReturn (*get_count)(unsigned*) = find("nvmlDeviceGetCount_v2");
  NvmlReturn (*get_handle)(unsigned, NvmlDevice*) = find("nvmlDeviceGetHandleByIndex_v2");

  // Null if the library lacks the function.
  NvmlReturn (*get_driver_version)(char*, unsigned) = find("nvmlSystemGetDriverVersion");
  NvmlReturn (*get_name)(NvmlDevice, char*, unsigned) = find("nvmlDeviceGetName");
  NvmlReturn (*get_uuid)(NvmlDevice, char*, unsigned) = find("nvmlDeviceGetUUID");
  NvmlReturn (*get_architecture)(NvmlDevice, unsigned*) = find("nvmlDeviceGetArchitecture");
  NvmlReturn (*get_utilization)(NvmlDevice, NvmlUtilization*) = find("nvmlDeviceGetUtilizationRates");
  NvmlReturn (*get_memory)(NvmlDevice, NvmlMemory*) = find("nvmlDeviceGetMemoryInfo");
  NvmlReturn (*get_memory_v2)(NvmlDevice, NvmlMemoryV2*) = find("nvmlDeviceGetMemoryInfo_v2");
  NvmlReturn (*get_compute_processes)(NvmlDevice, unsigned*,
                                      NvmlProcess*) = find("nvmlDeviceGetComputeRunningProcesses_v3");
  NvmlReturn (*get_graphics_processes)(NvmlDevice, unsigned*,
                                       NvmlProcess*) = find("nvmlDeviceGetGraphicsRunningProcesses_v3");
  NvmlReturn (*get_power)(NvmlDevice, unsigned*) = find("nvmlDeviceGetPowerUsage");
  NvmlReturn (*get_power_limit)(NvmlDevice, unsigned*) = find("nvmlDeviceGetEnforcedPowerLimit");
  NvmlReturn (*get_fields)(NvmlDevice, int, NvmlFieldValue*) = find("nvmlDeviceGetFieldValues");
  NvmlReturn (*get_energy)(NvmlDevice, unsigned long long*) = find("nvmlDeviceGetTotalEnergyConsumption");
  NvmlReturn (*get_temperature)(NvmlDevice, unsigned, unsigned*) = find("nvmlDeviceGetTemperature");
  NvmlReturn (*get_clock)(NvmlDevice, unsigned, unsigned*) = find("nvmlDeviceGetClockInfo");
  NvmlReturn (*get_pcie_throughput)(NvmlDevice, unsigned, unsigned*) = find("nvmlDeviceGetPcieThroughput");
  NvmlReturn (*get_encoder)(NvmlDevice, unsigned*, unsigned*) = find("nvmlDeviceGetEncoderUtilization");
  NvmlReturn (*get_decoder)(NvmlDevice, unsigned*, unsigned*) = find("nvmlDeviceGetDecoderUtilization");
  NvmlReturn (*get_fan_speed)(NvmlDevice, unsigned*) = find("nvmlDeviceGetFanSpeed");
  NvmlReturn (*get_performance_state)(NvmlDevice, unsigned*) = find("nvmlDeviceGetPerformanceState");
  NvmlReturn (*get_memory_errors)(NvmlDevice, unsigned, unsigned,
                                  unsigned long long*) = find("nvmlDeviceGetTotalEccErrors");
  NvmlReturn (*create_events)(NvmlEventSet*) = find("nvmlEventSetCreate");
  NvmlReturn (*register_events)(NvmlDevice, unsigned long long, NvmlEventSet) = find("nvmlDeviceRegisterEvents");
  NvmlReturn (*wait_for_event)(NvmlEventSet, NvmlEvent*, unsigned) = find("nvmlEventSetWait_v2");
  NvmlReturn (*free_events)(NvmlEventSet) = find("nvmlEventSetFree");
  NvmlReturn (*get_process_utilization)(NvmlDevice, NvmlProcessShare*, unsigned*,
                                        unsigned long long) = find("nvmlDeviceGetProcessUtilization");
  NvmlReturn (*get_mig_mode)(NvmlDevice, unsigned*, unsigned*) = find("nvmlDeviceGetMigMode");
  NvmlReturn (*get_instance_limit)(NvmlDevice, unsigned*) = find("nvmlDeviceGetMaxMigDeviceCount");
  NvmlReturn (*get_instance)(NvmlDevice, unsigned, NvmlDevice*) = find("nvmlDeviceGetMigDeviceHandleByIndex");
  NvmlReturn (*get_instance_id)(NvmlDevice, unsigned*) = find("nvmlDeviceGetGpuInstanceId");
  NvmlReturn (*query_gpm)(NvmlDevice, NvmlGpmSupport*) = find("nvmlGpmQueryDeviceSupport");
  NvmlReturn (*allocate_gpm_sample)(NvmlGpmSample*) = find("nvmlGpmSampleAlloc");
  NvmlReturn (*free_gpm_sample)(NvmlGpmSample) = find("nvmlGpmSampleFree");
  NvmlReturn (*get_gpm_sample)(NvmlDevice, NvmlGpmSample) = find("nvmlGpmSampleGet");
  NvmlReturn (*get_mig_gpm_sample)(NvmlDevice, unsigned, NvmlGpmSample) = find("nvmlGpmMigSampleGet");
  NvmlReturn (*get_gpm_metrics)(NvmlGpmMetrics*) = find("nvmlGpmMetricsGet");
  const char* clock_reasons_name = find("nvmlDeviceGetCurrentClocksEventReasons").is_there()
                                       ? "nvmlDeviceGetCurrentClocksEventReasons"
                                       : "nvmlDeviceGetCurrentClocksThrottleReasons";  // until 2023
  NvmlReturn (*get_clock_reasons)(NvmlDevice, unsigned long long*) = find(clock_reasons_name);

 private:
  const char* (*error_string_)(NvmlReturn) = find("nvmlErrorString");
  NvmlReturn (*initialise_)() = find("nvmlInit_v2");
  NvmlReturn (*shut_down_)() = find("nvmlShutdown");
  pid_t process_ = 0;  // that initialised it; 0: none
};

}  // namespace kymo::sense
