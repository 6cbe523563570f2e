// A timeline's metrics as OpenMetrics text: once into a file, or again and again for a scraper.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "exchange/common/exporter.hpp"
#include "exchange/tables/openmetrics_text.hpp"

namespace kymo::exchange {

/// Writes all metrics that have a value. A pass over all samples.
ExportWriter write_openmetrics;

/// The latest sample of every metric, and the wall clock of its time.
class LatestSamples {
 public:
  void take(const EventBatch& batch, std::size_t capture);
  /// Adds the metrics that have a value: one whose latest sample is a gap has none.
  void put(const Timeline& timeline, OpenMetricsText& text) const;

 private:
  struct Sample {
    std::int64_t time_ns = INT64_MIN;
    double value = 0;
  };

  std::map<MetricId, Sample> latest_;
  std::optional<ClockAnchor> anchor_;
};

/// Captures for a scraper, while they grow: every metric's latest sample, and the durations of frames, sites and spans
/// as summaries over the whole recording. Once another capture lies at a path, that one is read. Thread-safe.
///
/// The first text costs a pass over all samples. Later ones read what was appended, and the events that the file's
/// summaries do not cover yet, about a second's. A request that comes earlier than ten times as long as the last text
/// took gets that text again, so scrapers can never take more than a tenth of a core.
class LiveOpenMetrics {
 public:
  using Opener = std::function<Timeline()>;
  /// Opens the captures at the first text, and again once one was replaced.
  explicit LiveOpenMetrics(Opener open) : open_(std::move(open)) {}

  /// The whole text. Throws CaptureError if the captures cannot be opened; the next call tries again.
  [[nodiscard]] std::string text();

 private:
  void follow();
  [[nodiscard]] std::string compose() const;

  Opener open_;
  std::mutex mutex_;  // guards all below
  std::optional<Timeline> timeline_;
  LatestSamples latest_;
  std::vector<std::size_t> blocks_read_;  // by capture
  std::string text_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace kymo::exchange
