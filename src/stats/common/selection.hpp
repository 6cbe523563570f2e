// Selects the part of a timeline for statistics (sites, threads, frames, phases, a time interval), and cuts batches
// down to it.
//
// A scope, span or frame that extends beyond the interval counts with the part inside, so that shares of the interval
// add up. Frames of a frame stream count if both of their marks are inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

#include "base/text/pattern.hpp"
#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "timeline/block_choice.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

using base::fits_pattern;
using kymo::FrameRange;
using kymo::SelectionError;
using kymo::SelectionOptions;

/// A part of a timeline. Constant once made.
class Selection {
 public:
  /// Everything.
  Selection() = default;
  /// Throws SelectionError if a pattern matches nothing, or the frame or phase does not exist. Frames and phases cost a
  /// pass over all data except scopes.
  Selection(const Timeline& timeline, const SelectionOptions& options);

  /// All tracks at all times; sites may still be selected.
  [[nodiscard]] bool takes_every_event() const { return !cuts_time_ && options_.threads.empty() && !options_.process; }
  [[nodiscard]] bool cuts_time() const { return cuts_time_; }
  [[nodiscard]] bool chooses_sites() const { return !options_.sites.empty(); }
  [[nodiscard]] bool takes_site(std::string_view name) const;
  [[nodiscard]] bool takes_track(const TrackDeclaration& track) const { return takes_track(track.process, track.name); }
  [[nodiscard]] bool takes_track(ProcessId process, std::string_view name) const;
  /// The interval of a process; empty if nothing of it is selected.
  [[nodiscard]] TimeRange range_of(ProcessId process) const;
  /// The earliest start and the latest end of all processes' intervals.
  [[nodiscard]] TimeRange range() const { return hull_; }

 private:
  void choose_frames(const Timeline& timeline);
  void choose_phase(const Timeline& timeline);
  void check_patterns(const Timeline& timeline) const;

  SelectionOptions options_;
  bool cuts_time_ = false;
  std::unordered_map<ProcessId, TimeRange> ranges_;
  TimeRange others_;  // of processes that are not in ranges_
  TimeRange hull_;
};

/// Cuts the scopes of one track, run by run, down to an interval: opens those open at its start there, and closes those
/// open at its end there.
class RunCut {
 public:
  RunCut() = default;
  explicit RunCut(TimeRange interval) : interval_(interval) {}

  /// Cuts the next run. Returns false if nothing of it is inside. `skipped`: the blocks left out since the last batch.
  /// `first_ns`: as of capture::ScopeStack::begin.
  [[nodiscard]] KYMO_API bool cut(ScopeRun& run, timeline::SkippedBlocks skipped, std::int64_t first_ns);
  /// Call instead where blocks were left out and the next batch does not name the track: its scopes ended in them.
  /// Makes `run` the closes of those that were open at the interval's end. Returns false if there are none.
  [[nodiscard]] KYMO_API bool cut_unnamed(ScopeRun& run, timeline::SkippedBlocks skipped);
  /// Makes `run` one of the closes of the open scopes, unless the interval's end was passed.
  KYMO_API void close(std::int64_t time_ns, ScopeRun& run);
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  void begin_within(ScopeRun& run, std::size_t first);
  void append_closes(std::int64_t time_ns, ScopeRun& run);

  TimeRange interval_;
  std::int64_t least_ns_ = capture::always_ns;  // no scope begins earlier
  bool is_new_ = true;
  bool is_seen_ = false;
  bool has_begun_ = false;  // there were events inside
  bool is_over_ = false;
  std::vector<OpenScope> open_;
  std::uint64_t next_sequence_ = 0;
};

/// Calls on_run(ScopeRun&, Track&) with the closes of each track of a capture that a batch does not name, as its scopes
/// ended in the blocks that were left out before it. `tracks`: by id, each with its RunCut as `cut`. `is_of_capture`:
/// tells of a Track&.
template <typename Tracks, typename IsOfCapture, typename OnRun>
void cut_unnamed(Tracks& tracks, const IsOfCapture& is_of_capture, const EventBatch& batch,
                 timeline::SkippedBlocks skipped, const OnRun& on_run) {
  if (skipped == timeline::SkippedBlocks::none) {
    return;
  }
  std::unordered_set<TrackId> named;
  for (const ScopeRun& run : batch.runs) {
    named.insert(run.track);
  }
  for (auto& [id, track] : tracks) {
    ScopeRun run;
    run.track = id;
    if (is_of_capture(track) && named.count(id) == 0 && track.cut.cut_unnamed(run, skipped)) {
      on_run(run, track);
    }
  }
}

/// Makes a batch's time hold the events of a run.
KYMO_API void cover(EventBatch& batch, const ScopeRun& run);

/// Cuts the batches of one capture, in order, down to a selection: removes everything outside and shortens what extends
/// beyond. Scopes open at the interval's start are opened there; those open at its end are closed there. Not
/// thread-safe.
class BatchCut {
 public:
  /// The arguments must outlive this object.
  BatchCut(const Timeline& timeline, const timeline::Source& source, const Selection& selection);

  /// Whether a block has to be read, and cut, before the next one. Must be called for all blocks in order.
  [[nodiscard]] bool needs(std::size_t block);
  /// Cuts a batch with the capture's own ids and times, unless everything is selected. Drops scope arguments, async
  /// begins, messages, flows and sync points.
  void cut(EventBatch& batch);
  /// Call after the last batch. Fills `batch` with the closes of the scopes still open, at the end of the interval or
  /// of the capture, whichever is earlier. Without a time interval, closes nothing.
  void close_open(EventBatch& batch);

 private:
  struct Stretch {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool is_taken = false;

    [[nodiscard]] bool holds(std::int64_t time_ns) const { return time_ns >= start_ns && time_ns < end_ns; }
  };
  struct Track {
    Stretch stretch;
    bool is_known = false;
    RunCut cut;
  };

  [[nodiscard]] Stretch stretch_of(ProcessId process) const;
  Track& track_of(TrackId own);
  [[nodiscard]] bool cut_run(ScopeRun& run, std::int64_t first_ns);
  [[nodiscard]] bool cut_span(SpanEvent& span);
  void cut_samples(EventBatch& batch);

  const Timeline& timeline_;
  const timeline::Source& source_;
  const Selection& selection_;
  Stretch hull_;
  timeline::BlockChoice choice_;
  std::unordered_map<TrackId, Track> tracks_;
  std::unordered_map<FrameStreamId, capture::FrameWalk> frames_;  // by the capture's own ids
};

}  // namespace kymo::stats
