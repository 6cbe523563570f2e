#include "metered_game.hpp"

#include <string>

namespace kymo::test {

std::vector<EventBatch> metered_game() {
  std::vector<EventBatch> batches = Game().batches();
  const auto add = [&batches](std::uint32_t id, const char* name, const char* source, bool changes) {
    MetricDeclaration metric;
    metric.id = MetricId{id};
    metric.name = name;
    metric.source = source;
    batches.front().declarations.metrics.push_back(metric);
    for (EventBatch& batch : batches) {
      SampleRun& run = batch.samples.emplace_back();
      run.metric = MetricId{id};
      for (std::size_t i = 0; i < batch.frame_marks.size(); ++i) {
        run.times_ns.push_back(batch.frame_marks[i].time_ns);
        run.values.push_back(changes ? static_cast<double>(i) : 7);
      }
    }
  };
  add(2, "disk_read", "/proc/diskstats", true);
  add(3, "gpu_clock", "NVML", false);
  add(4, "gpu_load", "NVML", true);
  add(5, "cpu_util", "/proc/stat", true);
  add(6, "frame_ms", "", true);
  add(7, "speed", "", false);
  return batches;
}

std::vector<EventBatch> many_cores_game() {
  std::vector<EventBatch> batches = Game().batches();
  std::uint32_t id = 2;
  const auto add = [&](const char* name, const char* unit, const char* source, const std::string& core, double value,
                       double more) {
    MetricDeclaration metric;
    metric.id = MetricId{id};
    metric.name = name;
    metric.unit = unit;
    metric.source = source;
    if (!core.empty()) {
      metric.labels.emplace_back("core", core);
    }
    batches.front().declarations.metrics.push_back(metric);
    for (EventBatch& batch : batches) {
      SampleRun& run = batch.samples.emplace_back();
      run.metric = MetricId{id};
      for (std::size_t i = 0; i < batch.frame_marks.size(); ++i) {
        run.times_ns.push_back(batch.frame_marks[i].time_ns);
        run.values.push_back(value + more * static_cast<double>(i % 2));
      }
    }
    ++id;
  };
  constexpr int cores = 64;
  add("cpu_util", "%", "/proc/stat", "", 3, 1);
  for (int core = 0; core < cores; ++core) {
    add("cpu_util", "%", "/proc/stat", std::to_string(core), core == 9 ? 90 : core % 3, 10);
  }
  for (int core = 0; core < cores; ++core) {
    add("cpu_clock", "MHz", "/proc/cpuinfo", std::to_string(core), 2600, 0);
  }
  add("gpu_load", "%", "NVML", "", 40, 5);
  add("gpu_power", "W", "NVML", "", 200, 5);
  add("cpu_power", "W", "intel-rapl", "", 100, 5);
  add("speed", "", "", "", 1, 1);
  return batches;
}

}  // namespace kymo::test
