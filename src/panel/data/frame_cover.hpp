// The frames of one stream around a stretch of time, as far as they are loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <kymo/timeline.hpp>

#include "panel/data/time_math.hpp"
#include "timeline/detail.hpp"

namespace kymo::panel {

using timeline::Detail;
using Piece = std::shared_ptr<const Detail>;

/// Frames by ascending time. A frame is formed only between marks that are known to follow each other.
class FrameCover {
 public:
  /// The marks of the stream in one block, or in the blocks of one summary.
  struct Part {
    Piece piece;  ///< owner of `frames`
    const timeline::DetailFrames* frames = nullptr;
    bool follows = false;  ///< no mark lies between the previous part and this one

    /// Whether every mark is known; else only their number and extremes.
    [[nodiscard]] bool is_exact() const { return !frames->marks_ns.empty(); }
  };

  explicit FrameCover(FrameStreamId stream) : stream_(stream) {}

  /// Adds the marks of a later block or summary that are not in the cover yet.
  void add(const Piece& piece);
  /// Adds the next mark after those that were added.
  void add_mark(std::int64_t time_ns);
  /// Adds the last mark before those that were added.
  void add_mark_before(std::int64_t time_ns);
  /// Says that marks may be missing between what was added last and what is added next.
  void break_off();
  /// Says that something better is being loaded.
  void set_incomplete() { is_complete_ = false; }
  /// Moves late marks to the times at which they count. Call once, after the last part.
  void finish();

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// Whether nothing better is being loaded.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  /// The latest mark up to a time, among parts with known marks.
  [[nodiscard]] std::optional<std::int64_t> last_mark_to(std::int64_t time_ns) const;
  /// The earliest mark from a time on, among parts with known marks.
  [[nodiscard]] std::optional<std::int64_t> first_mark_from(std::int64_t time_ns) const;

  /// The last frame of a range, if its marks are known.
  [[nodiscard]] std::optional<Frame> latest(TimeRange range) const;

  /// Calls visit(const timeline::FrameGroup&, bool is_exact) for the frames of a range by ascending time. Frames are
  /// visited in groups shorter than least_ns, else individually. `is_exact`: the longest frame's
  /// start is known; else it is a summary's, which may hold frames outside of the range.
  template <typename Visit>
  void visit(TimeRange range, double least_ns, Visit&& visit) const;

 private:
  void add(Part part);

  FrameStreamId stream_;
  std::vector<Part> parts_;
  bool is_broken_off_ = false;
  bool is_cut_ = false;  // broken off before the first part
  bool is_complete_ = true;
};

/// Whether a frame is one of those of a range: it overlaps it, or is empty and begins in it.
[[nodiscard]] inline bool is_frame_of(std::int64_t start_ns, std::int64_t end_ns, TimeRange range) {
  return start_ns < range.end_ns && (end_ns > range.start_ns || start_ns >= range.start_ns);
}

template <typename Visit>
void FrameCover::visit(TimeRange range, double least_ns, Visit&& visit) const {
  const auto offer = [&](const timeline::FrameGroup& group, bool is_exact) {
    if (is_frame_of(group.start_ns, group.end_ns, range)) {
      visit(group, is_exact);
    }
  };
  const auto offer_one = [&offer](std::int64_t start_ns, std::int64_t end_ns) {
    offer({start_ns, end_ns, start_ns, length_between(start_ns, end_ns), 1}, true);
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const std::int64_t previous_ns = i != 0 ? parts_[i - 1].frames->last_mark_ns : 0;
    if (!part.is_exact()) {
      // A summary counts the frame that ends with its first mark.
      for (timeline::FrameGroup group : part.frames->groups) {
        group.start_ns = part.follows ? previous_ns : group.start_ns;
        offer(group, false);
      }
      continue;
    }
    if (part.follows) {
      offer_one(previous_ns, part.frames->first_mark_ns);
    }
    const std::vector<std::int64_t>& marks = part.frames->marks_ns;
    std::size_t first = 0;
    for (const timeline::FrameGroup& group : part.frames->groups) {
      const std::size_t end = first + static_cast<std::size_t>(group.count);
      const auto length_ns = static_cast<double>(length_between(group.start_ns, group.end_ns));
      // A group over the edge of the range also holds frames outside of it.
      const bool is_within = group.start_ns >= range.start_ns && group.end_ns <= range.end_ns;
      if (length_ns < least_ns && is_within) {
        offer(group, true);
      } else if (is_frame_of(group.start_ns, group.end_ns, range)) {
        for (std::size_t mark = first; mark < end; ++mark) {
          offer_one(marks[mark], marks[mark + 1]);
        }
      }
      first = end;
    }
  }
}

}  // namespace kymo::panel
