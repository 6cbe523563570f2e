// Turns batches into a summary: the only place that counts events.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include <kymo/events.hpp>

#include "capture/summary/coverage.hpp"
#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "capture/summary/summary.hpp"

namespace kymo::capture {

/// Counts the batches of one capture, in order, into successive summaries. Not thread-safe.
///
/// A scope counts where it closes, with its time in the capture. Its time counts in every summary that it overlaps, so
/// that a `main` that never closes is visible in all of them. Memory: the sites' touched histogram pages, about a
/// kilobyte per live track, and one per site for up to 16,384 sites.
class SummaryAccumulator {
 public:
  /// Bins begin at 2^shift ns.
  explicit SummaryAccumulator(unsigned shift = Coverage::least_shift);

  /// Counts the batch of an EVENTS block. About 5 to 10 ns per scope.
  void add(const EventBatch& batch, std::uint32_t block_number);

  /// Completes the summary: adds the time of open scopes so far and lists them. At the capture's end that is up to the
  /// end of its last batch; otherwise up to the time at which each track is known to be complete.
  const Summary& complete(bool at_end);

  /// The summary so far. Only its times and its counts of blocks and events are valid; the rest is valid from
  /// complete() to the next add().
  [[nodiscard]] const Summary& summary() const { return summary_; }

  /// Begins the next summary at the end of a complete() one.
  void begin_next();

  /// Takes over open scopes, and the last mark of each frame stream, from a summary of everything before the next
  /// batch.
  void resume(const Summary& before);

 private:
  struct TrackState {
    ScopeStack stack;
    CoverageCursor cursor;
    std::int64_t last_event_ns = std::numeric_limits<std::int64_t>::min();
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
  };

  /// Scopes of one site that wait to be counted. Counting a site's scopes in a row costs half as much as one by one:
  /// the histograms of all sites exceed the first-level cache. Sites whose ids differ by `most_sites` share one.
  struct PendingScopes {
    static constexpr std::uint32_t most = 120;
    static constexpr std::uint32_t most_sites = 16'384;
    struct Scope {
      std::uint32_t duration_ns = 0;
      std::uint32_t self_ns = 0;
    };
    SiteId id;  ///< the site's, modulo most_sites
    SiteId site;
    std::uint32_t count = 0;
    std::array<Scope, most> scopes;
  };

  PendingScopes& pending_of(SiteId site);
  void count_pending(PendingScopes& pending);
  void add_times(const EventBatch& batch, std::uint32_t block_number);
  void add_run(const ScopeRun& run, std::int64_t batch_start_ns);
  void add_spans(const EventBatch& batch);
  void add_frames(const EventBatch& batch);
  void complete_track(TrackId id, TrackState& track, std::int64_t until_ns);
  void forget_ended(TrackId id);

  Summary summary_;
  KeyedTable<PendingScopes> pending_;
  std::unordered_map<TrackId, TrackState> tracks_;
  std::unordered_map<FrameStreamId, FrameWalk> frames_;
  std::int64_t floor_ns_ = 0;  // earlier time is in the previous summary
  std::int64_t last_batch_end_ns_ = 0;
  std::int64_t batch_before_end_ns_ = 0;
  bool has_begun_ = false;
};

}  // namespace kymo::capture
