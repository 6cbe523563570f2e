// Statistics of captures: per site, span name, frame stream and metric.
//
//     const kymo::Timeline timeline("run.kymo");
//     for (const kymo::SiteStatistics& site : kymo::read_statistics(timeline).sites) {
//       use(timeline.site(site.site).name, site.durations.count, site.durations.p99_ns);
//     }
//
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo {

namespace capture {
class Histogram;
}  // namespace capture

/// Frames of a process's main stream by number, both ends included.
struct FrameRange {
  FrameNumber first = 1;
  FrameNumber last = std::numeric_limits<FrameNumber>::max();
};

/// Selects events by name, thread, frame, time and phase.
struct SelectionOptions {
  std::vector<std::string> sites;      ///< patterns for names of sites and spans; one must match. Empty: all
  std::vector<std::string> threads;    ///< patterns for names of tracks; one must match. Empty: all
  std::optional<FrameRange> frames;    ///< of each process
  std::optional<std::uint64_t> phase;  ///< its number, in each process
  TimeRange time;                      ///< on the timeline's axis
  ProcessId process{};                 ///< 0: all
};

/// The selection matches nothing. what() lists what exists.
class KYMO_API SelectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~SelectionError() override;
};

/// Statistics of durations. Percentiles are nearest-rank values from a histogram with three significant digits: at most
/// 1/1024 too high and never too low. Everything else is exact. Without durations only count and total mean anything.
struct DurationStatistics {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  double mean_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p95_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t p99_9_ns = 0;
  std::int64_t max_ns = 0;
  std::shared_ptr<const capture::Histogram> histogram;  ///< for kymo's own layers; otherwise null
};

/// The completed scopes of one site.
struct SiteStatistics {
  SiteId site{};  ///< one of them, if equal sites of several processes are joined
  std::size_t processes = 1;
  DurationStatistics durations;
  std::uint64_t self_ns = 0;
  std::uint64_t unbalanced = 0;     ///< not closed by themselves
  std::uint64_t self_is_bound = 0;  ///< self time is an upper bound, since earlier events were lost
};

/// The non-scope spans of one name: emitted spans, and completed async spans.
struct SpanStatistics {
  NameId name{};
  DurationStatistics durations;
};

/// The durations of a frame stream.
struct FrameStatistics {
  FrameStreamId stream{};
  std::size_t processes = 1;
  DurationStatistics durations;
};

/// The samples of one metric. NaN samples do not count; each other sample counts once, however long it stood. Without
/// such samples all figures are NaN.
///
/// The standard deviation (of the population) and the percentiles are NaN unless they were asked for. Infinite samples
/// have no standard deviation. Percentiles are nearest-rank values, at most 1/1024 nearer to zero than the exact ones.
struct MetricStatistics {
  MetricId metric{};
  std::size_t processes = 1;
  std::uint64_t count = 0;
  double min = 0;
  double mean = 0;
  double max = 0;
  double last = 0;  ///< latest in time
  double standard_deviation = std::numeric_limits<double>::quiet_NaN();
  double p50 = std::numeric_limits<double>::quiet_NaN();
  double p95 = std::numeric_limits<double>::quiet_NaN();
  double p99 = std::numeric_limits<double>::quiet_NaN();
};

/// Losses while recording, over all tracks.
struct DropTotals {
  std::uint64_t recorded_scopes = 0;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;  ///< arguments, samples and other events
  std::size_t tracks = 0;            ///< number of tracks with losses

  void add(const TrackTotals& track) {
    recorded_scopes += track.recorded_scopes;
    dropped_scopes += track.dropped_scopes;
    dropped_others += track.dropped_others;
    tracks += track.dropped_scopes + track.dropped_others != 0 ? 1 : 0;
  }
};

/// The statistics of a selection.
struct Statistics {
  std::vector<SiteStatistics> sites;  ///< by descending total; likewise spans
  std::vector<SpanStatistics> spans;
  std::vector<FrameStatistics> frame_streams;
  std::vector<MetricStatistics> metrics;
  DropTotals drops;
  std::size_t blocks = 0;          ///< event blocks
  std::size_t blocks_decoded = 0;  ///< the others were covered by summaries
  std::size_t blocks_damaged = 0;  ///< not in the numbers, unless a summary covers them
  std::size_t summaries_used = 0;
};

/// Computes the statistics of part of a timeline. If summaries cover all of a capture, about a millisecond; otherwise
/// about 20 ns a scope. Memory does not grow with the files. Scopes open at the end of the selected interval count up
/// to that end. Drops are reported for whole timelines only.
///
/// `metric_percentiles` adds the standard deviation and percentiles of metrics. No summary has them, so every block is
/// read for its samples: about a second for each GB in the page cache.
///
/// `by_process` keeps processes apart. Otherwise equal sites (name, function, file, line), frame streams and metrics
/// (name, unit, labels) of several processes are joined. Throws SelectionError if a pattern matches nothing, or the
/// frame or phase does not exist, and CaptureError if a file becomes unreadable.
[[nodiscard]] KYMO_API Statistics read_statistics(const Timeline& timeline, const SelectionOptions& part = {},
                                                  bool by_process = false, bool metric_percentiles = false);

/// Waits of threads for a lock during one holder's holds.
struct HolderWaits {
  std::string holder;  ///< a place or a thread; empty: unknown
  std::uint64_t waits = 0;
  std::uint64_t total_ns = 0;
  std::int64_t max_ns = 0;
};

/// A lock, or several of one name.
struct LockStatistics {
  std::string name;
  std::string file;  ///< place of declaration; known only if some thread waited
  std::uint32_t line = 0;
  std::uint64_t waits = 0;
  std::uint64_t waited_ns = 0;  ///< sum over all waiters
  std::int64_t max_wait_ns = 0;
  std::uint64_t holds = 0;
  std::uint64_t held_ns = 0;
  std::int64_t max_hold_ns = 0;
  std::vector<HolderWaits> holders;  ///< by descending total
};

/// Waits and holds of each kymo::Lockable, from the sites and spans of a timeline's statistics. Sorted by descending
/// time waited, then held. Takes microseconds.
[[nodiscard]] KYMO_API std::vector<LockStatistics> lock_statistics(const Timeline& timeline,
                                                                   const Statistics& statistics);

/// True if spans of this name mark the submission of GPU work whose times are unknown: their durations are meaningless.
[[nodiscard]] KYMO_API bool is_unresolved(std::string_view span_name) noexcept;

}  // namespace kymo
