// Arithmetic of alignments.
#include "panel/compare/alignment.hpp"

#include <algorithm>
#include <limits>

namespace kymo::panel {

namespace {

std::int64_t move(std::int64_t time_ns, const Anchors& anchors) {
  std::int64_t from_anchor = 0;
  std::int64_t moved = 0;
  const bool is_too_far = __builtin_sub_overflow(time_ns, anchors.here_ns, &from_anchor) ||
                          __builtin_add_overflow(anchors.there_ns, from_anchor, &moved);
  if (!is_too_far) {
    return moved;
  }
  return time_ns > anchors.here_ns ? std::numeric_limits<std::int64_t>::max()
                                   : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

const char* name_of(Align align) {
  return align == Align::start ? "start" : align == Align::frame ? "frame" : "sync point";
}

std::optional<Anchors> find_anchors(Align align, const MarkList& here, const MarkList& there, std::int64_t time_ns) {
  if (align == Align::frame) {
    if (here.frames.empty()) {
      return std::nullopt;
    }
    const auto behind = std::upper_bound(here.frames.begin(), here.frames.end(), time_ns);
    const auto at = behind == here.frames.begin() ? behind : behind - 1;
    const FrameNumber number = here.number_at(static_cast<std::size_t>(at - here.frames.begin()));
    const std::optional<std::size_t> place = there.place_of(number);
    return place ? std::optional(Anchors{*at, there.frames[*place], number}) : std::nullopt;
  }
  // Numbers rise with time, but for those of several processes.
  const std::pair<std::uint64_t, std::int64_t>* latest = nullptr;
  for (const auto& point : here.sync_points) {
    if (latest == nullptr || (point.second <= time_ns && point.second > latest->second)) {
      latest = &point;
    }
  }
  if (latest == nullptr) {
    return std::nullopt;
  }
  const auto partner = std::lower_bound(there.sync_points.begin(), there.sync_points.end(), latest->first,
                                        [](const auto& point, std::uint64_t number) { return point.first < number; });
  return partner != there.sync_points.end() && partner->first == latest->first
             ? std::optional(Anchors{latest->second, partner->second, latest->first})
             : std::nullopt;
}

TimeRange range_there(TimeRange range, const Anchors& anchors) {
  return {move(range.start_ns, anchors), move(range.end_ns, anchors)};
}

std::optional<Frame> frame_of(const MarkList& marks, FrameNumber number) {
  const std::optional<std::size_t> place = marks.place_of(number);
  if (!place || *place + 1 >= marks.frames.size() ||
      std::binary_search(marks.broken_off.begin(), marks.broken_off.end(), *place + 1)) {
    return std::nullopt;
  }
  const std::int64_t start_ns = marks.frames[*place];
  return Frame{start_ns, length_between(start_ns, marks.frames[*place + 1])};
}

}  // namespace kymo::panel
