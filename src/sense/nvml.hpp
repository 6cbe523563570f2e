// Sensors of one NVIDIA GPU. What they have in common: a list of calls, each of which fills some metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sense/nvml_library.hpp"
#include "sense/sensor.hpp"

namespace kymo::sense {

/// A GPU, and what is known of it from the start.
struct NvmlGpu {
  std::shared_ptr<const NvmlLibrary> nvml;
  unsigned index = 0;
  NvmlDevice device = nullptr;
  std::string name;
  std::string uuid;
  std::uint64_t process = 0;           ///< whose memory is looked for
  bool sees_all_processes = false;     ///< process ids are those that the driver knows
  bool has_memory_v2 = false;          ///< memory without what the driver reserves is known
  bool has_instant_power = false;      ///< power is known as it is now, not only on average
  bool averages_power = false;         ///< nvmlDeviceGetPowerUsage is an average over a second
  std::vector<NvmlProcess> processes;  ///< room for a list of them
};

/// One metric of a call.
struct NvmlMetric {
  std::string_view name;
  std::string_view unit;
  MetricKind kind = MetricKind::gauge;
  double step = 0;
  std::int64_t window_ns = 0;
};

/// What a call gave.
struct NvmlValues {
  static constexpr std::size_t most = 3;
  double values[most] = {};     // NaN: nothing can be said
  std::int64_t window_ns = -1;  // where the call says it, else -1
};

/// A call of the library. A row of a table.
struct NvmlCall {
  std::string_view name;
  NvmlMetric metrics[NvmlValues::most];  // those without a name are none
  /// Makes the call; not_supported where the library lacks it.
  NvmlReturn (*read)(NvmlGpu& gpu, NvmlValues& values);
};

/// Makes calls of one tier. What a GPU says it does not support, at the first time, is left out from then on; any other
/// error is a gap.
class NvmlSensor final : public Sensor {
 public:
  /// Of a GPU that has no handle yet, it is asked for at each read.
  NvmlSensor(Tier tier, NvmlGpu gpu);

 protected:
  void read_source(std::int64_t now_ns) override;

 private:
  struct Row {
    NvmlCall call;
    std::size_t first_metric = 0;
    bool is_known = false;  // it has worked, and its metrics are there
  };

  void list_calls();
  void add_metrics(Row& row, const NvmlValues& values);
  void store(const Row& row, const NvmlValues& values, std::int64_t now_ns);
  void report(std::string_view call, NvmlReturn error, bool all_failed);

  NvmlGpu gpu_;
  std::vector<Row> rows_;
  std::string_view reported_call_;
  NvmlReturn reported_ = NvmlReturn::success;
};

/// Whether an error says that there will never be a value.
[[nodiscard]] constexpr bool is_left_out(NvmlReturn result) {
  return result == NvmlReturn::not_supported || result == NvmlReturn::function_not_found;
}

/// Gets the handle of a GPU and what else is known from the start.
[[nodiscard]] NvmlReturn open_gpu(NvmlGpu& gpu);

/// Finds out which of the calls for memory and power tell something: `has_memory_v2`, `has_instant_power` and
/// `averages_power`.
void find_calls(NvmlGpu& gpu);

/// The calls of a tier. PCIe counters are in the slow one: each keeps its caller waiting for 20 ms.
[[nodiscard]] std::vector<NvmlCall> nvml_calls(Tier tier, const NvmlGpu& gpu);

}  // namespace kymo::sense
