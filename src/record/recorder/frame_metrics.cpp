#include "record/recorder/frame_metrics.hpp"

#include <algorithm>

#include "base/system/clock.hpp"
#include "base/system/system.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::record {

void FrameMetrics::add(EventBatch& batch, SampleGatherer& samples) {
  const InternedName* const main =
      batch.frame_marks.empty() ? nullptr : recorder_.names().find(NameSpace::frame_stream, {});
  const FrameStreamId stream{main != nullptr ? main->id.load(std::memory_order_acquire) : 0};
  if (!stream) {
    return;
  }
  times_ns_.clear();
  for (const FrameMark& mark : batch.frame_marks) {
    if (mark.stream == stream) {
      times_ns_.push_back(mark.time_ns);
    }
  }
  // They are in order of tracks, and threads and fibers may take turns in marking frames.
  std::sort(times_ns_.begin(), times_ns_.end());
  MetricId frame_ms;
  for (const std::int64_t time_ns : times_ns_) {
    if (last_mark_ns_ != 0 && time_ns >= last_mark_ns_) {
      frame_ms = frame_ms ? frame_ms : MetricId{recorder_.id_of(NameSpace::metric, "frame_ms", "ms")};
      samples.add(batch, frame_ms, time_ns, static_cast<double>(time_ns - last_mark_ns_) / 1e6);
    }
    last_mark_ns_ = std::max(last_mark_ns_, time_ns);
  }
  const std::uint64_t bytes = times_ns_.empty() ? 0 : base::resident_bytes();
  if (bytes != 0) {
    const std::int64_t now_ns = base::monotonic_now_ns();
    samples.add(batch, MetricId{recorder_.id_of(NameSpace::metric, "memory_mb", "MB")}, now_ns,
                static_cast<double>(bytes) / 1e6);
    cover(batch, now_ns);
  }
}

}  // namespace kymo::record
