// The calls for an NVIDIA GPU that tell what its parts do: units, links, processes.
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "sense/gpu/nvml_extra_calls.hpp"

namespace kymo::sense {

namespace {

/// Totals since the driver was loaded, over all links.
NvmlReturn read_links(NvmlGpu& gpu, NvmlValues& values) {
  constexpr double kibibyte = 1024;
  const NvmlReturn sent = read_field(gpu, NvmlFieldValue::link_data_sent, NvmlFieldValue::all_links, values.values[0]);
  if (sent != NvmlReturn::success) {
    return sent;
  }
  const NvmlReturn received =
      read_field(gpu, NvmlFieldValue::link_data_received, NvmlFieldValue::all_links, values.values[1]);
  values.values[0] *= kibibyte;
  values.values[1] *= kibibyte;
  return received;
}

NvmlReturn read_units(NvmlGpu& gpu, NvmlValues& values) {
  if (gpu.activity == nullptr) {
    auto activity = std::make_shared<UnitActivity>(gpu.nvml);
    const NvmlReturn result = activity->begin(gpu);
    if (result != NvmlReturn::success) {
      return result;
    }
    gpu.activity = std::move(activity);
  }
  return gpu.activity->look(gpu, values);
}

constexpr std::int64_t share_window_us = 1'000'000;

NvmlReturn read_process_share(NvmlGpu& gpu, NvmlValues& values) {
  std::map<std::uint64_t, double> shares;
  const NvmlReturn result = read_process_shares(*gpu.nvml, gpu.device, shares);
  // In a container the driver knows processes by other numbers.
  const bool is_known = result == NvmlReturn::success && gpu.sees_all_processes;
  values.values[0] = is_known ? gpu.users->sum(shares).value_or(missing) : missing;
  return result;
}

const NvmlCall units{"nvmlGpmMetricsGet",
                     {{"gpu_sm_util", "%", MetricKind::gauge},
                      {"gpu_sm_occupancy", "%", MetricKind::gauge},
                      {"gpu_tensor_util", "%", MetricKind::gauge},
                      {"gpu_dram_util", "%", MetricKind::gauge}},
                     read_units};

}  // namespace

NvmlReturn read_process_shares(const NvmlLibrary& nvml, NvmlDevice device, std::map<std::uint64_t, double>& shares) {
  const auto function = nvml.get_process_utilization;
  if (function == nullptr) {
    return NvmlReturn::not_supported;
  }
  using std::chrono::duration_cast;
  const std::int64_t now_us =
      duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto since = static_cast<unsigned long long>(now_us - share_window_us);
  NvmlReturn result = NvmlReturn::insufficient_size;
  std::vector<NvmlProcessShare> samples;
  unsigned count = 0;
  // The first call only tells the number, which may grow between two calls.
  for (int attempt = 0; attempt < 4 && result == NvmlReturn::insufficient_size; ++attempt) {
    constexpr std::size_t most_samples = 65536;
    samples.resize(std::min<std::size_t>(most_samples, std::max<std::size_t>(count, samples.size())));
    count = static_cast<unsigned>(samples.size());
    result = function(device, count == 0 ? nullptr : samples.data(), &count, since);
  }
  if (result == NvmlReturn::not_found) {
    return NvmlReturn::success;  // no process has used the GPU since then
  }
  if (result != NvmlReturn::success) {
    return result;
  }
  std::map<std::uint64_t, unsigned> counts;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, samples.size()); ++i) {
    const NvmlProcessShare& sample = samples[i];
    constexpr unsigned most_percent = 100;
    if (sample.timestamp_us > since && sample.multiprocessors <= most_percent) {
      shares[sample.pid] += sample.multiprocessors;
      ++counts[sample.pid];
    }
  }
  for (auto& [pid, share] : shares) {
    share /= counts[pid];
  }
  return result;
}

