// The async spans of a capture that have begun and not ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// Processes the batches of one capture in order.
class OpenAsyncSpans {
 public:
  void take(const EventBatch& batch);
  /// Appends them by lane and id, up to `end_ns`. Those that may have ended in a missing part extend to its start and
  /// are marked end_unknown.
  void append(std::int64_t end_ns, SpanList& out) const;

 private:
  struct Open {
    AsyncBegin begin;
    std::optional<std::int64_t> lost_ns;  ///< the start of a missing part after the begin
  };

  std::map<std::pair<TrackId, std::uint64_t>, Open> spans_;
  std::int64_t last_ns_ = 0;  ///< of the batches so far
};

}  // namespace kymo::timeline
