// Iterates over the events of captures, block by block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// Iterates over the batches of a timeline whose declared time range overlaps a range. A capture's blocks come in the
/// order written; of the captures' next blocks the one with the earliest start comes first. Batches have the timeline's
/// ids and times and no declarations, which are Timeline::declarations(). Damaged blocks are left out.
///
/// Holds one entry a capture; each batch is decoded when it is asked for. Several cursors may read one timeline at a
/// time, each from one thread. The timeline must outlive the cursor and not be refreshed meanwhile.
///
/// @code
/// kymo::BatchCursor cursor(timeline, {}, kymo::BatchParts::scopes);
/// for (kymo::EventBatch batch; cursor.next(batch);) {
///   for (const kymo::ScopeRun& run : batch.runs) { ... }
/// }
/// @endcode
class KYMO_API BatchCursor {
 public:
  /// Whether to read a block: the index of its capture, and its index among the capture's blocks of events.
  using Choice = std::function<bool(std::size_t capture, std::size_t block)>;

  explicit BatchCursor(const Timeline& timeline, TimeRange range = {}, BatchParts parts = BatchParts::everything,
                       Choice choice = nullptr);
  BatchCursor(BatchCursor&&) noexcept;
  BatchCursor& operator=(BatchCursor&&) noexcept;
  BatchCursor(const BatchCursor&) = delete;
  BatchCursor& operator=(const BatchCursor&) = delete;
  ~BatchCursor();

  /// Replaces the batch by the next one and reuses its memory; false at the end.
  [[nodiscard]] bool next(EventBatch& batch);

  /// The capture that the last batch is from: an index for Timeline::capture().
  [[nodiscard]] std::size_t capture() const;
  /// The share of the blocks passed so far, 0 to 1.
  [[nodiscard]] double share_done() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
