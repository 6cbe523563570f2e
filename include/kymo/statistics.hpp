// What captures amount to: per site, span name, frame stream and metric.
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

/// Frames of a process's main stream, counted from 0, both included.
struct FrameRange {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

struct SelectionOptions {
  std::vector<std::string> sites;      ///< patterns for names of sites and spans; one must fit. None: all
  std::vector<std::string> threads;    ///< patterns for names of tracks; one must fit. None: all
  std::optional<FrameRange> frames;    ///< of each process
  std::optional<std::uint64_t> phase;  ///< its number, in each process
  TimeRange time;                      ///< on the timeline's axis
  ProcessId process = 0;               ///< 0: all
};

/// There is nothing of what was asked for. what() says what there is instead.
class KYMO_API SelectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~SelectionError() override;
};

/// Durations of one kind. Percentiles by nearest rank out of a histogram of three significant digits: at most 1/1024
/// off and never too low; everything else is exact.
struct DurationStatistics {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  double mean_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p95_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
  std::shared_ptr<const capture::Histogram> histogram;  ///< for kymo's own layers; else none
};

/// The scopes of one site that ended.
struct SiteStatistics {
  SiteId site = 0;  ///< one of them, where equal sites of several processes are joined
  std::size_t processes = 1;
  DurationStatistics durations;
  std::uint64_t self_ns = 0;
  std::uint64_t unbalanced = 0;     ///< did not close themselves
  std::uint64_t self_is_bound = 0;  ///< their self time is an upper bound, since events before were lost
};

/// The spans of one name that are not scopes: emitted ones, and async spans that ended.
struct SpanStatistics {
  NameId name = 0;
  DurationStatistics durations;
};

struct FrameStatistics {
  FrameStreamId stream = 0;
  std::size_t processes = 1;
  DurationStatistics durations;
};

/// The samples of one metric; those that are not a number do not count.
struct MetricStatistics {
  MetricId metric = 0;
  std::size_t processes = 1;
  std::uint64_t count = 0;
  double min = 0;
  double mean = 0;
  double max = 0;
  double last = 0;  ///< the latest in time
};

/// What was lost while recording, over all tracks.
struct DropTotals {
  std::uint64_t recorded_scopes = 0;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;  ///< arguments, samples and other events
  std::size_t tracks = 0;            ///< that lost anything

  void add(const TrackTotals& track) {
    recorded_scopes += track.recorded_scopes;
    dropped_scopes += track.dropped_scopes;
    dropped_others += track.dropped_others;
    tracks += track.dropped_scopes + track.dropped_others != 0 ? 1 : 0;
  }
};

struct Statistics {
  std::vector<SiteStatistics> sites;  ///< by falling total, as are spans
  std::vector<SpanStatistics> spans;
  std::vector<FrameStatistics> frame_streams;
  std::vector<MetricStatistics> metrics;
  DropTotals drops;
  std::size_t blocks = 0;          ///< of events
  std::size_t blocks_decoded = 0;  ///< the others were covered by summaries
  std::size_t blocks_damaged = 0;  ///< are not in the numbers, as far as no summary covers them
  std::size_t summaries_used = 0;
};

/// Adds up a part of a timeline. With summaries for all of a capture about a millisecond, else about 20 ns a scope;
/// memory does not grow with the files. Scopes that are open where a stretch of time ends count up to there; drops are
/// told of whole timelines only.
///
/// `by_process` keeps processes apart; else equal sites (name, function, file, line), frame streams and metrics (name,
/// unit, labels) of several processes are one. SelectionError where a pattern fits nothing, or there is no such frame
/// or phase; CaptureError where a file cannot be read any more.
[[nodiscard]] KYMO_API Statistics read_statistics(const Timeline& timeline, const SelectionOptions& part = {},
                                                  bool by_process = false);

/// What threads waited for a lock while one holder had it.
struct HolderWaits {
  std::string holder;  ///< a place or a thread; empty: not known
  std::uint64_t waits = 0;
  std::uint64_t total_ns = 0;
  std::int64_t max_ns = 0;
};

/// A lock, or several of one name.
struct LockStatistics {
  std::string name;
  std::string file;  ///< where it was declared: known only where somebody waited
  std::uint32_t line = 0;
  std::uint64_t waits = 0;
  std::uint64_t waited_ns = 0;  ///< by all that waited
  std::int64_t max_wait_ns = 0;
  std::uint64_t holds = 0;
  std::uint64_t held_ns = 0;
  std::int64_t max_hold_ns = 0;
  std::vector<HolderWaits> holders;  ///< by falling total
};

/// Who waited for which kymo::Lockable, and who held it: the waits and holds among the sites and spans of a timeline's
/// statistics, by falling time waited, then held. Microseconds.
[[nodiscard]] KYMO_API std::vector<LockStatistics> lock_statistics(const Timeline& timeline,
                                                                   const Statistics& statistics);

/// Whether spans of this name mark where work was handed to a GPU that told no times of it: their durations say
/// nothing.
[[nodiscard]] KYMO_API bool is_unresolved(std::string_view span_name) noexcept;

}  // namespace kymo
