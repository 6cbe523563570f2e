// Joins the marks of blocks to frames.
#include "panel/data/frame_cover.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace kymo::panel {

namespace {

/// Frames between the marks alone, with their owner.
FrameCover::Part part_of(FrameStreamId stream, std::vector<std::int64_t> marks, bool follows) {
  auto piece = std::make_shared<Detail>();
  piece->frames.push_back(timeline::make_frames(stream, std::move(marks)));
  return {piece, piece->frames.data(), follows};
}

}  // namespace

void FrameCover::add(const Piece& piece) {
  for (const timeline::DetailFrames& frames : piece->frames) {
    if (frames.stream == stream_ && frames.is_break) {
      is_broken_off_ = true;
    } else if (frames.stream == stream_) {
      add({piece, &frames, false});
    }
  }
}

void FrameCover::add(Part part) {
  is_cut_ = parts_.empty() ? is_broken_off_ : is_cut_;
  part.follows = !parts_.empty() && !is_broken_off_;
  is_broken_off_ = false;
  parts_.push_back(std::move(part));
}

void FrameCover::add_mark(std::int64_t time_ns) {
  add(part_of(stream_, {time_ns}, false));
}

void FrameCover::add_mark_before(std::int64_t time_ns) {
  if (!parts_.empty()) {
    parts_.front().follows = !is_cut_;
  }
  parts_.insert(parts_.begin(), part_of(stream_, {time_ns}, false));
}

void FrameCover::break_off() {
  is_broken_off_ = true;
  is_complete_ = false;
}

void FrameCover::finish() {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (Part& part : parts_) {
    if (part.is_exact() && part.frames->first_mark_ns < last_ns) {
      // These came late. They count as they do for capture::FrameWalk.
      std::vector<std::int64_t> marks = part.frames->marks_ns;
      std::for_each(marks.begin(), marks.end(), [last_ns](std::int64_t& mark) { mark = std::max(mark, last_ns); });
      part = part_of(stream_, std::move(marks), part.follows);
    }
    last_ns = std::max(last_ns, part.frames->last_mark_ns);
  }
}

std::optional<std::int64_t> FrameCover::last_mark_to(std::int64_t time_ns) const {
  std::optional<std::int64_t> last;
  for (const Part& part : parts_) {
    const auto& marks = part.frames->marks_ns;
    const auto at = std::upper_bound(marks.begin(), marks.end(), time_ns);
    if (at != marks.begin()) {
      last = std::max(last.value_or(*(at - 1)), *(at - 1));
    }
  }
  return last;
}

std::optional<std::int64_t> FrameCover::first_mark_from(std::int64_t time_ns) const {
  std::optional<std::int64_t> first;
  for (const Part& part : parts_) {
    const auto& marks = part.frames->marks_ns;
    const auto at = std::lower_bound(marks.begin(), marks.end(), time_ns);
    if (at != marks.end()) {
      first = std::min(first.value_or(*at), *at);
    }
  }
  return first;
}

std::optional<Frame> FrameCover::latest(TimeRange range) const {
  const auto frame_of = [&range](std::int64_t start_ns, std::int64_t end_ns) {
    return is_frame_of(start_ns, end_ns, range) ? std::optional(Frame{start_ns, length_between(start_ns, end_ns)})
                                                : std::nullopt;
  };
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const Part& part = parts_[i];
    const std::int64_t before_ns = part.follows ? parts_[i - 1].frames->last_mark_ns : part.frames->first_mark_ns;
    if (before_ns >= range.end_ns) {
      continue;
    }
    if (!part.is_exact()) {
      return std::nullopt;
    }
    const std::vector<std::int64_t>& marks = part.frames->marks_ns;
    const auto behind = std::lower_bound(marks.begin(), marks.end(), range.end_ns);
    if (behind == marks.begin()) {
      return frame_of(before_ns, marks.front());
    }
    // The last mark begins no known frame.
    const auto end = behind == marks.end() ? behind - 1 : behind;
    if (end != marks.begin()) {
      return frame_of(*(end - 1), *end);
    }
    if (part.follows) {
      return frame_of(before_ns, marks.front());
    }
  }
  return std::nullopt;
}

}  // namespace kymo::panel
