// Breaks in the frames of a capture that lacks events.
#pragma once

#include <kymo/events.hpp>

namespace kymo::capture {

/// Adds a break of every declared frame stream at the start of a batch before which events are missing.
inline void break_frames(const Declarations& declarations, EventBatch& batch) {
  std::vector<FrameMark> marks;
  for (const FrameStreamDeclaration& stream : declarations.frame_streams) {
    marks.push_back({stream.id, {}, batch.start_ns, true});
  }
  // Before the marks of the same time.
  batch.frame_marks.insert(batch.frame_marks.begin(), marks.begin(), marks.end());
}

}  // namespace kymo::capture
