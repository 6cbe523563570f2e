#include "exchange/tables/openmetrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <kymo/batch_cursor.hpp>

#include "base/system/unresolved.hpp"
#include "exchange/common/timeline_batches.hpp"
#include "stats/statistics/statistics.hpp"
#include "timeline/replaced.hpp"

namespace kymo::exchange {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Sites beyond these, by their total time, are left out: a scraper keeps every series.
constexpr std::size_t most_sites = 500;

/// Names the process if there are several.
Labels labels_of(const Timeline& timeline, ProcessId process) {
  if (timeline.processes().size() < 2) {
    return {};
  }
  const ProcessDeclaration& declared = timeline.process(process).declaration;
  return {{"host", declared.host}, {"pid", std::to_string(declared.pid)}};
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// The labels of sites, which stay the same while captures grow. Sites that share all of them have numbers, by the
/// order of their declarations.
class SiteLabels {
 public:
  SiteLabels(const Timeline& timeline, std::span<const stats::SiteStatistics> shown) : timeline_(timeline) {
    std::unordered_set<std::string_view> names;
    for (const stats::SiteStatistics& site : shown) {
      names.insert(timeline.site(site.site).name);
    }
    for (const SiteDeclaration& site : timeline.declarations().sites) {
      if (names.count(site.name) != 0) {
        auto& alike = numbers_[openmetrics_labels(plain(site))];
        alike.try_emplace(key_of(site), alike.size() + 1);
      }
    }
  }

  [[nodiscard]] std::string of(SiteId id) {
    const SiteDeclaration& site = timeline_.site(id);
    Labels labels = plain(site);
    if (const std::size_t number = numbers_[openmetrics_labels(labels)][key_of(site)]; number > 1) {
      labels.emplace_back("number", std::to_string(number));
    }
    return openmetrics_labels(labels);
  }

 private:
  /// What statistics tell sites of one name apart by.
  using Key = std::tuple<ProcessId, std::string_view, std::string_view, std::uint32_t>;
  static Key key_of(const SiteDeclaration& site) { return {site.process, site.function, site.file, site.line}; }

  [[nodiscard]] Labels plain(const SiteDeclaration& site) const {
    Labels labels = labels_of(timeline_, site.process);
    labels.insert(labels.end(),
                  {{"site", site.name}, {"file", file_name(site.file)}, {"line", std::to_string(site.line)}});
    if (!site.function.empty() && site.function != site.name) {
      labels.emplace_back(site.role == SiteRole::wait ? "holder" : "function", site.function);
    }
    return labels;
  }

  const Timeline& timeline_;
  std::map<std::string, std::map<Key, std::size_t>> numbers_;  // by labels
};

void add_own(OpenMetricsText& text, const char* name, MetricKind kind, std::uint64_t value) {
  MetricDeclaration metric;
  metric.name = name;
  metric.kind = kind;
  text.add(metric, {}, static_cast<double>(value));
}

void add_statistics(const Timeline& timeline, OpenMetricsText& text) {
  stats::StatisticsOptions options;
  options.by_process = true;
  const stats::Statistics statistics = stats::gather_statistics(timeline, options);
  for (const stats::FrameStatistics& frames : statistics.frame_streams) {
    if (frames.durations.count != 0) {
      const FrameStreamDeclaration& declared = timeline.frame_stream(frames.stream);
      Labels labels = labels_of(timeline, declared.process);
      labels.emplace_back("stream", declared.name.empty() ? "main" : declared.name);
      text.add_durations("kymo_frame", "Frame times of the whole recording", openmetrics_labels(labels),
                         frames.durations);
    }
  }
  const std::size_t shown = std::min(statistics.sites.size(), most_sites);
  SiteLabels labels(timeline, std::span(statistics.sites).first(shown));
  for (std::size_t i = 0; i < shown; ++i) {
    text.add_durations("kymo_scope", "Durations of the scopes of the whole recording",
                       labels.of(statistics.sites[i].site), statistics.sites[i].durations);
  }
  std::size_t spans = 0;
  for (const stats::SpanStatistics& span : statistics.spans) {
    if (span.durations.count != 0 && !base::is_unresolved(timeline.name(span.name)) && spans++ < most_sites) {
      text.add_durations("kymo_span", "Durations of GPU work and of async and emitted spans of the whole recording",
                         openmetrics_labels({{"name", std::string(timeline.name(span.name))}}), span.durations);
    }
  }
  add_own(text, "kymo_recorded_scopes", MetricKind::counter, statistics.drops.recorded_scopes);
  add_own(text, "kymo_dropped_scopes", MetricKind::counter, statistics.drops.dropped_scopes);
  add_own(text, "kymo_sites_left_out", MetricKind::gauge, statistics.sites.size() - shown);
}

}  // namespace

void LatestSamples::take(const EventBatch& batch, std::size_t capture) {
  // The timeline uses the first capture's clock, so the wall clock comes from it as well.
  if (capture == 0 && !batch.clock_anchors.empty()) {
    anchor_ = batch.clock_anchors.back();
  }
  for (const SampleRun& run : batch.samples) {
    Sample& known = latest_[run.metric];
    for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
      if (run.times_ns[i] >= known.time_ns) {
        known = {run.times_ns[i], run.values[i]};
      }
    }
  }
}

