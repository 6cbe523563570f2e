// The calls for an NVIDIA GPU, by tier.
#include <algorithm>
#include <map>

#include "sense/gpu/nvml_extra_calls.hpp"

namespace kymo::sense {

namespace {

constexpr std::int64_t average_window_ns = 1'000'000'000;  // of the power that the driver averages
constexpr double most_percent = 100;

double valid_percent(unsigned value) {
  return value <= most_percent ? static_cast<double>(value) : missing;
}

/// The share of time in which anything ran, and that in which memory was read or written.
NvmlReturn read_utilization(NvmlGpu& gpu, NvmlValues& values) {
  NvmlUtilization utilization{};
  const NvmlReturn result = call(gpu.nvml->get_utilization, gpu.device, &utilization);
  values.values[0] = valid_percent(utilization.gpu);
  values.values[1] = valid_percent(utilization.memory);
  return result;
}

/// Excludes the driver's reserve.
NvmlReturn read_memory_v2(NvmlGpu& gpu, NvmlValues& values) {
  NvmlMemoryV2 memory{};
  memory.version = NvmlMemoryV2::version_2;
  const NvmlReturn result = call(gpu.nvml->get_memory_v2, gpu.device, &memory);
  values.values[0] = static_cast<double>(memory.used);
  values.values[1] = static_cast<double>(memory.total);
  return result;
}

NvmlReturn read_memory(NvmlGpu& gpu, NvmlValues& values) {
  NvmlMemory memory{};
  const NvmlReturn result = call(gpu.nvml->get_memory, gpu.device, &memory);
  values.values[0] = static_cast<double>(memory.used);
  values.values[1] = static_cast<double>(memory.total);
  return result;
}

double number_of(const NvmlFieldValue& field) {
  switch (field.type) {
    case 0:
      return field.value.as_double;
    case 1:
      return field.value.as_unsigned;
    case 2:
    case 3:
      return static_cast<double>(field.value.as_unsigned_long);
    case 4:
      return static_cast<double>(field.value.as_long);
    case 5:
      return field.value.as_int;
    default:
      return missing;
  }
}

template <unsigned id>
NvmlReturn read_power_field(NvmlGpu& gpu, NvmlValues& values) {
  const NvmlReturn result = read_field(gpu, id, 0, values.values[0]);
  values.values[0] /= 1000;
  return result;
}

NvmlReturn read_temperature(NvmlGpu& gpu, NvmlValues& values) {
  constexpr unsigned of_the_chip = 0;
  unsigned degrees = 0;
  const NvmlReturn result = call(gpu.nvml->get_temperature, gpu.device, of_the_chip, &degrees);
  constexpr unsigned most_degrees = 1000;
  values.values[0] = degrees <= most_degrees ? degrees : missing;
  return result;
}

constexpr unsigned sm_clock = 1;
constexpr unsigned memory_clock = 2;

template <unsigned type>
NvmlReturn read_clock(NvmlGpu& gpu, NvmlValues& values) {
  unsigned megahertz = 0;
  const NvmlReturn result = call(gpu.nvml->get_clock, gpu.device, type, &megahertz);
  values.values[0] = megahertz;
  return result;
}

NvmlReturn read_pcie(NvmlGpu& gpu, NvmlValues& values) {
  const auto function = gpu.nvml->get_pcie_throughput;
  if (function == nullptr) {
    return NvmlReturn::not_supported;
  }
  for (const unsigned direction : {0U, 1U}) {
    unsigned kilobytes = 0;
    const NvmlReturn result = function(gpu.device, direction, &kilobytes);
    if (result != NvmlReturn::success) {
      return result;
    }
    values.values[direction + 1] = kilobytes * 1000.0;
  }
  values.values[0] = values.values[1] + values.values[2];
  return NvmlReturn::success;
}

template <auto function>
NvmlReturn read_codec(NvmlGpu& gpu, NvmlValues& values) {
  unsigned utilization = 0;
  unsigned period_us = 0;
  const NvmlReturn result = call((*gpu.nvml).*function, gpu.device, &utilization, &period_us);
  values.values[0] = valid_percent(utilization);
  values.window_ns = std::int64_t{period_us} * 1000;
  return result;
}

/// Adds a list's processes with their memory in bytes; NaN: unknown.
NvmlReturn list_processes(NvmlGpu& gpu, NvmlReturn (*function)(NvmlDevice, unsigned*, NvmlProcess*),
                          std::map<std::uint64_t, double>& bytes) {
  if (function == nullptr) {
    return NvmlReturn::not_supported;
  }
  constexpr std::size_t most_processes = 65536;
  NvmlReturn result = NvmlReturn::insufficient_size;
  auto count = static_cast<unsigned>(gpu.processes.size());
  // The list may grow between two calls.
  for (int attempt = 0; attempt < 4 && result == NvmlReturn::insufficient_size; ++attempt) {
    count = static_cast<unsigned>(gpu.processes.size());
    result = function(gpu.device, &count, gpu.processes.data());
    if (result == NvmlReturn::insufficient_size) {
      gpu.processes.resize(std::min(most_processes, std::max<std::size_t>(count, gpu.processes.size()) + 16));
    }
  }
  if (result != NvmlReturn::success) {
    return result;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(count, gpu.processes.size()); ++i) {
    const NvmlProcess& process = gpu.processes[i];
    const bool is_known = process.used_memory != NvmlProcess::memory_unknown;
    double& sum = bytes[process.pid];
    sum = is_known ? std::max(sum, static_cast<double>(process.used_memory)) : missing;
  }
  return result;
}

/// The memory of the recorded process tree. A process in no list uses none. One that computes and draws is in both
/// lists, each time with all that it uses. In a container the driver knows processes by other numbers.
NvmlReturn read_process_memory(NvmlGpu& gpu, NvmlValues& values) {
  std::map<std::uint64_t, double> bytes;
  const NvmlReturn result = list_processes(gpu, gpu.nvml->get_compute_processes, bytes);
  if (result != NvmlReturn::success) {
    return result;
  }
  const NvmlReturn graphics = list_processes(gpu, gpu.nvml->get_graphics_processes, bytes);
  const bool is_whole = graphics == NvmlReturn::success && gpu.sees_all_processes;
  values.values[0] = is_whole ? gpu.users->sum(bytes).value_or(missing) : missing;
  return NvmlReturn::success;
}

constexpr NvmlMetric power_now{"gpu_power", "W", MetricKind::gauge, 0.001, 0};

const NvmlCall memory_usage{"nvmlDeviceGetMemoryInfo", {{"gpu_mem", "B"}, {"gpu_mem_total", "B"}}, read_memory};

const NvmlCall memory_usage_v2{
    "nvmlDeviceGetMemoryInfo_v2", {{"gpu_mem", "B"}, {"gpu_mem_total", "B"}}, read_memory_v2};

const NvmlCall instant_power{"nvmlDeviceGetFieldValues(NVML_FI_DEV_POWER_INSTANT)",
                             {power_now},
                             read_power_field<NvmlFieldValue::power_instant>};

NvmlCall power_usage(std::string_view metric, std::int64_t window_ns) {
  return {"nvmlDeviceGetPowerUsage",
          {{metric, "W", MetricKind::gauge, 0.001, window_ns}},
          read_number<&NvmlLibrary::get_power, 1000>};
}

/// Whether one of the words of a GPU's name is a product with the chip GA100.
bool has_ga100(std::string_view name) {
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of(" -"));
    name.remove_prefix(std::min(name.size(), word.size() + 1));
    if (word == "A100" || word == "A800" || word == "A30") {
      return true;
    }
  }
  return false;
}

}  // namespace

