// The frames of a selected part, with their numbers in the whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/batch_cursor.hpp>
#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "capture/summary/frame_walk.hpp"
#include "stats/common/selection.hpp"

namespace kymo::exchange {

/// Cuts the frame marks of batches, which come in order.
class SelectedFrames {
 public:
  SelectedFrames(const Timeline& timeline, const stats::Selection& selection)
      : timeline_(timeline), selection_(selection) {}

  /// Leaves the marks inside, each at the time at which it counts.
  void cut(EventBatch& batch) {
    std::vector<FrameMark> inside;
    for (FrameMark& mark : batch.frame_marks) {
      if (take(walks_[mark.stream], mark)) {
        inside.push_back(mark);
        batch.end_ns = std::max(batch.end_ns, mark.time_ns);
      }
    }
    batch.frame_marks = std::move(inside);
  }

  /// How many frames of each stream ended up to its first mark inside. Costs a pass over the marks from the start on.
  [[nodiscard]] capture::FrameCounts count_before() const {
    capture::FrameCounts counts;
    if (!selection_.cuts_time() || timeline_.declarations().frame_streams.empty()) {
      return counts;
    }
    std::unordered_map<FrameStreamId, capture::FrameWalk> walks;
    BatchCursor cursor(timeline_, {std::numeric_limits<std::int64_t>::min(), selection_.range().end_ns},
                       BatchParts::others);
    for (EventBatch batch; cursor.next(batch);) {
      for (FrameMark& mark : batch.frame_marks) {
        capture::FrameWalk& walk = walks[mark.stream];
        if (take(walk, mark)) {
          counts.add(mark.stream, walk.number());
        }
      }
    }
    return counts;
  }

 private:
  /// Whether the mark is inside. Of those that delimit a frame, the one at the end counts too.
  [[nodiscard]] bool take(capture::FrameWalk& walk, FrameMark& mark) const {
    walk.take(mark);
    mark.time_ns = walk.mark_ns();
    const TimeRange range = selection_.range_of(timeline_.frame_stream(mark.stream).process);
    return mark.time_ns >= range.start_ns && mark.time_ns <= range.end_ns;
  }

  const Timeline& timeline_;
  const stats::Selection& selection_;
  std::unordered_map<FrameStreamId, capture::FrameWalk> walks_;
};

}  // namespace kymo::exchange
