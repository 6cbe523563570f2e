// Statistics of captures: adds up summaries, and the blocks that no summary covers.
#include "stats/statistics/statistics.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "capture/format/bytes.hpp"
#include "capture/summary/totals.hpp"
#include "stats/common/system_processes.hpp"
#include "stats/common/value_distribution.hpp"
#include "timeline/source.hpp"

namespace kymo::stats {

using timeline::Source;

DurationStatistics statistics_of(const capture::Histogram& histogram, bool keeps_histogram) {
  DurationStatistics statistics;
  if (keeps_histogram) {
    statistics.histogram = std::make_shared<const capture::Histogram>(histogram);
  }
  statistics.count = histogram.count();
  statistics.total_ns = histogram.total_ns();
  statistics.mean_ns = histogram.mean_ns();
  statistics.min_ns = histogram.min_ns();
  statistics.p50_ns = histogram.percentile_ns(50);
  statistics.p95_ns = histogram.percentile_ns(95);
  statistics.p99_ns = histogram.percentile_ns(99);
  statistics.p99_9_ns = histogram.percentile_ns(99.9);
  statistics.max_ns = histogram.max_ns();
  return statistics;
}

SiteStatistics statistics_of(SiteId site, const capture::SiteSummary& scopes, bool keeps_histogram) {
  SiteStatistics statistics;
  statistics.site = site;
  statistics.durations = statistics_of(scopes.durations, keeps_histogram);
  statistics.self_ns = scopes.self_ns;
  statistics.unbalanced = scopes.unbalanced;
  statistics.self_is_bound = scopes.self_is_bound;
  return statistics;
}

namespace {

/// Key by which declarations of different processes are joined.
using Key = std::tuple<ProcessId, std::string, std::string, std::string, std::uint64_t>;

template <typename Entry>
struct Joined {
  decltype(Entry::id) id{};
  std::set<ProcessId> processes;
  Entry entry;
};

template <typename Entry>
using JoinedBy = std::map<Key, Joined<Entry>>;

/// Adds one process's statistics of a thing.
template <typename Entry>
void join(JoinedBy<Entry>& all, Key key, decltype(Entry::id) id, ProcessId process, const Entry& entry) {
  Joined<Entry>& joined = all[std::move(key)];
  if (joined.id == decltype(Entry::id){}) {
    joined.id = id;
  }
  joined.processes.insert(process);
  joined.entry.merge(entry);
}

class Gathering {
 public:
  Gathering(const Timeline& timeline, const StatisticsOptions& options)
      : timeline_(timeline), options_(options), processes_(timeline) {}

  Statistics run() {
    const auto sources = timeline::sources_of(timeline_);
    for (const auto& source : sources) {
      bytes_in_all_ += source->reader().size_bytes();
    }
    for (const auto& source : sources) {
      add_source(*source);
    }
    if (options_.selection.takes_every_event() && result_.blocks != 0) {
      add_unread_metrics();
    }
    put_sites();
    put_others();
    return std::move(result_);
  }

 private:
  void add_source(const Source& source) {
    capture::SummaryTotals totals;
    const bool is_whole = options_.selection.takes_every_event();
    if (options_.use_summaries && is_whole) {
      result_.summaries_used += capture::add_summaries(source.reader(), {true, true, false}, totals);
    }
    BatchCut cut(timeline_, source, options_.selection);
    EventBatch batch;
    const std::uint64_t bytes_before = bytes_done_;
    for (std::size_t block = 0; block < source.block_count(); ++block) {
      ++result_.blocks;
      const std::uint32_t number = source.block_number(block);
      if (!cut.needs(block)) {
        continue;
      }
      if (totals.covers(number)) {
        if (options_.metric_percentiles && source.read_own(block, BatchParts::samples, batch)) {
          add_samples(batch);
        }
        continue;
      }
      if (source.read_own(block, BatchParts::everything, batch)) {
        cut.cut(batch);
        totals.add(batch, number);
        add_samples(batch);
        ++result_.blocks_decoded;
      } else {
        ++result_.blocks_damaged;
      }
      if (options_.on_progress && bytes_in_all_ != 0) {
        const double of_source = static_cast<double>(block + 1) / static_cast<double>(source.block_count());
        options_.on_progress(
            (static_cast<double>(bytes_before) + of_source * static_cast<double>(source.reader().size_bytes())) /
            static_cast<double>(bytes_in_all_));
      }
    }
    if (!is_whole) {
      cut.close_open(batch);
      totals.add(batch, std::numeric_limits<std::uint32_t>::max());
    }
    bytes_done_ += source.reader().size_bytes();
    const capture::Summary total = totals.finish();
    take_drops(source, total, is_whole);
    take(source, total);
    values_.clear();
  }

  void add_samples(const EventBatch& batch) {
    if (!options_.metric_percentiles) {
      return;
    }
    for (const SampleRun& run : batch.samples) {
      ValueDistribution& values = values_[run.metric];
      for (const double value : run.values) {
        values.add(value);
      }
    }
  }

  /// A capture's last loss may be stated in its closing words alone.
  void take_drops(const Source& source, const capture::Summary& total, bool is_whole) {
    std::map<TrackId, TrackTotals> all;
    for (const capture::TrackSummary& track : total.tracks) {
      all[track.id] = {track.id, track.open.size(), track.dropped_scopes, track.dropped_others, 0};
    }
    for (const TrackTotals& closing : source.reader().end().tracks) {
      if (is_whole && closing.dropped_scopes + closing.dropped_others != 0) {
        TrackTotals& known = all[closing.track];
        known = {closing.track, known.recorded_scopes, std::max(known.dropped_scopes, closing.dropped_scopes),
                 std::max(known.dropped_others, closing.dropped_others), 0};
      }
    }
    for (const auto& [track, totals] : all) {
      result_.drops.add(totals);
    }
  }

