// kymo stats --json.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "apps/kymo/shared/warnings.hpp"
#include "apps/kymo/stats/process_json.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "base/system/unresolved.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::DurationStatistics;
using stats::SiteStatistics;
using stats::Statistics;

Json to_json(const DurationStatistics& durations, bool has_histogram) {
  const auto known = [&durations](auto value) { return durations.count != 0 ? Json(value) : Json(); };
  Json json = {{"count", durations.count},
               {"total_ns", durations.total_ns},
               {"mean_ns", known(durations.mean_ns)},
               {"min_ns", known(durations.min_ns)},
               {"p50_ns", known(durations.p50_ns)},
               {"p95_ns", known(durations.p95_ns)},
               {"p99_ns", known(durations.p99_ns)},
               {"p99_9_ns", known(durations.p99_9_ns)},
               {"max_ns", known(durations.max_ns)}};
  if (has_histogram && durations.histogram) {
    Json buckets = Json::array();
    durations.histogram->for_each_bucket([&buckets](const capture::Histogram::Bucket& bucket) {
      buckets.push_back({bucket.lowest_ns, bucket.highest_ns, bucket.count});
    });
    json["histogram"] = std::move(buckets);
  }
  return json;
}

Json beside_to_json(stats::SiteMetrics& beside, SiteId site) {
  Json values = Json::array();
  const std::vector<stats::SiteMetricValue>* const found = beside.find(site);
  for (std::size_t i = 0; i < beside.columns().size(); ++i) {
    const stats::SiteMetricColumn& column = beside.columns()[i];
    Json value = {{"metric", column.name}, {"unit", column.unit}, {"sources", column.sources}};
    const bool is_known = found != nullptr && !std::isnan((*found)[i].peak);
    value["mean"] = is_known ? Json((*found)[i].mean) : Json();
    value["peak"] = is_known ? Json((*found)[i].peak) : Json();
    value["known_s"] = is_known ? (*found)[i].known_s : 0.0;
    value["is_estimated"] = is_known && (*found)[i].is_estimated;
    values.push_back(std::move(value));
  }
  return values;
}

/// Null where nothing is known, which is not 0.
Json run_times_to_json(const stats::SiteRunTimes* known) {
  if (known == nullptr) {
    return {};
  }
  return {{"scopes", known->scopes},
          {"total_ns", known->total_ns},
          {"running_ns", known->times.running_ns},
          {"runnable_ns", known->times.runnable_ns},
          {"blocked_ns", known->times.blocked_ns}};
}

Json known(double value) {
  return std::isnan(value) ? Json() : Json(value);
}

Json locks_to_json(const std::vector<stats::LockStatistics>& all) {
  Json locks = Json::array();
  for (const stats::LockStatistics& lock : all) {
    Json holders = Json::array();
    for (const stats::HolderWaits& holder : lock.holders) {
      holders.push_back({{"holder", holder.holder},
                         {"waits", holder.waits},
                         {"total_ns", holder.total_ns},
                         {"max_ns", holder.max_ns}});
    }
    locks.push_back({{"name", lock.name},
                     {"file", lock.file},
                     {"line", lock.line},
                     {"waits", lock.waits},
                     {"waited_ns", lock.waited_ns},
                     {"max_wait_ns", lock.max_wait_ns},
                     {"holds", lock.holds},
                     {"held_ns", lock.held_ns},
                     {"max_hold_ns", lock.max_hold_ns},
                     {"waited_for", std::move(holders)}});
  }
  return locks;
}

}  // namespace

Json site_to_json(const SiteDeclaration& site) {
  return {{"name", site.name}, {"function", site.function}, {"file", site.file}, {"line", site.line}};
}

Json tables_to_json(const Timeline& timeline, const Statistics& statistics,
                    const std::vector<stats::LockStatistics>& locks, const StatsTableOptions& options) {
  Json sites = Json::array();
  const std::size_t shown = options.top == 0 ? statistics.sites.size() : std::min(options.top, statistics.sites.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SiteStatistics& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    Json row = site_to_json(declared);
    put_process(timeline, options.by_process, declared.process, site.processes, row);
    row.update(to_json(site.durations, options.has_histograms));
    row["self_ns"] = site.self_ns;
    row["unbalanced"] = site.unbalanced;
    row["self_is_bound"] = site.self_is_bound;
    if (options.run_times != nullptr) {
      row["run_states"] = run_times_to_json(options.run_times->find(site.site));
    }
    if (options.beside != nullptr) {
      row["with"] = beside_to_json(*options.beside, site.site);
    }
    sites.push_back(std::move(row));
  }
  Json spans = Json::array();
  for (const stats::SpanStatistics& span : statistics.spans) {
    Json row = {{"name", timeline.name(span.name)}};
    if (base::is_unresolved(timeline.name(span.name))) {
      row.update({{"count", span.durations.count}, {"unresolved", true}});
    } else {
      row.update(to_json(span.durations, options.has_histograms));
    }
    spans.push_back(std::move(row));
  }
  Json streams = Json::array();
  for (const stats::FrameStatistics& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    Json row = {{"name", declared.name}};
    put_process(timeline, options.by_process, declared.process, stream.processes, row);
    row.update(to_json(stream.durations, options.has_histograms));
    streams.push_back(std::move(row));
  }
  Json metrics = Json::array();
  for (const stats::MetricStatistics& metric : statistics.metrics) {
    const MetricDeclaration& declared = timeline.metric(metric.metric);
    Json row = {{"name", declared.name},
                {"unit", declared.unit},
                {"labels", labels_json(declared.labels)},
                {"source", declared.source}};
    put_process(timeline, options.by_process, declared.process, metric.processes, row);
    row.update({{"count", metric.count},
                {"min", known(metric.min)},
                {"mean", known(metric.mean)},
                {"max", known(metric.max)},
                {"last", known(metric.last)},
                {"standard_deviation", known(metric.standard_deviation)},
                {"p50", known(metric.p50)},
                {"p95", known(metric.p95)},
                {"p99", known(metric.p99)}});
    metrics.push_back(std::move(row));
  }
  return {{"sites", std::move(sites)},
          {"spans", std::move(spans)},
          {"frame_streams", std::move(streams)},
          {"metrics", std::move(metrics)},
          {"locks", locks_to_json(locks)}};
}

}  // namespace kymo::command
