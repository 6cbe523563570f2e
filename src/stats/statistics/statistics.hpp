// Statistics of captures: per site, span name, frame stream and metric.
#pragma once

#include <functional>

#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

#include "capture/summary/histogram.hpp"
#include "capture/summary/summary.hpp"
#include "stats/common/selection.hpp"

namespace kymo::stats {

using kymo::DropTotals;
using kymo::DurationStatistics;
using kymo::FrameStatistics;
using kymo::MetricStatistics;
using kymo::SiteStatistics;
using kymo::SpanStatistics;
using kymo::Statistics;

[[nodiscard]] DurationStatistics statistics_of(const capture::Histogram& histogram, bool keeps_histogram = false);

/// Of scopes of one process.
[[nodiscard]] SiteStatistics statistics_of(SiteId site, const capture::SiteSummary& scopes, bool keeps_histogram);

struct StatisticsOptions {
  /// Keeps processes apart. Otherwise equal sites (name, function, file, line), frame streams and metrics (name, unit,
  /// labels) of several processes are joined.
  bool by_process = false;
  /// If false, every block is decoded. The result is the same.
  bool use_summaries = true;
  /// A part of the timeline. If it excludes any events, its blocks are decoded. Scopes open at the end of the interval
  /// or of the capture then count up to there; drops are not reported.
  Selection selection = {};
  bool keeps_histograms = false;
  /// Standard deviation and percentiles of metrics: reads the samples of every block.
  bool metric_percentiles = false;
  /// Receives the finished share, 0 to 1.
  std::function<void(double)> on_progress = {};
};

/// Computes all statistics. About a millisecond if summaries cover all of a capture, otherwise about 20 ns a scope.
/// Memory does not grow with the files.
[[nodiscard]] Statistics gather_statistics(const Timeline& timeline, const StatisticsOptions& options = {});

}  // namespace kymo::stats
