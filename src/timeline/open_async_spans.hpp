// The async spans of a capture that have begun and not ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// Processes the batches of one capture in order.
class OpenAsyncSpans {
 public:
  void take(const EventBatch& batch);
  /// The totals in the capture's closing words, which may state the last drops alone.
  void take_end(const std::vector<TrackTotals>& totals);
  /// Appends them by lane and id, up to `end_ns_of` their lane. Those that may have ended in a missing part extend to
  /// its start and are marked end_unknown. Where events were dropped that are no scopes, that is the time since the
  /// batch before.
  void append(const std::function<std::int64_t(TrackId)>& end_ns_of, SpanList& out) const;

 private:
  void may_have_ended(std::int64_t since_ns);

  struct Open {
    AsyncBegin begin;
    std::optional<std::int64_t> lost_ns;  ///< the start of a missing part after the begin
  };

  std::map<std::pair<TrackId, std::uint64_t>, Open> spans_;
  std::map<TrackId, std::uint64_t> drops_;  ///< so far, by the track that recorded them
  std::int64_t last_ns_ = 0;                ///< of the batches so far
};

}  // namespace kymo::timeline
