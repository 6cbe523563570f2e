// Forms the frames of a stream from its marks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include <kymo/events.hpp>

#include "base/time_math.hpp"

namespace kymo::capture {

/// Takes the marks of one stream block by block, in a block by ascending time. Whoever forms frames does so by this, so
/// that a frame has the same number and length everywhere.
///
/// Threads are drained one after the other, so that a mark may come a block later than another thread's later mark.
/// It counts at the time of that: the frame that it ends has no length.
class FrameWalk {
 public:
  /// Continues after a mark.
  [[nodiscard]] static FrameWalk after_mark(std::int64_t mark_ns) {
    FrameWalk walk;
    walk.mark_ns_ = mark_ns;
    walk.has_begun_ = true;
    return walk;
  }
  /// Begins with a mark that ended the frame of this number.
  [[nodiscard]] static FrameWalk after_frames(std::uint64_t number) {
    FrameWalk walk;
    walk.number_ = number;
    return walk;
  }

  /// Takes the next mark or break. Returns whether it ended a frame.
  bool take(const FrameMark& mark) noexcept {
    if (mark.is_break) {
      break_off();
      return false;
    }
    start_ns_ = mark_ns_;
    mark_ns_ = std::max(mark_ns_, mark.time_ns);
    const bool ends_frame = std::exchange(has_begun_, true);
    number_ += ends_frame ? 1U : 0U;
    return ends_frame;
  }

  /// Says that marks may be missing here.
  void break_off() noexcept { has_begun_ = false; }

  /// The time at which the last mark counts.
  [[nodiscard]] std::int64_t mark_ns() const noexcept { return mark_ns_; }
  /// Of the frame that the last mark ended. Frames are counted from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::int64_t start_ns() const noexcept { return start_ns_; }
  [[nodiscard]] std::int64_t duration_ns() const noexcept { return base::length_between(start_ns_, mark_ns_); }

 private:
  std::uint64_t number_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t mark_ns_ = std::numeric_limits<std::int64_t>::min();
  bool has_begun_ = false;
};

/// How many frames of each stream came before.
class FrameCounts {
 public:
  /// Only the first count of a stream is kept.
  void add(FrameStreamId stream, std::uint64_t count) { counts_.try_emplace(stream, count); }
  [[nodiscard]] std::uint64_t of(FrameStreamId stream) const {
    const auto found = counts_.find(stream);
    return found != counts_.end() ? found->second : 0;
  }

 private:
  std::unordered_map<FrameStreamId, std::uint64_t> counts_;
};

}  // namespace kymo::capture
