// Which stretches of a thread were waits for a queue, such as a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/paths/hand_overs.hpp"
#include "stats/paths/track_walk.hpp"

namespace kymo::stats {

/// A stretch of a thread in a scope.
struct ScopeStretch {
  PathRequest request;
  SiteId site;
  TimeRange range;
};

/// A stretch that may have been a wait for the queue. It was if most of its scope's were.
struct PossibleWait {
  ScopeStretch stretch;
  TrackId queue;
  bool is_running = false;  ///< the thread ran: it may have polled
};

/// Judges the stretches of all threads, in one pass. Keeps those that only all stretches of their scope can judge.
class QueueWaits {
 public:
  QueueWaits(const Timeline& timeline, const HandOvers& hand_overs) : timeline_(timeline), hand_overs_(hand_overs) {}

  /// The queue that a stretch waited for whose run states are not known. It ends with a span of the queue. The queue is
  /// busy for half of it and idle afterwards, and had that span handed in before it.
  [[nodiscard]] TrackId of_unknown(const ScopeStretch& stretch);

  /// The queue that a blocked stretch waited for, which ends with a span of it. A stretch that ends later is kept:
  /// `is_kept`.
  struct Blocked {
    TrackId queue;
    bool is_kept = false;
  };
  [[nodiscard]] Blocked of_blocked(const ScopeStretch& stretch);

  /// The queue that a stretch in which the thread ran may have waited for, by the rule of of_unknown(). Programs poll a
  /// GPU rather than sleep, as CUDA does by default. The scope's other stretches decide: see keep().
  [[nodiscard]] TrackId of_running(const ScopeStretch& stretch);

  /// Keeps a part of a stretch for which of_running() named a queue. False if there is no room.
  [[nodiscard]] bool keep(const ScopeStretch& part, TrackId queue);

  /// The stretches that were kept. `queue` is empty where the scope mostly did something else.
  [[nodiscard]] std::vector<PossibleWait> decide();

 private:
  /// Of a scope and a queue: waits for it, less those that ended otherwise.
  using Balance = std::map<std::pair<SiteId, TrackId>, std::int64_t>;

  [[nodiscard]] static bool is_judged(const ScopeStretch& stretch);
  [[nodiscard]] TrackId polled_queue(const ScopeStretch& stretch, bool needs_flow) const;

  const Timeline& timeline_;
  const HandOvers& hand_overs_;
  std::vector<PossibleWait> kept_;
  Balance blocked_;
  Balance running_;
  std::map<SiteId, std::int64_t> ran_otherwise_;
};

}  // namespace kymo::stats