void LatestSamples::put(const Timeline& timeline, OpenMetricsText& text) const {
  for (const auto& [id, sample] : latest_) {
    if (sample.time_ns == INT64_MIN || std::isnan(sample.value)) {
      continue;
    }
    std::int64_t wall_ns = -1;
    if (!anchor_ || __builtin_sub_overflow(sample.time_ns, anchor_->monotonic_ns, &wall_ns) ||
        __builtin_add_overflow(wall_ns, anchor_->realtime_ns, &wall_ns)) {
      wall_ns = -1;
    }
    const MetricDeclaration& metric = timeline.metric(id);
    Labels labels = labels_of(timeline, metric.process);
    labels.insert(labels.end(), metric.labels.begin(), metric.labels.end());
    text.add(metric, openmetrics_labels(labels), sample.value,
             wall_ns >= 0 ? std::optional<std::int64_t>(wall_ns) : std::nullopt);
  }
}

std::vector<std::string> write_openmetrics(const Timeline& timeline, base::OutputFile file,
                                           const ExportRequest& request) {
  LatestSamples latest;
  visit_batches(timeline, BatchParts::others, request.on_progress,
                [&latest](const EventBatch& batch, std::size_t capture) { latest.take(batch, capture); });
  OpenMetricsText text;
  latest.put(timeline, text);
  text.take([&file](std::string_view piece) {
    file.buffer() += piece;
    file.spill();
  });
  file.close();
  return {};
}

void LiveOpenMetrics::follow() {
  if (timeline_ && !timeline::is_replaced(*timeline_)) {
    timeline_->refresh();
  } else {
    timeline_.emplace(open_());
    latest_ = {};
    blocks_read_.clear();
  }
  blocks_read_.resize(timeline_->capture_count());
  std::vector<std::size_t> read = blocks_read_;
  BatchCursor cursor(*timeline_, {}, BatchParts::others, [&](std::size_t capture, std::size_t block) {
    if (block < blocks_read_[capture]) {
      return false;
    }
    read[capture] = std::max(read[capture], block + 1);
    return true;
  });
  for (EventBatch batch; cursor.next(batch);) {
    latest_.take(batch, cursor.capture());
  }
  blocks_read_ = std::move(read);
}

std::string LiveOpenMetrics::compose() const {
  OpenMetricsText text;
  // First, so that no metric of a program takes their names.
  add_statistics(*timeline_, text);
  latest_.put(*timeline_, text);
  std::string whole;
  text.take([&whole](std::string_view piece) { whole += piece; });
  return whole;
}

std::string LiveOpenMetrics::text() {
  constexpr int rest = 10;  // times as long as the work
  const std::lock_guard lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  if (text_.empty() || start >= next_) {
    follow();
    text_ = compose();
    const auto end = std::chrono::steady_clock::now();
    next_ = end + rest * (end - start);
  }
  return text_;
}

}  // namespace kymo::exchange
