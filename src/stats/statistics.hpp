// What captures amount to: per site, span name, frame stream and metric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/histogram.hpp"
#include "stats/selection.hpp"

namespace kymo::stats {

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
  std::shared_ptr<const capture::Histogram> histogram;  ///< where it was asked for
};

[[nodiscard]] DurationStatistics statistics_of(const capture::Histogram& histogram, bool keeps_histogram = false);

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

  void add(const TrackTotals& track);
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

struct StatisticsOptions {
  /// Keeps processes apart. Else equal sites (name, function, file, line), frame streams and metrics (name, unit,
  /// labels) of several processes are one.
  bool by_process = false;
  /// Without, every block is decoded. The result is the same.
  bool use_summaries = true;
  /// A part of the timeline. One that leaves out any events is decoded as far as it reaches. Scopes that are open where
  /// a stretch of time ends, or with the capture, then count as well, up to there; drops are not told.
  Selection selection = {};
  bool keeps_histograms = false;
  /// Is told the share that is done, 0 to 1.
  std::function<void(double)> on_progress = {};
};

/// Adds everything up. With summaries for all of a capture about a millisecond, else about 20 ns a scope; memory does
/// not grow with the files.
[[nodiscard]] Statistics gather_statistics(const Timeline& timeline, const StatisticsOptions& options = {});

}  // namespace kymo::stats
