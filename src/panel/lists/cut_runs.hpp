// The scopes of a range, run by run, cut at its ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include <kymo/events.hpp>

#include "panel/data/time_math.hpp"
#include "panel/lists/runs_until.hpp"
#include "stats/common/selection.hpp"

namespace kymo::panel {

/// `Track`: what is kept of each track.
template <typename Track>
class CutRuns {
 public:
  CutRuns(TimeRange range, const BlockProvider& provider) : range_(range), last_ns_(least_end_ns(range, provider)) {}

  /// Calls on_run(const ScopeRun&, Track&) for each run of a block, as far as it is in the range.
  /// `skipped`: as in BlockScan.
  template <typename OnRun>
  void take(const EventBatch& batch, timeline::SkippedBlocks skipped, const OnRun& on_run) {
    last_ns_ = std::max(last_ns_, batch.end_ns);
    if (skipped != timeline::SkippedBlocks::none && !is_everything(range_)) {
      take_unnamed(batch, skipped, on_run);
    }
    for (const ScopeRun& run : batch.runs) {
      Cut& of_track = tracks_.try_emplace(run.track, Cut{{}, stats::RunCut(range_)}).first->second;
      if (is_everything(range_)) {
        on_run(run, of_track.track);
      } else if (ScopeRun part = run; of_track.cut.cut(part, skipped)) {
        on_run(part, of_track.track);
      }
    }
  }
  /// Closes what is open at the end of a range that is not everything. Call after the last block.
  template <typename OnRun>
  void finish(const OnRun& on_run) {
    const std::int64_t at_ns = end_ns();
    for (auto& [id, of_track] : tracks_) {
      if (!is_everything(range_) && !of_track.cut.is_over() && at_ns > range_.start_ns) {
        ScopeRun rest;
        rest.track = id;
        of_track.cut.close(at_ns, rest);
        on_run(rest, of_track.track);
      }
    }
  }
  /// Of the range, as far as blocks were taken.
  [[nodiscard]] std::int64_t end_ns() const { return std::min(range_.end_ns, last_ns_); }
  template <typename OnTrack>
  void for_each_track(const OnTrack& on_track) const {
    for (const auto& [id, of_track] : tracks_) {
      on_track(of_track.track);
    }
  }

 private:
  struct Cut {
    Track track;
    stats::RunCut cut;
  };

  template <typename OnRun>
  void take_unnamed(const EventBatch& batch, timeline::SkippedBlocks skipped, const OnRun& on_run) {
    std::unordered_set<TrackId> named;
    for (const ScopeRun& run : batch.runs) {
      named.insert(run.track);
    }
    for (auto& [id, of_track] : tracks_) {
      ScopeRun rest;
      rest.track = id;
      if (named.count(id) == 0 && of_track.cut.cut_unnamed(rest, skipped)) {
        on_run(rest, of_track.track);
      }
    }
  }

  TimeRange range_;
  std::int64_t last_ns_;
  std::unordered_map<TrackId, Cut> tracks_;
};

}  // namespace kymo::panel