NvmlReturn read_field(const NvmlGpu& gpu, unsigned id, unsigned scope, double& value) {
  if (gpu.nvml->get_fields == nullptr) {
    return NvmlReturn::not_supported;
  }
  NvmlFieldValue field{};
  field.field = id;
  field.scope = scope;
  const NvmlReturn result = gpu.nvml->get_fields(gpu.device, 1, &field);
  value = number_of(field);
  if (result == NvmlReturn::success && field.result == NvmlReturn::invalid_argument) {
    return NvmlReturn::not_supported;  // the driver is older than the field
  }
  return result == NvmlReturn::success ? field.result : result;
}

const NvmlCall& memory_call(const NvmlGpu& gpu) {
  return gpu.has_memory_v2 ? memory_usage_v2 : memory_usage;
}

void find_calls(NvmlGpu& gpu) {
  NvmlValues unused;
  const NvmlReturn memory_v2 = read_memory_v2(gpu, unused);
  gpu.has_memory_v2 = !is_left_out(memory_v2) && memory_v2 != NvmlReturn::version_mismatch;
  gpu.has_instant_power = !is_left_out(read_power_field<NvmlFieldValue::power_instant>(gpu, unused));
  constexpr unsigned ampere = 7;
  unsigned architecture = 0;
  const auto function = gpu.nvml->get_architecture;
  const bool is_known = function != nullptr && function(gpu.device, &architecture) == NvmlReturn::success;
  constexpr unsigned unknown_architecture = ~0U;
  gpu.averages_power =
      is_known && architecture >= ampere && architecture != unknown_architecture && !has_ga100(gpu.name);
}

