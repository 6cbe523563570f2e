// How two captures stand to each other in time: by their starts, or by frames or sync points of the same number.
#pragma once

#include <cstdint>
#include <optional>

#include "panel/lists/lists.hpp"

namespace kymo::panel {

enum class Align : std::uint8_t { start, frame, sync_point };

/// "start", "frame", "sync point".
[[nodiscard]] const char* name_of(Align align);

/// The moments of both sides that stand at the same place.
struct Anchors {
  std::int64_t here_ns = 0;
  std::int64_t there_ns = 0;
  std::uint64_t number = 0;  ///< of the frame or the sync point; 0: the starts
};

/// The frame or sync point of one side at a time, or the first one, and that of the same number on the other side.
/// Nothing if either is missing.
[[nodiscard]] std::optional<Anchors> find_anchors(Align align, const MarkList& here, const MarkList& there,
                                                  std::int64_t time_ns);

/// The range of the other side that stands where a range of this one does. Saturated.
[[nodiscard]] TimeRange range_there(TimeRange range, const Anchors& anchors);

/// A frame by its number.
[[nodiscard]] std::optional<Frame> frame_of(const MarkList& marks, FrameNumber number);

}  // namespace kymo::panel
