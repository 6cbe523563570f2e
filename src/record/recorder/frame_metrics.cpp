#include "record/recorder/frame_metrics.hpp"

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
  bool has_frames = false;
  MetricId frame_ms;
  for (const FrameMark& mark : batch.frame_marks) {
    if (mark.stream != stream) {
      continue;
    }
    has_frames = true;
    if (last_mark_ns_ != 0) {
      frame_ms = frame_ms ? frame_ms : MetricId{recorder_.id_of(NameSpace::metric, "frame_ms", "ms")};
      samples.add(batch, frame_ms, mark.time_ns, static_cast<double>(mark.time_ns - last_mark_ns_) / 1e6);
    }
    last_mark_ns_ = mark.time_ns;
  }
  const std::uint64_t bytes = has_frames ? base::resident_bytes() : 0;
  if (bytes != 0) {
    const std::int64_t now_ns = base::monotonic_now_ns();
    samples.add(batch, MetricId{recorder_.id_of(NameSpace::metric, "memory_mb", "MB")}, now_ns,
                static_cast<double>(bytes) / 1e6);
    cover(batch, now_ns);
  }
}

}  // namespace kymo::record
