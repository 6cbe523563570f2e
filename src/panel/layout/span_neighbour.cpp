// Steps from one span of the flame chart to the next.

#include "panel/data/time_math.hpp"
#include "panel/layout/flame_layout.hpp"

namespace kymo::panel {

namespace {

SpanKey key_of_box(const FlameRow& row, const FlameBox& box) {
  return {row.track, row.what(box), row.depth, box.start_ns, box.end_ns};
}

bool is_next(const FlameBox& box, const SpanKey& span, Neighbour which) {
  switch (which) {
    case Neighbour::outer:
      return box.start_ns <= span.start_ns && box.end_ns >= span.start_ns;
    case Neighbour::inner:
      return box.start_ns >= span.start_ns && box.end_ns <= span.end_ns;
    case Neighbour::before:
      return box.start_ns < span.start_ns;
    case Neighbour::after:
      return box.start_ns > span.start_ns;
  }
  return false;
}

std::int64_t distance_to(const FlameBox& box, std::int64_t time_ns) {
  return box.start_ns > time_ns ? length_between(time_ns, box.start_ns) : length_between(box.end_ns, time_ns);
}

}  // namespace

std::optional<SpanKey> find_neighbour(const FlameLayout& layout, const SpanKey& span, Neighbour which) {
  const int depth = int{span.depth} + (which == Neighbour::inner ? 1 : which == Neighbour::outer ? -1 : 0);
  // Boxes ascend: among those before or around, the last one is the closest.
  const bool takes_last = which == Neighbour::outer || which == Neighbour::before;
  std::optional<SpanKey> found;
  for (const FlameRow& row : layout.rows) {
    if (row.track != span.track || row.named != base::is_name(span.what) || int{row.depth} != depth) {
      continue;
    }
    for (const FlameBox& box : row.boxes) {
      if (box.is_one && is_next(box, span, which) && (!found || takes_last)) {
        found = key_of_box(row, box);
      }
    }
  }
  return found;
}

std::optional<SpanKey> find_closest_span(const FlameLayout& layout, std::int64_t time_ns) {
  for (const FlameRow& row : layout.rows) {
    const FlameBox* best = nullptr;
    for (const FlameBox& box : row.boxes) {
      if (box.is_one && (best == nullptr || distance_to(box, time_ns) < distance_to(*best, time_ns))) {
        best = &box;
      }
    }
    if (best != nullptr) {
      return key_of_box(row, *best);
    }
  }
  return std::nullopt;
}

}  // namespace kymo::panel
