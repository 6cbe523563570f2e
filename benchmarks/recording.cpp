#include "recording.hpp"

#include <stdexcept>

#include <kymo/capture.hpp>
#include <kymo/recorder.hpp>

namespace kymo::benchmarks {

namespace {

bool is_added_by_recorder(const Declarations& declarations, MetricId id) {
  for (const MetricDeclaration& metric : declarations.metrics) {
    if (metric.id == id) {
      return metric.name == "frame_ms" || metric.name == "memory_mb";
    }
  }
  return false;
}

void count_events(const CaptureReader& capture, Recorded& recorded) {
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind != BlockKind::events || !capture.read(block, batch)) {
      continue;
    }
    for (const ScopeRun& run : batch.runs) {
      recorded.arguments += run.arguments.size();
    }
    recorded.frame_marks += batch.frame_marks.size();
    for (const SampleRun& run : batch.samples) {
      recorded.samples += is_added_by_recorder(capture.declarations(), run.metric) ? 0 : run.values.size();
    }
  }
}

}  // namespace

Recording::Recording() {
  CaptureOptions options;
  options.path = folder_.file("run.kymo");
  if (!start_capture(options)) {
    throw std::runtime_error("the recorder started no capture");
  }
  path_ = capture_path().c_str();
}

Recording::~Recording() {
  if (is_running_) {
    stop_capture();
  }
}

Recorded Recording::finish(bool counts_events) {
  is_running_ = false;
  if (!stop_capture()) {
    throw std::runtime_error("the capture failed while recording");
  }
  const CaptureReader capture(path_);
  if (!capture.is_closed()) {
    throw std::runtime_error("the capture was not closed");
  }
  Recorded recorded;
  for (const TrackTotals& track : capture.end().tracks) {
    recorded.scopes += track.recorded_scopes;
    recorded.dropped_scopes += track.dropped_scopes;
    recorded.dropped_others += track.dropped_others;
  }
  for (const auto& [key, value] : capture.end().facts) {
    if (key == "collector_cpu_ns") {
      recorded.collector_cpu_ns = value;
    }
  }
  recorded.bytes = capture.size_bytes();
  if (counts_events) {
    count_events(capture, recorded);
  }
  return recorded;
}

void account(benchmark::State& state, std::uint64_t issued, std::uint64_t recorded, std::uint64_t dropped) {
  state.counters["issued"] = static_cast<double>(issued);
  state.counters["recorded"] = static_cast<double>(recorded);
  state.counters["dropped"] = static_cast<double>(dropped);
  if (recorded + dropped != issued) {
    const std::string what = "issued " + std::to_string(issued) + ", but recorded " + std::to_string(recorded) +
                             " and dropped " + std::to_string(dropped);
    state.SkipWithError(what.c_str());
  }
}

}  // namespace kymo::benchmarks
