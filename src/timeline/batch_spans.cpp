// Spans with their arguments out of batches that are at hand.
#include "timeline/batch_spans.hpp"

#include "timeline/span_builder.hpp"

namespace kymo::timeline {

SpanList spans_of_batches(const std::vector<std::shared_ptr<const EventBatch>>& batches, TrackId track) {
  SpanList list;
  SpanBuilder builder(track);
  for (const auto& batch : batches) {
    for (const ScopeRun& run : batch->runs) {
      if (run.track == track) {
        builder.take(run, batch->text, list);
      }
    }
    append_span_events(*batch, track, list);
  }
  if (!batches.empty()) {
    builder.append_open(batches.back()->end_ns, Span::open, list);
  }
  return list;
}

}  // namespace kymo::timeline
