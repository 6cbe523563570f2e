// A timeline as the batches that a writer of events takes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>

#include <kymo/batch_cursor.hpp>
#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "timeline/open_async_spans.hpp"
#include "timeline/source.hpp"

namespace kymo::exchange {

/// Calls visit(batch, capture) for each batch of a timeline that has such parts. `on_progress` receives the finished
/// share; may be empty.
template <typename Visit>
void visit_batches(const Timeline& timeline, BatchParts parts, const std::function<void(double)>& on_progress,
                   Visit visit) {
  BatchCursor cursor(timeline, {}, parts);
  for (EventBatch batch; cursor.next(batch);) {
    visit(batch, cursor.capture());
    if (on_progress) {
      on_progress(cursor.share_done());
    }
  }
}

/// A timeline's batches in order, preceded by one with all declarations.
class TimelineBatches {
 public:
  /// `on_progress` receives the finished share; may be empty.
  TimelineBatches(const Timeline& timeline, const std::function<void(double)>& on_progress)
      : timeline_(timeline), on_progress_(on_progress), cursor_(timeline, {}, BatchParts::everything) {}

  /// False at the end.
  [[nodiscard]] bool next(EventBatch& batch) {
    if (!has_declared_) {
      has_declared_ = true;
      batch.declarations = timeline_.declarations();
      batch.start_ns = timeline_.range().start_ns;
      batch.end_ns = batch.start_ns;
      return true;
    }
    if (on_progress_) {
      on_progress_(cursor_.share_done());
    }
    if (!cursor_.next(batch)) {
      return false;
    }
    open_async_[cursor_.capture()].take(batch);
    return true;
  }
  /// The async spans without an end in the batches so far.
  [[nodiscard]] SpanList open_async() const {
    SpanList open;
    for (auto [capture, spans] : open_async_) {
      const timeline::Source& source = *timeline::sources_of(timeline_)[capture];
      spans.take_end(source.reader().end().tracks);
      spans.append([&source](TrackId track) { return source.end_ns_of(track); }, open);
    }
    return open;
  }
  /// Whether the last batch is from the capture whose clock the timeline's times use.
  [[nodiscard]] bool is_of_first() const { return cursor_.capture() == 0; }

 private:
  const Timeline& timeline_;
  const std::function<void(double)>& on_progress_;
  BatchCursor cursor_;
  std::map<std::size_t, timeline::OpenAsyncSpans> open_async_;  // by capture
  bool has_declared_ = false;
};

}  // namespace kymo::exchange
