// Breaks in the frames of a capture that lacks events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Further streams are not broken. No program has so many; a made-up file may break millions in each of its blocks.
constexpr std::size_t most_broken_streams = 1'000;

/// Adds a break of every declared frame stream to a batch before which events are missing: at the stream's first mark,
/// without one at the batch's end. Its start may be before earlier marks, as it covers its spans.
inline void break_frames(const Declarations& declarations, EventBatch& batch) {
  std::unordered_map<FrameStreamId, std::int64_t> first_ns;
  for (const FrameMark& mark : batch.frame_marks) {
    const auto first = first_ns.try_emplace(mark.stream, mark.time_ns).first;
    first->second = std::min(first->second, mark.time_ns);
  }
  std::vector<FrameMark> marks;
  const std::size_t count = std::min(declarations.frame_streams.size(), most_broken_streams);
  for (std::size_t i = 0; i < count; ++i) {
    const FrameStreamId stream = declarations.frame_streams[i].id;
    const auto first = first_ns.find(stream);
    marks.push_back({stream, {}, first != first_ns.end() ? first->second : batch.end_ns, true});
  }
  // Before the marks of the same time.
  batch.frame_marks.insert(batch.frame_marks.begin(), marks.begin(), marks.end());
}

}  // namespace kymo::capture
