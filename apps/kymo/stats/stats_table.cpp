// kymo stats: sites, spans, frame streams and metrics as tables.
#include "apps/kymo/stats/stats_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/sketch.hpp"
#include "base/system/unresolved.hpp"
#include "stats/common/value_text.hpp"
#include "stats/statistics/lock_statistics.hpp"

namespace kymo::command {

namespace {

using stats::DurationStatistics;
using stats::SiteStatistics;
using stats::Statistics;

double sort_value(const SiteStatistics& site, SortKey key) {
  switch (key) {
    case SortKey::self:
      return static_cast<double>(site.self_ns);
    case SortKey::count:
      return static_cast<double>(site.durations.count);
    case SortKey::mean:
      return site.durations.mean_ns;
    case SortKey::p99:
      return static_cast<double>(site.durations.p99_ns);
    case SortKey::max:
      return static_cast<double>(site.durations.max_ns);
    case SortKey::total:
    case SortKey::name:
      break;
  }
  return static_cast<double>(site.durations.total_ns);
}

std::vector<std::string> duration_cells(const DurationStatistics& durations) {
  const auto format = [](auto value) { return format_duration(static_cast<double>(value)); };
  return {format(durations.mean_ns),
          format(durations.min_ns),
          format(durations.p50_ns),
          format(durations.p95_ns),
          format(durations.p99_ns),
          format(durations.max_ns),
          durations.histogram ? sketch(*durations.histogram, speaks_utf8()) : std::string()};
}

std::vector<Table::Column> duration_columns(std::vector<Table::Column> first) {
  for (const char* title : {"mean", "min", "p50", "p95", "p99", "max"}) {
    first.push_back({title});
  }
  first.push_back({"from min to max, logarithmic", Align::left});
  return first;
}

std::vector<std::string> row_of(std::vector<std::string> first, const DurationStatistics& durations) {
  for (std::string& cell : duration_cells(durations)) {
    first.push_back(std::move(cell));
  }
  return first;
}

/// "12.3 W, peak 15 W"; "~" precedes an estimate.
std::string beside_cell(const stats::SiteMetricColumn& column, const stats::SiteMetricValue& value, double number) {
  return (value.is_estimated && !std::isnan(number) ? "~" : "") +
         stats::value_text(number, printable(column.unit, 12), {4, false});
}

}  // namespace

std::string site_name(const SiteDeclaration& site, std::size_t width) {
  return site.name.empty() ? "(unnamed)" : printable(site.name, width);
}

std::string place_of(const SiteDeclaration& site) {
  if (site.file.empty()) {
    return {};
  }
  const std::string name = printable(site.file.substr(site.file.find_last_of('/') + 1), 32);
  return site.line == 0 ? name : fmt::format("{}:{}", name, site.line);
}

void sort_sites(const Timeline& timeline, std::vector<SiteStatistics>& sites, SortKey key) {
  std::stable_sort(sites.begin(), sites.end(), [&](const SiteStatistics& a, const SiteStatistics& b) {
    return key == SortKey::name ? timeline.site(a.site).name < timeline.site(b.site).name
                                : sort_value(a, key) > sort_value(b, key);
  });
}

void print_sites(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options) {
  std::vector<Table::Column> columns =
      duration_columns({{"scope", Align::left}, {"where", Align::left}, {"process"}, {"count"}, {"total"}, {"self"}});
  if (options.beside != nullptr) {
    for (const stats::SiteMetricColumn& column : options.beside->columns()) {
      columns.push_back({"mean " + printable(column.name, 32)});
      columns.push_back({"peak"});
    }
  }
  Table table(std::move(columns));
  const std::size_t shown = options.top == 0 ? statistics.sites.size() : std::min(options.top, statistics.sites.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SiteStatistics& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    std::vector<std::string> cells =
        row_of({site_name(declared), place_of(declared),
                options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
                format_count(site.durations.count), format_duration(static_cast<double>(site.durations.total_ns)),
                (site.self_is_bound != 0 ? "<= " : "") + format_duration(static_cast<double>(site.self_ns))},
               site.durations);
    if (options.beside != nullptr) {
      const std::vector<stats::SiteMetricValue>* const values = options.beside->find(site.site);
      for (std::size_t k = 0; k < options.beside->columns().size(); ++k) {
        const stats::SiteMetricColumn& column = options.beside->columns()[k];
        cells.push_back(values == nullptr ? "-" : beside_cell(column, (*values)[k], (*values)[k].mean));
        cells.push_back(values == nullptr ? "-" : beside_cell(column, (*values)[k], (*values)[k].peak));
      }
    }
    table.add(std::move(cells));
  }
  if (table.empty()) {
    fmt::print("No scope has ended in this recording.\n");
    return;
  }
  table.print();
  if (shown < statistics.sites.size()) {
    fmt::print("... and {} more; --top shows them\n", format_plural(statistics.sites.size() - shown, "site"));
  }
}

void print_spans(const Timeline& timeline, const Statistics& statistics) {
  Table table(duration_columns({{"span", Align::left}, {"count"}, {"total"}}));
  for (const stats::SpanStatistics& span : statistics.spans) {
    if (base::is_unresolved(timeline.name(span.name))) {
      // A value that was not measured is not 0.
      table.add({printable(timeline.name(span.name), 48), format_count(span.durations.count), "-", "-", "-", "-", "-",
                 "-", "-"});
      continue;
    }
    table.add(row_of({printable(timeline.name(span.name), 48), format_count(span.durations.count),
                      format_duration(static_cast<double>(span.durations.total_ns))},
                     span.durations));
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
  }
}

void print_locks(const Timeline& timeline, const Statistics& statistics) {
  Table table({{"lock", Align::left},
               {"where", Align::left},
               {"waits"},
               {"waited"},
               {"worst wait"},
               {"holds"},
               {"held"},
               {"longest hold"},
               {"waited for most", Align::left},
               {"of that"}});
  const auto format = [](auto value) { return format_duration(static_cast<double>(value)); };
  for (const stats::LockStatistics& lock : stats::lock_statistics(timeline, statistics)) {
    std::string holder;
    std::string share;
    if (!lock.holders.empty()) {
      const stats::HolderWaits& most = lock.holders.front();
      holder = most.holder.empty() ? "(not known)" : printable(most.holder, 48);
      share = format(most.total_ns);
    }
    SiteDeclaration declared;
    declared.file = lock.file;
    declared.line = lock.line;
    table.add({printable(lock.name, 48), place_of(declared), format_count(lock.waits),
               lock.waits != 0 ? format(lock.waited_ns) : "-", lock.waits != 0 ? format(lock.max_wait_ns) : "-",
               format_count(lock.holds), lock.holds != 0 ? format(lock.held_ns) : "-",
               lock.holds != 0 ? format(lock.max_hold_ns) : "-", std::move(holder), std::move(share)});
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
  }
}

void print_frames(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options) {
  Table table(duration_columns({{"frames", Align::left}, {"process"}, {"count"}, {"total"}}));
  for (const stats::FrameStatistics& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    table.add(
        row_of({declared.name.empty() ? "(main)" : printable(declared.name, 48),
                options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
                format_count(stream.durations.count), format_duration(static_cast<double>(stream.durations.total_ns))},
               stream.durations));
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
  }
}

void print_metrics(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options) {
  Table table(
      {{"metric", Align::left}, {"unit", Align::left}, {"process"}, {"count"}, {"min"}, {"mean"}, {"max"}, {"last"}});
  for (const stats::MetricStatistics& metric : statistics.metrics) {
    const MetricDeclaration& declared = timeline.metric(metric.metric);
    std::string name = declared.name;
    for (const auto& [key, value] : declared.labels) {
      name += fmt::format(" {}={}", key, value);
    }
    table.add({printable(name, 48), printable(declared.unit, 12),
               options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
               format_count(metric.count), format_value(metric.min), format_value(metric.mean),
               format_value(metric.max), format_value(metric.last)});
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
  }
}

}  // namespace kymo::command
