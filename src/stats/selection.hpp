// Which part of a timeline statistics are about: sites, threads, frames, phases, a stretch of time; and cutting batches
// down to it.
//
// A scope, span or frame that reaches beyond the chosen stretch counts with the part that lies within, so that shares
// of the stretch add up to it. A frame stream's frames count where both of their marks lie within.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

#include "base/pattern.hpp"
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
  /// SelectionError where a pattern fits nothing, or there is no such frame or phase. Frames and phases cost a pass
  /// over what is not scopes.
  Selection(const Timeline& timeline, const SelectionOptions& options);

  /// All tracks at all times; sites may still be chosen.
  [[nodiscard]] bool takes_every_event() const {
    return !cuts_time_ && options_.threads.empty() && options_.process == 0;
  }
  [[nodiscard]] bool cuts_time() const { return cuts_time_; }
  [[nodiscard]] bool chooses_sites() const { return !options_.sites.empty(); }
  [[nodiscard]] bool takes_site(std::string_view name) const;
  [[nodiscard]] bool takes_track(const TrackDeclaration& track) const;
  /// The stretch of a process; an empty one where nothing of it is chosen.
  [[nodiscard]] TimeRange range_of(ProcessId process) const;
  /// The earliest and the latest of all processes' stretches.
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

/// Cuts the batches of one capture, in order, down to a selection: drops what is outside, shortens what reaches
/// beyond. Scopes that are open where the stretch begins are opened there, those open where it ends are closed there.
/// Not thread safe.
class BatchCut {
 public:
  /// All must stay.
  BatchCut(const Timeline& timeline, const timeline::Source& source, const Selection& selection);

  /// Whether a block can hold anything of it. To be asked of all blocks in order.
  [[nodiscard]] bool needs(std::size_t block);
  /// Cuts a batch with the capture's own ids and times. Arguments of scopes, async begins, messages, flows and sync
  /// points go.
  void cut(EventBatch& batch);
  /// After the last batch: leaves in `batch` what closes the scopes that are still open, where the stretch ends or, if
  /// that is earlier, with the capture. Without a cut in time nothing is closed.
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
    bool is_seen = false;
    bool has_begun = false;  // there were events within
    bool is_over = false;
    std::vector<OpenScope> open;
    std::uint64_t next_sequence = 0;
  };

  [[nodiscard]] Stretch stretch_of(ProcessId process) const;
  Track& track_of(TrackId own);
  [[nodiscard]] bool cut_run(ScopeRun& run);
  static void begin_within(ScopeRun& run, Track& track, std::size_t first);
  static void close_track(Track& track, std::int64_t time_ns, ScopeRun& run);
  static void append_closes(Track& track, std::int64_t time_ns, ScopeRun& run);
  void cut_spans(EventBatch& batch);
  void cut_samples(EventBatch& batch);

  const Timeline& timeline_;
  const timeline::Source& source_;
  const Selection& selection_;
  Stretch hull_;
  bool has_skipped_later_ = false;  // blocks after the stretch
  std::unordered_map<TrackId, Track> tracks_;
};

}  // namespace kymo::stats
