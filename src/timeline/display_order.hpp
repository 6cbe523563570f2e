// The order in which every view shows tracks and metrics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::timeline {

/// Ascending: the main threads of processes, other threads, fibers, locks, queues, async lanes; each by id, which is
/// the order of their first events.
[[nodiscard]] inline std::uint64_t track_rank(const TrackDeclaration& track,
                                              const std::vector<ProcessDeclaration>& processes) {
  const bool is_main = std::any_of(processes.begin(), processes.end(), [&track](const ProcessDeclaration& process) {
    return process.id == track.process && track.kind == TrackKind::thread && track.role == TrackRole::plain &&
           track.os_thread_id != 0 && track.os_thread_id == process.pid;
  });
  const std::uint64_t kind = is_main                           ? 0
                             : track.role == TrackRole::fiber  ? 2
                             : track.role == TrackRole::lock   ? 3
                             : track.kind == TrackKind::thread ? 1
                             : track.kind == TrackKind::queue  ? 4
                                                               : 5;
  return (kind << 32U) | track.id.value();
}

/// What a metric is about, in the order of the views. The program's own metrics come first.
enum class MetricSubject : std::uint8_t { program, frame_time, cpu, gpu, power, cores, machine };

[[nodiscard]] inline MetricSubject subject_of(const MetricDeclaration& metric) {
  const auto begins_with = [&metric](std::string_view part) { return metric.name.compare(0, part.size(), part) == 0; };
  if (metric.name == "frame_ms") {
    return MetricSubject::frame_time;
  }
  if (metric.source.empty()) {
    return MetricSubject::program;
  }
  if (begins_with("cpu_util") || begins_with("process_cpu") || begins_with("cpu_total")) {
    // Those of single cores are many.
    return metric.labels.empty() ? MetricSubject::cpu : MetricSubject::cores;
  }
  if (begins_with("gpu")) {
    return MetricSubject::gpu;
  }
  return metric.unit == "W" || metric.unit == "J" ? MetricSubject::power : MetricSubject::machine;
}

/// Whether views fold a metric that does not change: it is sampled from the machine.
[[nodiscard]] inline bool folds_if_constant(const MetricDeclaration& metric) {
  const MetricSubject subject = subject_of(metric);
  return subject != MetricSubject::program && subject != MetricSubject::frame_time;
}

}  // namespace kymo::timeline