// Cheap and fast-changing values are in the fast tier. A PCIe counter watches the bus for 20 ms while its caller waits,
// twice, so it is in the slow tier only.
std::vector<NvmlCall> nvml_calls(Tier tier, const NvmlGpu& gpu) {
  constexpr std::int64_t pcie_window_ns = 20'000'000;
  constexpr MetricKind gauge = MetricKind::gauge;
  const std::int64_t power_window_ns = gpu.averages_power ? average_window_ns : 0;
  switch (tier) {
    case Tier::fast:
      return {{"nvmlDeviceGetUtilizationRates",
               {{"gpu_util", "%", gauge, 1}, {"gpu_mem_util", "%", gauge, 1}},
               read_utilization},
              memory_call(gpu),
              gpu.has_instant_power ? instant_power : power_usage("gpu_power", power_window_ns)};
    case Tier::medium: {
      std::vector<NvmlCall> calls{
          {"nvmlDeviceGetTotalEnergyConsumption",
           {{"gpu_energy", "J", MetricKind::energy_counter, 0.001}},
           read_number<&NvmlLibrary::get_energy, 1000>},
          {"nvmlDeviceGetTemperature", {{"gpu_temp", "C", gauge, 1}}, read_temperature},
          {"nvmlDeviceGetClockInfo(NVML_CLOCK_SM)", {{"gpu_clock", "MHz", gauge, 1}}, read_clock<sm_clock>},
          {"nvmlDeviceGetClockInfo(NVML_CLOCK_MEM)", {{"gpu_mem_clock", "MHz", gauge, 1}}, read_clock<memory_clock>},
          {"nvmlDeviceGetEncoderUtilization", {{"gpu_encoder", "%", gauge, 1}}, read_codec<&NvmlLibrary::get_encoder>},
          {"nvmlDeviceGetDecoderUtilization", {{"gpu_decoder", "%", gauge, 1}}, read_codec<&NvmlLibrary::get_decoder>},
          // One bit for each reason that limits the clocks: 0x1 idle, 0x4 power cap, 0x8 hardware slowdown, 0x20
          // software thermal, 0x40 hardware thermal, 0x80 power brake.
          {gpu.nvml->clock_reasons_name,
           {{"gpu_throttle", "", gauge, 1}},
           read_number<&NvmlLibrary::get_clock_reasons>},
          {"nvmlDeviceGetComputeRunningProcesses_v3", {{"gpu_process_mem", "B"}}, read_process_memory}};
      if (gpu.has_instant_power) {
        calls.push_back({"nvmlDeviceGetFieldValues(NVML_FI_DEV_POWER_AVERAGE)",
                         {{"gpu_power_average", "W", gauge, 0.001, average_window_ns}},
                         read_power_field<NvmlFieldValue::power_average>});
      }
      add_health_calls(tier, calls);
      add_activity_calls(tier, calls);
      return calls;
    }
    case Tier::slow: {
      std::vector<NvmlCall> calls{{"nvmlDeviceGetPcieThroughput",
                                   {{"pcie", "B/s", gauge, 1000, pcie_window_ns},
                                    {"pcie_tx", "B/s", gauge, 1000, pcie_window_ns},
                                    {"pcie_rx", "B/s", gauge, 1000, pcie_window_ns}},
                                   read_pcie}};
      add_health_calls(tier, calls);
      return calls;
    }
  }
  return {};
}

}  // namespace kymo::sense
