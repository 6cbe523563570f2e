// Breaks in the frames of a capture that lacks events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Further streams are not broken. No program has so many; a made-up file may break millions in each of its blocks.
constexpr std::size_t most_broken_streams = 1'000;

/// Adds a break of every declared frame stream at the start of a batch before which events are missing.
inline void break_frames(const Declarations& declarations, EventBatch& batch) {
  std::vector<FrameMark> marks;
  const std::size_t count = std::min(declarations.frame_streams.size(), most_broken_streams);
  for (std::size_t i = 0; i < count; ++i) {
    marks.push_back({declarations.frame_streams[i].id, {}, batch.start_ns, true});
  }
  // Before the marks of the same time.
  batch.frame_marks.insert(batch.frame_marks.begin(), marks.begin(), marks.end());
}

}  // namespace kymo::capture