UnitActivity::~UnitActivity() {
  if (!nvml_->is_of_this_process() || nvml_->free_gpm_sample == nullptr) {
    return;
  }
  for (const NvmlGpmSample sample : {before_, now_}) {
    if (sample != nullptr) {
      nvml_->free_gpm_sample(sample);
    }
  }
}

NvmlReturn UnitActivity::begin(const NvmlGpu& gpu) {
  const NvmlLibrary& nvml = *nvml_;
  if (nvml.query_gpm == nullptr || nvml.allocate_gpm_sample == nullptr || nvml.get_gpm_sample == nullptr ||
      nvml.get_gpm_metrics == nullptr || (gpu.instance && nvml.get_mig_gpm_sample == nullptr)) {
    return NvmlReturn::not_supported;
  }
  NvmlGpmSupport support{NvmlGpmSupport::version_1, 0};
  NvmlReturn result = nvml.query_gpm(gpu.whole, &support);
  if (result == NvmlReturn::success && support.is_supported == 0) {
    result = NvmlReturn::not_supported;
  }
  for (NvmlGpmSample* const sample : {&before_, &now_}) {
    result = result == NvmlReturn::success ? nvml.allocate_gpm_sample(sample) : result;
  }
  return result;
}

NvmlReturn UnitActivity::read(const NvmlGpu& gpu, NvmlGpmSample sample) const {
  return gpu.instance ? nvml_->get_mig_gpm_sample(gpu.whole, gpu.instance->gpu_instance, sample)
                      : nvml_->get_gpm_sample(gpu.device, sample);
}

NvmlReturn UnitActivity::look(const NvmlGpu& gpu, NvmlValues& values) {
  // The library asks for 100 ms between two readings; deadlines may come a little early.
  constexpr std::int64_t least_ns = 90'000'000;
  if (before_ns_ != 0 && gpu.now_ns - before_ns_ < least_ns) {
    values.is_unchanged = true;
    return NvmlReturn::success;
  }
  NvmlReturn result = read(gpu, now_);
  if (result != NvmlReturn::success) {
    before_ns_ = 0;
    return result;
  }
  std::fill_n(values.values, units, missing);
  if (before_ns_ != 0) {
    constexpr unsigned ids[units] = {2, 3, 5, 10};
    NvmlGpmMetrics metrics{};
    metrics.version = NvmlGpmMetrics::version_1;
    metrics.count = units;
    metrics.before = before_;
    metrics.now = now_;
    for (std::size_t i = 0; i < units; ++i) {
      metrics.metrics[i].id = ids[i];
    }
    result = nvml_->get_gpm_metrics(&metrics);
    for (std::size_t i = 0; i < units; ++i) {
      const NvmlGpmMetric& metric = metrics.metrics[i];
      // Counters are read one after the other, so that a share may come out a little above.
      constexpr double most_percent = 101;
      const bool is_share = metric.result == NvmlReturn::success && metric.value >= 0 && metric.value <= most_percent;
      values.values[i] = is_share ? std::min(metric.value, 100.0) : missing;
    }
  }
  before_ns_ = gpu.now_ns;
  std::swap(before_, now_);
  return result;
}

void add_activity_calls(Tier tier, std::vector<NvmlCall>& calls) {
  if (tier != Tier::medium) {
    return;
  }
  calls.push_back(units);
  calls.push_back({"nvmlDeviceGetFieldValues(NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _RX)",
                   {{"nvlink_tx", "B", MetricKind::counter, 1024}, {"nvlink_rx", "B", MetricKind::counter, 1024}},
                   read_links});
  calls.push_back({"nvmlDeviceGetProcessUtilization",
                   {{"gpu_process_util", "%", MetricKind::gauge, 0, share_window_us * 1000}},
                   read_process_share});
}

std::vector<NvmlCall> instance_calls(Tier tier, const NvmlGpu& gpu) {
  if (tier == Tier::fast) {
    return {memory_call(gpu)};
  }
  return tier == Tier::medium ? std::vector<NvmlCall>{units} : std::vector<NvmlCall>();
}

}  // namespace kymo::sense
