// The calls for an NVIDIA GPU beyond load, memory, power and clocks, and what they keep between two reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sense/gpu/nvml.hpp"

namespace kymo::sense {

/// Calls a function of the library; not_supported if the library lacks it.
template <typename... Parameters, typename... Arguments>
[[nodiscard]] NvmlReturn call(NvmlReturn (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? NvmlReturn::not_supported : function(arguments...);
}

/// Reads a number of a GPU, in units of which `per_unit` are one of the metric's. More than `most` is garbage.
template <typename Number>
[[nodiscard]] NvmlReturn number_from(NvmlReturn (*function)(NvmlDevice, Number*), NvmlDevice device, double per_unit,
                                     std::uint64_t most, double& value) {
  Number number = 0;
  const NvmlReturn result = call(function, device, &number);
  value = number <= most ? static_cast<double>(number) / per_unit : missing;
  return result;
}
/// The same as a row's function, by a function of the library.
template <auto function, unsigned per_unit = 1, std::uint64_t most = ~std::uint64_t{0}>
[[nodiscard]] NvmlReturn read_number(NvmlGpu& gpu, NvmlValues& values) {
  return number_from((*gpu.nvml).*function, gpu.device, per_unit, most, values.values[0]);
}

/// Reads one field of a GPU. `scope` is a link, or all_links for their sum. Returns not_supported if the driver is
/// older than the field.
[[nodiscard]] NvmlReturn read_field(const NvmlGpu& gpu, unsigned id, unsigned scope, double& value);

/// What the driver has sampled of each process of a GPU within the last second: the mean of its shares in percent.
/// Empty if none has used it.
[[nodiscard]] NvmlReturn read_process_shares(const NvmlLibrary& nvml, NvmlDevice device,
                                             std::map<std::uint64_t, double>& shares);

/// The driver's critical errors (XID) of one GPU since begin().
class CriticalErrors {
 public:
  explicit CriticalErrors(std::shared_ptr<const NvmlLibrary> nvml) : nvml_(std::move(nvml)) {}
  CriticalErrors(const CriticalErrors&) = delete;
  CriticalErrors& operator=(const CriticalErrors&) = delete;
  ~CriticalErrors();

  [[nodiscard]] NvmlReturn begin(NvmlDevice device);
  /// Takes the errors since the last look. Does not wait.
  [[nodiscard]] NvmlReturn look();
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The number of the last error; NaN: none yet.
  [[nodiscard]] double last() const { return last_; }

 private:
  std::shared_ptr<const NvmlLibrary> nvml_;
  NvmlEventSet set_ = nullptr;
  std::uint64_t count_ = 0;
  double last_ = missing;
};

/// Counters of the GPU's units, of which two readings give what ran in between (GPM, from Hopper on).
class UnitActivity {
 public:
  static constexpr std::size_t units = 4;  ///< multiprocessors busy, their warps, tensor cores, memory

  explicit UnitActivity(std::shared_ptr<const NvmlLibrary> nvml) : nvml_(std::move(nvml)) {}
  UnitActivity(const UnitActivity&) = delete;
  UnitActivity& operator=(const UnitActivity&) = delete;
  ~UnitActivity();

  [[nodiscard]] NvmlReturn begin(const NvmlGpu& gpu);
  /// Reads the counters. If the last reading was long enough ago, sets the shares since then in percent, else
  /// marks the values as unchanged.
  [[nodiscard]] NvmlReturn look(const NvmlGpu& gpu, NvmlValues& values);

 private:
  [[nodiscard]] NvmlReturn read(const NvmlGpu& gpu, NvmlGpmSample sample) const;

  std::shared_ptr<const NvmlLibrary> nvml_;
  NvmlGpmSample before_ = nullptr;
  NvmlGpmSample now_ = nullptr;
  std::int64_t before_ns_ = 0;  // 0: not yet read
};

/// Fan, memory temperature, power limit, P-state and errors.
void add_health_calls(Tier tier, std::vector<NvmlCall>& calls);
/// Units, links, and the share of the recorded processes.
void add_activity_calls(Tier tier, std::vector<NvmlCall>& calls);
/// What is known of a part of a GPU (MIG instance).
[[nodiscard]] std::vector<NvmlCall> instance_calls(Tier tier, const NvmlGpu& gpu);

}  // namespace kymo::sense
