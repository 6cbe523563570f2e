#include "exchange/common/span_lanes.hpp"

#include <algorithm>
#include <numeric>

namespace kymo::exchange {

void order_by_start(const std::vector<SpanEvent>& spans, std::vector<std::size_t>& places) {
  places.resize(spans.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&spans](std::size_t left, std::size_t right) {
    const SpanEvent& a = spans[left];
    const SpanEvent& b = spans[right];
    return a.start_ns != b.start_ns         ? a.start_ns < b.start_ns
           : a.duration_ns != b.duration_ns ? a.duration_ns > b.duration_ns
                                            : left < right;
  });
}

std::span<const ArgumentValue> arguments_of(const SpanEvent& span, const EventBatch& batch) {
  const std::span<const ArgumentValue> all(batch.span_arguments);
  const std::span<const ArgumentValue> from_first = all.subspan(std::min<std::size_t>(span.first_argument, all.size()));
  return from_first.first(std::min<std::size_t>(span.argument_count, from_first.size()));
}

bool NestingTrack::clashes(const Interval& other, const Interval& span, Form form) {
  const bool crosses_its_end =
      other.start_ns < span.start_ns && span.start_ns < other.end_ns && other.end_ns < span.end_ns;
  const bool crosses_its_start =
      span.start_ns < other.start_ns && other.start_ns < span.end_ns && span.end_ns < other.end_ns;
  if (crosses_its_end || crosses_its_start || form == Form::whole) {
    return crosses_its_end || crosses_its_start;
  }
  const bool other_lasts = other.start_ns < other.end_ns;
  const bool ends_at_its_start = span.start_ns < span.end_ns && span.end_ns == other.start_ns;
  const bool begins_around_it = span.start_ns == other.start_ns && span.end_ns > other.end_ns;
  return other_lasts && (ends_at_its_start || begins_around_it);
}

bool NestingTrack::admit(std::int64_t start_ns, std::int64_t end_ns, Form form) {
  if (start_ns < latest_end_ns_) {
    if (start_ns < forgotten_end_ns_) {
      return false;
    }
    for (const Interval& other : recent_) {
      if (clashes(other, {start_ns, end_ns}, form)) {
        return false;
      }
    }
  }
  recent_.push_back({start_ns, end_ns});
  latest_end_ns_ = std::max(latest_end_ns_, end_ns);
  if (recent_.size() >= 2 * kept) {
    forget_earliest();
  }
  return true;
}

void NestingTrack::forget_earliest() {
  const auto middle = recent_.begin() + kept;
  std::nth_element(recent_.begin(), middle, recent_.end(),
                   [](const Interval& left, const Interval& right) { return left.end_ns > right.end_ns; });
  for (auto forgotten = middle; forgotten != recent_.end(); ++forgotten) {
    forgotten_end_ns_ = std::max(forgotten_end_ns_, forgotten->end_ns);
  }
  recent_.resize(kept);
}

std::uint64_t LaneIds::open(std::int64_t start_ns, std::uint64_t& last_id) {
  for (Slot& slot : slots_) {
    if (!slot.is_open && slot.end_ns <= start_ns) {
      slot.is_open = true;
      return slot.id;
    }
  }
  ++last_id;
  if (slots_.size() < reused) {
    slots_.push_back({last_id, 0, true});
  }
  return last_id;
}

void LaneIds::close(std::uint64_t id, std::int64_t end_ns) {
  for (Slot& slot : slots_) {
    if (slot.id == id) {
      slot.is_open = false;
      slot.end_ns = end_ns;
      return;
    }
  }
}

}  // namespace kymo::exchange
