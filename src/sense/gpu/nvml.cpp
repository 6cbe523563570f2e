// NVIDIA GPUs by NVIDIA's management library. Sensors "nvml", one per GPU and tier.
#include "sense/gpu/nvml.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/system/system.hpp"
#include "base/text/number_text.hpp"
#include "sense/gpu/nvml_extra_calls.hpp"

namespace kymo::sense {

namespace {

/// The text that a call(text, size) writes; empty if it fails.
template <typename Call>
std::string text_from(const Call& call) {
  std::array<char, 128> text{};
  const NvmlReturn result = call(text.data(), static_cast<unsigned>(text.size()) - 1);
  return result == NvmlReturn::success ? text.data() : "";
}

std::string text_from(NvmlReturn (*function)(NvmlDevice, char*, unsigned), NvmlDevice device) {
  return function == nullptr ? std::string()
                             : text_from([&](char* text, unsigned size) { return function(device, text, size); });
}

}  // namespace

std::optional<double> GpuUsers::sum(const std::map<std::uint64_t, double>& by_process) {
  const std::lock_guard guard(mutex_);
  const std::int64_t now_ns = base::monotonic_now_ns();
  if (now_ns >= next_look_ns_) {
    is_known_ = tree_.look() && !tree_.is_cut();
    next_look_ns_ = now_ns + tree_.look_period_ns();
  }
  if (!is_known_) {
    return std::nullopt;
  }
  double sum = 0;
  for (const ProcessStat& process : tree_.processes()) {
    const auto found = by_process.find(process.pid);
    sum += found != by_process.end() ? found->second : 0;
  }
  return sum;
}

NvmlReturn open_gpu(NvmlGpu& gpu) {
  const NvmlLibrary& library = *gpu.nvml;
  NvmlReturn result = library.get_handle(gpu.index, &gpu.whole);
  gpu.device = gpu.whole;
  if (result == NvmlReturn::success && gpu.instance) {
    result = library.get_instance == nullptr ? NvmlReturn::not_supported
                                             : library.get_instance(gpu.whole, gpu.instance->index, &gpu.device);
  }
  if (result == NvmlReturn::success && gpu.instance && library.get_instance_id != nullptr) {
    result = library.get_instance_id(gpu.device, &gpu.instance->gpu_instance);
  }
  if (result != NvmlReturn::success) {
    gpu.device = nullptr;
    return result;
  }
  gpu.name = text_from(library.get_name, gpu.device);
  gpu.uuid = text_from(library.get_uuid, gpu.device);
  find_calls(gpu);
  return result;
}

NvmlSensor::NvmlSensor(Tier tier, NvmlGpu gpu) : Sensor("nvml", tier), gpu_(std::move(gpu)) {
  if (gpu_.device != nullptr) {
    list_calls();
  }
}

/// One of the GPU's sensors tells them.
void NvmlSensor::list_facts() {
  if (tier() != Tier::fast || gpu_.instance || !facts().empty()) {
    return;
  }
  const std::string prefix = "gpu." + std::to_string(gpu_.index) + ".";
  if (gpu_.nvml->get_driver_version != nullptr) {
    add_fact("gpu.driver", text_from(gpu_.nvml->get_driver_version));
  }
  add_fact(prefix + "name", gpu_.name);
  unsigned milliwatts = 0;
  const auto get_limit = gpu_.nvml->get_power_limit;
  if (get_limit != nullptr && get_limit(gpu_.device, &milliwatts) == NvmlReturn::success) {
    constexpr double per_watt = 1000;
    std::string watts;
    base::append_shortest_number(watts, milliwatts / per_watt);
    add_fact(prefix + "power_limit", watts + " W");
  }
}

void NvmlSensor::list_calls() {
  list_facts();
  for (const NvmlCall& call : gpu_.instance ? instance_calls(tier(), gpu_) : nvml_calls(tier(), gpu_)) {
    rows_.push_back({call});
  }
}

void NvmlSensor::add_metrics(Row& row, const NvmlValues& values) {
  row.is_known = true;
  row.first_metric = metrics().size();
  for (const NvmlMetric& each : row.call.metrics) {
    if (each.name.empty()) {
      break;
    }
    MetricDeclaration metric = describe(each.name, each.unit, row.call.name, each.kind, each.step);
    metric.window_ns = values.window_ns >= 0 ? values.window_ns : each.window_ns;
    metric.labels.emplace_back("gpu", std::to_string(gpu_.index));
    if (gpu_.instance) {
      metric.labels.emplace_back("mig", std::to_string(gpu_.instance->index));
    }
    if (!gpu_.uuid.empty()) {
      metric.labels.emplace_back("uuid", gpu_.uuid);
    }
    add_metric(std::move(metric));
  }
}

void NvmlSensor::store(const Row& row, const NvmlValues& values, std::int64_t now_ns) {
  for (std::size_t i = 0; i < NvmlValues::most && !row.call.metrics[i].name.empty() && !values.is_unchanged; ++i) {
    const double value = values.values[i];
    if (row.next_ns > now_ns) {
      set_renewal(row.first_metric + i, row.next_ns - now_ns);
    }
    if (std::isfinite(value)) {
      set_renewing(row.first_metric + i, value, now_ns);
    } else {
      set(row.first_metric + i, missing);
    }
  }
}

void NvmlSensor::report(std::string_view call, NvmlReturn error, bool all_failed) {
  if (!all_failed && error == reported_ && call == reported_call_ && !trouble().empty()) {
    return;
  }
  reported_ = error;
  reported_call_ = call;
  std::string reason =
      "GPU " + std::to_string(gpu_.index) + ": " + std::string(call) + ": " + gpu_.nvml->describe(error);
  std::string advice =
      error == NvmlReturn::gpu_is_lost ? "the driver has lost the GPU: see dmesg; a restart brings it back" : "";
  if (all_failed) {
    set_unavailable(std::move(reason), std::move(advice));
  } else {
    set_trouble(std::move(reason), std::move(advice));
  }
}

/// How long a call rests: by the median cost of the last three calls, of two by the cheaper one. After the first it
/// rests for at most a second.
std::int64_t NvmlSensor::pause_after(Row& row, std::int64_t cost_ns) {
  constexpr std::int64_t least_pause = 250;
  constexpr std::int64_t cheap_ns = 100'000;
  constexpr std::int64_t most_after_first_ns = 1'000'000'000;
  const auto [older_ns, last_ns] = row.costs_ns;
  row.costs_ns = {last_ns, cost_ns};
  std::int64_t typical_ns = cost_ns;
  if (row.cost_count == 1) {
    typical_ns = std::min(last_ns, cost_ns);
  } else if (row.cost_count > 1) {
    typical_ns = std::max(std::min(older_ns, last_ns), std::min(std::max(older_ns, last_ns), cost_ns));
  }
  const std::int64_t pause_ns = typical_ns > cheap_ns ? least_pause * typical_ns : 0;
  return row.cost_count++ == 0 ? std::min(pause_ns, most_after_first_ns) : pause_ns;
}

NvmlReturn NvmlSensor::make_call(Row& row, NvmlValues& values) {
  const std::int64_t before_ns = gpu_.cpu_clock();
  const NvmlReturn result = row.call.read(gpu_, values);
  if (tier() == Tier::medium) {
    row.next_ns = gpu_.now_ns + pause_after(row, gpu_.cpu_clock() - before_ns);
  }
  return result;
}

void NvmlSensor::read_source(std::int64_t now_ns) {
  if (!gpu_.nvml->is_of_this_process()) {
    set_unavailable("NVML cannot be used in a forked process");
    return;
  }
  if (gpu_.device == nullptr) {
    const NvmlReturn result = open_gpu(gpu_);
    if (result != NvmlReturn::success) {
      report("nvmlDeviceGetHandleByIndex_v2", result, true);
      return;
    }
    list_calls();
  }
  gpu_.now_ns = now_ns;
  std::string_view failed;
  NvmlReturn error = NvmlReturn::success;
  std::size_t calls = 0;
  std::size_t failures = 0;
  for (auto row = rows_.begin(); row != rows_.end();) {
    if (now_ns < row->next_ns) {
      ++row;
      continue;
    }
    NvmlValues values;
    const NvmlReturn result = make_call(*row, values);
    ++calls;
    if (!row->is_known && is_left_out(result)) {
      row = rows_.erase(row);
      --calls;
      continue;
    }
    if (result == NvmlReturn::success) {
      if (!row->is_known) {
        add_metrics(*row, values);
      }
      store(*row, values, now_ns);
    } else {
      if (row->is_known) {
        store(*row, {{missing, missing, missing, missing}}, now_ns);
      }
      if (failures++ == 0) {
        error = result;
        failed = row->call.name;
      }
    }
    ++row;
  }
  if (rows_.empty()) {
    set_unavailable("GPU " + std::to_string(gpu_.index) + " has none of the readings of this rate");
  } else if (failures > 0) {
    report(failed, error, failures == calls);
  } else {
    clear_trouble();
  }
}

namespace {

/// The parts that a GPU is shared out in, as they are now.
void add_instances(const NvmlGpu& whole, SensorList& list) {
  const NvmlLibrary& library = *whole.nvml;
  unsigned is_shared_out = 0;
  unsigned is_later = 0;
  unsigned most = 0;
  if (whole.device == nullptr || library.get_mig_mode == nullptr || library.get_instance_limit == nullptr ||
      library.get_mig_mode(whole.device, &is_shared_out, &is_later) != NvmlReturn::success || is_shared_out == 0 ||
      library.get_instance_limit(whole.device, &most) != NvmlReturn::success) {
    return;
  }
  constexpr unsigned most_instances = 64;
  for (unsigned index = 0; index < std::min(most, most_instances); ++index) {
    NvmlGpu gpu = whole;
    gpu.instance = NvmlInstance{index, 0};
    // Instances need not be numbered without gaps.
    if (open_gpu(gpu) == NvmlReturn::success) {
      list.push_back(std::make_unique<NvmlSensor>(Tier::fast, gpu));
      list.push_back(std::make_unique<NvmlSensor>(Tier::medium, gpu));
    }
  }
}

}  // namespace

void make_nvml_sensors(const SensorContext& context, SensorList& list) {
  const auto none = [&list](std::string why, std::string advice = {}) {
    list.push_back(std::make_unique<AbsentSensor>("nvml", Tier::fast, std::move(why), std::move(advice)));
  };
  if (!context.root.empty() && context.nvml_library == SensorContext::default_nvml_library) {
    none("the GPUs of this machine are not those of " + context.root);
    return;
  }
  std::string why;
  std::string advice;
  const std::shared_ptr<const NvmlLibrary> library = NvmlLibrary::open(context.nvml_library, why, advice);
  if (library == nullptr) {
    none(std::move(why), std::move(advice));
    return;
  }
  unsigned count = 0;
  if (const NvmlReturn result = library->get_count(&count); result != NvmlReturn::success) {
    none("nvmlDeviceGetCount_v2: " + library->describe(result));
    return;
  }
  if (count == 0) {
    none("NVIDIA's driver has no GPU");
    return;
  }
  const auto users = std::make_shared<GpuUsers>(context);
  SensorList instances;
  constexpr unsigned most_gpus = 256;
  for (unsigned index = 0; index < std::min(count, most_gpus); ++index) {
    NvmlGpu gpu;
    gpu.nvml = library;
    gpu.index = index;
    gpu.users = users;
    gpu.cpu_clock = context.cpu_clock;
    // Driver and process agree on process IDs only outside of containers.
    gpu.sees_all_processes = base::pid_namespace() == base::first_pid_namespace;
    // If the handle is unavailable, the sensors request it again.
    (void)open_gpu(gpu);
    for (const Tier tier : {Tier::fast, Tier::medium, Tier::slow}) {
      list.push_back(std::make_unique<NvmlSensor>(tier, gpu));
    }
    add_instances(gpu, instances);
  }
  std::move(instances.begin(), instances.end(), std::back_inserter(list));
}

}  // namespace kymo::sense
