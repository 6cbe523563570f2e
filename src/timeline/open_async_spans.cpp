#include "timeline/open_async_spans.hpp"

#include <algorithm>

namespace kymo::timeline {

void OpenAsyncSpans::take(const EventBatch& batch) {
  constexpr std::size_t most_open = std::size_t{1} << 20U;  // in an intact capture
  if (batch.follows_loss) {
    for (auto& [key, open] : spans_) {
      open.lost_ns = open.lost_ns.value_or(last_ns_);
    }
  }
  last_ns_ = batch.end_ns;
  for (const AsyncBegin& begin : batch.async_begins) {
    if (spans_.size() == most_open) {
      break;
    }
    spans_.insert_or_assign({begin.track, begin.async_id}, Open{begin, {}});
  }
  for (const SpanEvent& span : batch.spans) {
    if (span.async_id != 0) {
      spans_.erase({span.track, span.async_id});
    }
  }
}

void OpenAsyncSpans::append(std::int64_t end_ns, SpanList& out) const {
  for (const auto& [key, open] : spans_) {
    Span& span = out.spans.emplace_back();
    span.start_ns = open.begin.time_ns;
    span.duration_ns = std::max<std::int64_t>(open.lost_ns.value_or(end_ns) - span.start_ns, 0);
    span.self_ns = span.duration_ns;
    span.async_id = open.begin.async_id;
    span.track = open.begin.track;
    span.name = open.begin.name;
    span.flags = open.lost_ns ? Span::end_unknown : Span::open;
  }
}

}  // namespace kymo::timeline
