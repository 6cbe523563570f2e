// The scopes of a range, run by run, cut at its ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <kymo/events.hpp>

#include "capture/summary/scope_matcher.hpp"
#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"
#include "panel/lists/runs_until.hpp"
#include "stats/common/selection.hpp"

namespace kymo::panel {

/// `Track`: what is kept of each track.
template <typename Track>
class CutRuns {
 public:
  CutRuns(TimeRange range, const BlockProvider& provider) : range_(range), last_ns_(least_end_ns(range, provider)) {}

  /// Calls on_run(const ScopeRun&, Track&, first_ns) for each run of a block, as far as it is in the range. `first_ns`:
  /// as of capture::ScopeStack::begin.
  template <typename OnRun>
  void take(const EventBatch& batch, const ScannedBlock& block, const OnRun& on_run) {
    last_ns_ = std::max(last_ns_, batch.end_ns);
    if (!is_everything(range_)) {
      stats::cut_unnamed(
          tracks_, [&block](const Cut& of_track) { return of_track.capture == block.capture; }, batch, block.skipped,
          [&on_run](const ScopeRun& rest, Cut& of_track) { on_run(rest, of_track.track, capture::always_ns); });
    }
    const std::int64_t first_ns = block.follows_all ? batch.start_ns : capture::always_ns;
    for (const ScopeRun& run : batch.runs) {
      Cut& of_track = tracks_.try_emplace(run.track, Cut{block.capture, {}, stats::RunCut(range_)}).first->second;
      if (is_everything(range_)) {
        on_run(run, of_track.track, first_ns);
      } else if (ScopeRun part = run; of_track.cut.cut(part, block.skipped, first_ns)) {
        on_run(part, of_track.track, capture::always_ns);
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
        on_run(rest, of_track.track, capture::always_ns);
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
    std::size_t capture = 0;
    Track track;
    stats::RunCut cut;
  };

  TimeRange range_;
  std::int64_t last_ns_;
  std::unordered_map<TrackId, Cut> tracks_;
};

}  // namespace kymo::panel
