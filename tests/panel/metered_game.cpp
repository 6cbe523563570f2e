#include "metered_game.hpp"

namespace kymo::test {

std::vector<EventBatch> metered_game() {
  std::vector<EventBatch> batches = Game().batches();
  const auto add = [&batches](MetricId id, const char* name, const char* source, bool changes) {
    MetricDeclaration metric;
    metric.id = id;
    metric.name = name;
    metric.source = source;
    batches.front().declarations.metrics.push_back(metric);
    for (EventBatch& batch : batches) {
      SampleRun& run = batch.samples.emplace_back();
      run.metric = id;
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

}  // namespace kymo::test
