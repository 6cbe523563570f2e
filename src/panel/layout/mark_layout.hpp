// The positions of messages, flows, sync points and samples of stacks. Draws nothing.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "panel/layout/flame_layout.hpp"

namespace kymo::panel {

/// A message, or several that are too close to show individually, on its track's title.
struct MessageMark {
  float pixel = 0;
  std::uint32_t line = 0;
  std::uint64_t count = 1;
  const timeline::DetailMessage* first = nullptr;  ///< valid as long as MarkLayout::pieces
};

/// The connection from one point of a flow to the next.
struct FlowArrow {
  float from = 0;
  float to = 0;
  std::uint32_t from_line = 0;  ///< of the scope open there, else of the track's title
  std::uint32_t to_line = 0;
  std::uint64_t flow_id = 0;
  TrackId from_track;
  TrackId to_track;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

/// A sync point; the stretch to the next one is a phase.
struct SyncMark {
  float pixel = 0;
  std::uint64_t number = 0;
  TrackId track;
  std::int64_t time_ns = 0;
};

/// A moment at which a track's thread was on the CPU, or several that are too close to show individually; or a wait,
/// with its whole length. On the track's title.
struct SampleMark {
  float from = 0;  ///< where the wait begins
  float pixel = 0;
  std::uint32_t line = 0;
  std::uint64_t count = 1;
  const StackSample* first = nullptr;  ///< valid as long as MarkLayout::pieces
};

struct MarkLayout {
  std::vector<MessageMark> messages;  ///< by ascending line, then pixel
  std::vector<FlowArrow> arrows;
  std::vector<SyncMark> sync_points;  ///< by ascending pixel
  std::vector<SampleMark> samples;    ///< by ascending line, then pixel
  std::vector<Piece> pieces;          ///< the input
};

/// Lays out the marks of pieces within an axis's range: at most one message every few pixels per track, an arrow for
/// every other pixel of the width and one sync point or sample of a thread every few pixels. The cost depends on the
/// content of the pieces, up to a bound. `threads`: the tracks of those that stacks were sampled of.
[[nodiscard]] MarkLayout lay_out_marks(const std::vector<Piece>& pieces, const TimeAxis& axis, const FlameLayout& flame,
                                       const std::unordered_map<ThreadId, TrackId>& threads);

/// Lays out only the sync points, of any pieces.
[[nodiscard]] std::vector<SyncMark> lay_out_sync_points(const std::vector<Piece>& pieces, const TimeAxis& axis);

/// The message under a point; nullptr if there is none.
[[nodiscard]] const MessageMark* find_message(const MarkLayout& layout, std::uint32_t line, double pixel, double reach);
/// Likewise the sample; a moment on the CPU before the wait that it lies in.
[[nodiscard]] const SampleMark* find_sample(const MarkLayout& layout, std::uint32_t line, double pixel, double reach);

}  // namespace kymo::panel
