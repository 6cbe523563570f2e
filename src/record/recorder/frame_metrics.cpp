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
    // A mark of another thread that comes a batch late ends a frame without a length, as it does for readers.
    const std::int64_t mark_ns = std::max(last_mark_ns_, time_ns);
    if (last_mark_ns_ != 0) {
      frame_ms = frame_ms ? frame_ms : MetricId{recorder_.id_of(NameSpace::metric, "frame_ms", "ms")};
      samples.add(batch, frame_ms, mark_ns, static_cast<double>(mark_ns - last_mark_ns_) / 1e6);
      cover(batch, mark_ns);
    }
    last_mark_ns_ = mark_ns;
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