  void take(const Source& source, const capture::Summary& total) {
    for (const capture::SiteSummary& site : total.sites) {
      if (site.empty()) {
        continue;
      }
      result_.drops.recorded_scopes += site.durations.count();
      const SiteId id = source.find(site.id);
      const SiteDeclaration& declared = timeline_.site(id);
      if (!options_.selection.takes_site(declared.name)) {
        continue;
      }
      join(sites_, key(declared.process, id.value(), declared.name, declared.function, declared.file, declared.line),
           id, processes_.of(declared.process), site);
    }
    for (const capture::SpanNameSummary& span : total.span_names) {
      const NameId id = source.find(span.id);
      if (!span.empty() && options_.selection.takes_site(timeline_.name(id))) {
        join(spans_, Key(ProcessId{}, std::string(timeline_.name(id)), "", "", 0), id, {}, span);
      }
    }
    for (const capture::FrameStreamSummary& stream : total.frame_streams) {
      if (!stream.empty()) {
        const FrameStreamId id = source.find(stream.id);
        const FrameStreamDeclaration& declared = timeline_.frame_stream(id);
        join(frame_streams_, key(declared.process, id.value(), declared.name, "", "", 0), id,
             processes_.of(declared.process), stream);
      }
    }
    for (capture::MetricSummary metric : total.metrics) {
      if (!metric.empty()) {
        const MetricId id = source.find(metric.id);
        const MetricDeclaration& declared = timeline_.metric(id);
        metric.first_ns = capture::add_times(metric.first_ns, source.shift().offset_ns);
        metric.last_ns = capture::add_times(metric.last_ns, source.shift().offset_ns);
        Key its_key = key_of(id, declared);
        if (const auto values = values_.find(metric.id); values != values_.end()) {
          distributions_[its_key].merge(values->second);
        }
        join(metrics_, std::move(its_key), id, processes_.of(declared.process), metric);
      }
    }
  }

  /// Gives each metric that was declared, but never had a value, a row of its own.
  void add_unread_metrics() {
    for (const MetricDeclaration& declared : timeline_.declarations().metrics) {
      Key its_key = key_of(declared.id, declared);
      if (const auto known = metrics_.find(its_key); known == metrics_.end() || known->second.entry.empty()) {
        join(metrics_, std::move(its_key), declared.id, processes_.of(declared.process), capture::MetricSummary{});
      }
    }
  }

  [[nodiscard]] Key key_of(MetricId id, const MetricDeclaration& declared) const {
    std::string labels;
    for (const auto& [name, value] : declared.labels) {
      labels += name + '=' + value + '\n';
    }
    return key(declared.process, id.value(), declared.name, declared.unit, labels, 0);
  }

  /// Undeclared things have no name; their ids distinguish them.
  [[nodiscard]] Key key(ProcessId process, std::uint32_t id, const std::string& name, const std::string& second,
                        const std::string& third, std::uint64_t number) const {
    if (!process) {
      return {ProcessId{}, name, "", "", id};
    }
    return {options_.by_process ? process : ProcessId{}, name, second, third, number};
  }

  void put_sites() {
    for (const auto& [key, joined] : sites_) {
      result_.sites.push_back(statistics_of(joined.id, joined.entry, options_.keeps_histograms));
      result_.sites.back().processes = joined.processes.size();
    }
    by_falling_total(result_.sites);
  }

  void put_others() {
    for (const auto& [key, joined] : spans_) {
      result_.spans.push_back({joined.id, statistics_of(joined.entry.durations, options_.keeps_histograms)});
    }
    by_falling_total(result_.spans);
    for (const auto& [key, joined] : frame_streams_) {
      result_.frame_streams.push_back(
          {joined.id, joined.processes.size(), statistics_of(joined.entry.frame_times, options_.keeps_histograms)});
    }
    for (const auto& [key, joined] : metrics_) {
      const capture::MetricSummary& metric = joined.entry;
      const auto known = [&metric](double value) {
        return metric.empty() ? std::numeric_limits<double>::quiet_NaN() : value;
      };
      MetricStatistics row;
      row.metric = joined.id;
      row.processes = joined.processes.size();
      row.count = metric.count;
      row.min = known(metric.min);
      row.mean = metric.sum / static_cast<double>(metric.count);
      row.max = known(metric.max);
      row.last = known(metric.last);
      if (const auto values = distributions_.find(key); values != distributions_.end()) {
        row.standard_deviation = values->second.standard_deviation();
        row.p50 = values->second.percentile(50);
        row.p95 = values->second.percentile(95);
        row.p99 = values->second.percentile(99);
      }
      result_.metrics.push_back(row);
    }
  }

  template <typename Row>
  static void by_falling_total(std::vector<Row>& rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.durations.total_ns > b.durations.total_ns; });
  }

  const Timeline& timeline_;
  const StatisticsOptions& options_;
  SystemProcesses processes_;
  Statistics result_;
  JoinedBy<capture::SiteSummary> sites_;
  JoinedBy<capture::SpanNameSummary> spans_;
  JoinedBy<capture::FrameStreamSummary> frame_streams_;
  JoinedBy<capture::MetricSummary> metrics_;
  std::unordered_map<MetricId, ValueDistribution> values_;  // of the capture being read, by its own ids
  std::map<Key, ValueDistribution> distributions_;
  std::uint64_t bytes_in_all_ = 0;
  std::uint64_t bytes_done_ = 0;
};

}  // namespace

Statistics gather_statistics(const Timeline& timeline, const StatisticsOptions& options) {
  return Gathering(timeline, options).run();
}

}  // namespace kymo::stats
