// Sensors of one NVIDIA GPU. Their common part: a list of calls, each of which fills some metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/clock.hpp"
#include "sense/common/sensor.hpp"
#include "sense/gpu/nvml_library.hpp"
#include "sense/process/process_tree.hpp"

namespace kymo::sense {

/// The recorded process and its descendants, looked for a few times a second. Shared by all GPUs; thread-safe.
class GpuUsers {
 public:
  explicit GpuUsers(const SensorContext& context) : tree_(context) {}

  /// The sum over these processes of what each of them uses, by process ID; others use none. Nothing if the recorded
  /// process has ended, or not all processes are known.
  [[nodiscard]] std::optional<double> sum(const std::map<std::uint64_t, double>& by_process);

 private:
  std::mutex mutex_;  // guards the following members
  ProcessTree tree_;
  std::int64_t next_look_ns_ = 0;
  bool is_known_ = false;
};

class CriticalErrors;
class UnitActivity;

/// A part of a GPU that is shared out like a GPU of its own (MIG).
struct NvmlInstance {
  unsigned index = 0;         ///< among the instances of its GPU
  unsigned gpu_instance = 0;  ///< the driver's number
};

/// A GPU with the facts known from the start.
struct NvmlGpu {
  std::shared_ptr<const NvmlLibrary> nvml;
  unsigned index = 0;
  NvmlDevice device = nullptr;
  NvmlDevice whole = nullptr;            ///< the GPU, where `device` is an instance of it; else the same
  std::optional<NvmlInstance> instance;  ///< which instance of the GPU this is
  std::string name;
  std::string uuid;
  std::shared_ptr<GpuUsers> users;     ///< the processes whose memory is measured
  bool sees_all_processes = false;     ///< process IDs match the driver's
  bool has_memory_v2 = false;          ///< memory without the driver's reserve is available
  bool has_instant_power = false;      ///< current power is available, not just an average
  bool averages_power = false;         ///< nvmlDeviceGetPowerUsage is an average over a second
  std::int64_t now_ns = 0;             ///< CLOCK_MONOTONIC of the current read
  std::vector<NvmlProcess> processes;  ///< buffer for the list of processes
  std::shared_ptr<CriticalErrors> critical_errors;
  std::shared_ptr<UnitActivity> activity;
  std::function<std::int64_t()> cpu_clock = base::thread_cpu_ns;  ///< CPU time of the calling thread, ns
};

/// One metric of a call.
struct NvmlMetric {
  std::string_view name;
  std::string_view unit;
  MetricKind kind = MetricKind::gauge;
  double step = 0;
  std::int64_t window_ns = 0;
};

/// The result of a call.
struct NvmlValues {
  static constexpr std::size_t most = 4;
  double values[most] = {};     // NaN: unknown
  std::int64_t window_ns = -1;  // if the call reports it, else -1
  bool is_unchanged = false;    // it is too early for new values
};

/// A library call: one row of a table.
struct NvmlCall {
  std::string_view name;
  NvmlMetric metrics[NvmlValues::most];  // entries without a name are unused
  /// Makes the call. Returns not_supported if the library lacks it.
  NvmlReturn (*read)(NvmlGpu& gpu, NvmlValues& values);
};

/// Makes the calls of one tier. In the medium tier a call takes 1/250 of a core at most: a costlier one rests. On an
/// H200 the energy counter takes 4 ms of CPU, other calls take 0.05. A single slow call does not count: the driver
/// blocks others for tens of milliseconds while a program starts to use the GPU. If the GPU does not support a call at
/// the first attempt, the call is dropped. Any other error is a gap.
class NvmlSensor final : public Sensor {
 public:
  /// If the GPU has no handle yet, each read requests it.
  NvmlSensor(Tier tier, NvmlGpu gpu);

 protected:
  void read_source(std::int64_t now_ns) override;

 private:
  struct Row {
    NvmlCall call;
    std::size_t first_metric = 0;
    bool is_known = false;                   // it has succeeded and its metrics exist
    std::int64_t next_ns = 0;                // of a costly call: not before
    std::array<std::int64_t, 2> costs_ns{};  // of the calls before
    std::size_t cost_count = 0;
  };

  void list_calls();
  [[nodiscard]] NvmlReturn make_call(Row& row, NvmlValues& values);
  [[nodiscard]] static std::int64_t pause_after(Row& row, std::int64_t cost_ns);
  void list_facts();
  void add_metrics(Row& row, const NvmlValues& values);
  void store(const Row& row, const NvmlValues& values, std::int64_t now_ns);
  void report(std::string_view call, NvmlReturn error, bool all_failed);

  NvmlGpu gpu_;
  std::vector<Row> rows_;
  std::string_view reported_call_;
  NvmlReturn reported_ = NvmlReturn::success;
};

/// Whether an error means that there will never be a value.
[[nodiscard]] constexpr bool is_left_out(NvmlReturn result) {
  return result == NvmlReturn::not_supported || result == NvmlReturn::function_not_found;
}

/// Gets the handle of a GPU and the facts known from the start.
[[nodiscard]] NvmlReturn open_gpu(NvmlGpu& gpu);

/// Determines which calls for memory and power work: `has_memory_v2`, `has_instant_power` and `averages_power`.
void find_calls(NvmlGpu& gpu);

/// The call for memory.
[[nodiscard]] const NvmlCall& memory_call(const NvmlGpu& gpu);

/// The calls of a tier. PCIe counters are in the slow tier because each blocks its caller for 20 ms.
[[nodiscard]] std::vector<NvmlCall> nvml_calls(Tier tier, const NvmlGpu& gpu);

}  // namespace kymo::sense
