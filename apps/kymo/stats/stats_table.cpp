// kymo stats: sites, spans, frame streams and metrics as tables.
#include "apps/kymo/stats/stats_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/sketch.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "base/system/unresolved.hpp"
#include "base/text/metric_name.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::command {

namespace {

using stats::DurationStatistics;
using stats::SiteStatistics;
using stats::Statistics;

double sort_value(const SiteStatistics& site, SortKey key, stats::RunTimesOfSites* run_times) {
  const stats::SiteRunTimes* const known = run_times != nullptr ? run_times->find(site.site) : nullptr;
  const kymo::RunTimes times = known != nullptr ? known->times : kymo::RunTimes{};
  switch (key) {
    case SortKey::self:
      return static_cast<double>(site.self_ns);
    case SortKey::count:
      return static_cast<double>(site.durations.count);
    case SortKey::mean:
      return site.durations.mean_ns;
    case SortKey::min:
      return static_cast<double>(site.durations.min_ns);
    case SortKey::p50:
      return static_cast<double>(site.durations.p50_ns);
    case SortKey::p95:
      return static_cast<double>(site.durations.p95_ns);
    case SortKey::p99:
      return static_cast<double>(site.durations.p99_ns);
    case SortKey::p99_9:
      return static_cast<double>(site.durations.p99_9_ns);
    case SortKey::cpu:
      return static_cast<double>(times.running_ns);
    case SortKey::pushed_off:
      return static_cast<double>(times.runnable_ns);
    case SortKey::blocked:
      return static_cast<double>(times.blocked_ns);
    case SortKey::max:
      return static_cast<double>(site.durations.max_ns);
    case SortKey::total:
    case SortKey::name:
    case SortKey::where:
      break;
  }
  return static_cast<double>(site.durations.total_ns);
}

std::vector<std::string> duration_cells(const DurationStatistics& durations, bool has_sketch) {
  // Missing is not 0: a stream with a single mark has no frame.
  const auto format = [&durations](auto value) {
    return durations.count != 0 ? format_duration(static_cast<double>(value)) : "-";
  };
  return {format(durations.mean_ns),
          format(durations.min_ns),
          format(durations.p50_ns),
          format(durations.p95_ns),
          format(durations.p99_ns),
          format(durations.p99_9_ns),
          format(durations.max_ns),
          has_sketch && durations.histogram ? sketch(*durations.histogram, speaks_utf8()) : std::string()};
}

std::vector<Table::Column> duration_columns(std::vector<Table::Column> first) {
  static constexpr std::array<std::pair<const char*, int>, 7> titles{
      {{"mean", 2}, {"min", 9}, {"p50", 7}, {"p95", 8}, {"p99", 4}, {"p99.9", 10}, {"max", 1}}};
  for (const auto& [title, rank] : titles) {
    first.push_back({title, Align::right, rank});
  }
  first.push_back({"from min to max, logarithmic", Align::left, -1, Style::plain, true});
  return first;
}

std::vector<std::string> row_of(std::vector<std::string> first, const DurationStatistics& durations, bool has_sketch) {
  for (std::string& cell : duration_cells(durations, has_sketch)) {
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

namespace {

/// What a site's threads did in its scopes; where it is known of some of them only, they took at least that.
void append_run_times(const stats::SiteRunTimes* known, std::uint64_t scopes, std::vector<std::string>& cells) {
  if (known == nullptr) {
    cells.insert(cells.end(), 3, "-");
    return;
  }
  for (const std::int64_t time_ns : {known->times.running_ns, known->times.runnable_ns, known->times.blocked_ns}) {
    cells.push_back((known->scopes < scopes ? ">= " : "") + format_duration(static_cast<double>(time_ns)));
  }
}

}  // namespace

std::string site_name(const SiteDeclaration& site, std::size_t width) {
  if (site.name.empty()) {
    return "(unnamed)";
  }
  const bool names_holder = site.role == SiteRole::wait && !site.function.empty();
  const std::string name = names_holder ? site.name + ", held by " + site.function : site.name;
  return width == static_cast<std::size_t>(-1) ? printable(name) : printable(name, width);
}

std::string place_of(const SiteDeclaration& site) {
  if (site.file.empty()) {
    return {};
  }
  const std::string name = printable(site.file.substr(site.file.find_last_of('/') + 1));
  return site.line == 0 ? name : fmt::format("{}:{}", name, site.line);
}

bool is_of_states(SortKey key) {
  return key == SortKey::cpu || key == SortKey::pushed_off || key == SortKey::blocked;
}

bool goes_before(const Timeline& timeline, const SiteStatistics& a, const SiteStatistics& b, SortKey key,
                 stats::RunTimesOfSites* run_times) {
  const SiteDeclaration& first = timeline.site(a.site);
  const SiteDeclaration& second = timeline.site(b.site);
  if (key == SortKey::name) {
    return first.name < second.name;
  }
  if (key == SortKey::where) {
    return std::tie(first.file, first.line) < std::tie(second.file, second.line);
  }
  return sort_value(a, key, run_times) > sort_value(b, key, run_times);
}

void sort_sites(const Timeline& timeline, std::vector<SiteStatistics>& sites, SortKey key,
                stats::RunTimesOfSites* run_times) {
  if (is_of_states(key) && run_times == nullptr) {
    throw Failure(
        "what threads did was not recorded, so there is nothing to sort by; kymo record --threads records it");
  }
  std::stable_sort(sites.begin(), sites.end(), [&](const SiteStatistics& a, const SiteStatistics& b) {
    return goes_before(timeline, a, b, key, run_times);
  });
}

namespace {

constexpr std::size_t bar_columns = 8;

/// A bar of a share of the greatest share, in eighths of a column where the locale has such characters.
std::string share_bar(double share, double greatest) {
  static constexpr std::array<std::string_view, 8> parts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = greatest > 0 ? static_cast<std::size_t>(std::lround(8.0 * bar_columns * share / greatest)) : 0;
  std::string bar;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    bar += speaks_utf8() ? "█" : "#";
  }
  return speaks_utf8() ? bar.append(parts[eighths % 8]) : bar;
}

/// Tells apart sites of one name at one place, as those of a template: by their functions.
class SiteTitles {
 public:
  SiteTitles(const Timeline& timeline, const Statistics& statistics) : timeline_(timeline) {
    for (const SiteStatistics& site : statistics.sites) {
      ++alike_[key_of(timeline.site(site.site))];
    }
  }
  [[nodiscard]] std::string of(SiteId id) const {
    const SiteDeclaration& site = timeline_.site(id);
    const bool is_told = alike_.at(key_of(site)) > 1 && !site.function.empty();
    return site_name(site) + (is_told ? " " + told_by(site.function) : std::string());
  }

 private:
  /// "[with T = int]" of a template's function, which is what differs; else all of it.
  static std::string told_by(const std::string& function) {
    const std::size_t arguments = function.rfind("[with ");
    return arguments != std::string::npos ? printable(function.substr(arguments)) : "in " + printable(function);
  }
  static std::pair<std::string, std::string> key_of(const SiteDeclaration& site) {
    return {site_name(site), place_of(site)};
  }

  const Timeline& timeline_;
  std::map<std::pair<std::string, std::string>, std::size_t> alike_;
};

/// Says how many rows --top left out.
void print_rest(std::size_t shown, std::size_t all, std::string_view noun) {
  if (shown < all) {
    fmt::print("{}\n", styled(fmt::format("... and {} more; --top {} shows all", format_plural(all - shown, noun), all),
                              Style::soft));
  }
}

std::size_t rows_of(const StatsTableOptions& options, std::size_t all) {
  return options.top == 0 ? all : std::min(options.top, all);
}

}  // namespace

void print_sites(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options) {
  std::vector<Table::Column> columns = duration_columns({{"scope", Align::left},
                                                         {"where", Align::left, 6, Style::soft},
                                                         {"process"},
                                                         {"self"},
                                                         {"of run"},
                                                         {"", Align::left, 3, Style::bar},
                                                         {"count", Align::right, 1},
                                                         {"total", Align::right, 5}});
  if (options.run_times != nullptr) {
    columns.push_back({"CPU time"});
    columns.push_back({"pushed off"});
    columns.push_back({"blocked"});
  }
  if (options.beside != nullptr) {
    for (const stats::SiteMetricColumn& column : options.beside->columns()) {
      columns.push_back({"mean " + printable(column.name, 32)});
      columns.push_back({"peak"});
    }
  }
  Table table(std::move(columns));
  const SiteTitles titles(timeline, statistics);
  const std::size_t shown = rows_of(options, statistics.sites.size());
  std::uint64_t greatest_ns = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    greatest_ns = std::max(greatest_ns, statistics.sites[i].self_ns);
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const SiteStatistics& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    const auto self_ns = static_cast<double>(site.self_ns);
    std::vector<std::string> cells =
        row_of({titles.of(site.site), place_of(declared),
                options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
                (site.self_is_bound != 0 ? "<= " : "") + format_duration(self_ns),
                options.length_ns > 0 ? format_share(self_ns, options.length_ns) : "",
                share_bar(self_ns, static_cast<double>(greatest_ns)), format_count(site.durations.count),
                format_duration(static_cast<double>(site.durations.total_ns))},
               site.durations, options.has_histograms);
    if (options.run_times != nullptr) {
      append_run_times(options.run_times->find(site.site), site.durations.count, cells);
    }
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
  print_rest(shown, statistics.sites.size(), "site");
}

void print_spans(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options) {
  Table table(duration_columns({{"span", Align::left}, {"count"}, {"total"}}));
  const std::size_t shown = rows_of(options, statistics.spans.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::SpanStatistics& span = statistics.spans[i];
    const std::string name = printable(timeline.name(span.name));
    if (base::is_unresolved(timeline.name(span.name))) {
      // A value that was not measured is not 0.
      table.add({name, format_count(span.durations.count), "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    table.add(row_of(
        {name, format_count(span.durations.count), format_duration(static_cast<double>(span.durations.total_ns))},
        span.durations, options.has_histograms));
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
    print_rest(shown, statistics.spans.size(), "span name");
  }
}

void print_locks(const std::vector<stats::LockStatistics>& locks, const StatsTableOptions& options) {
  Table table({{"lock", Align::left},
               {"where", Align::left, 5, Style::soft},
               {"waits", Align::right, 1},
               {"waited"},
               {"worst wait", Align::right, 2},
               {"holds", Align::right, 3},
               {"held", Align::right, 3},
               {"longest hold", Align::right, 4},
               {"waited for most", Align::left},
               {"of that", Align::right, 3}});
  const auto format = [](auto value) { return format_duration(static_cast<double>(value)); };
  const std::size_t shown = rows_of(options, locks.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::LockStatistics& lock = locks[i];
    std::string holder;
    std::string share;
    if (!lock.holders.empty()) {
      const stats::HolderWaits& most = lock.holders.front();
      holder = most.holder.empty() ? "(not known)" : printable(most.holder);
      share = format(most.total_ns);
    }
    SiteDeclaration declared;
    declared.file = lock.file;
    declared.line = lock.line;
    table.add({printable(lock.name), place_of(declared), format_count(lock.waits),
               lock.waits != 0 ? format(lock.waited_ns) : "-", lock.waits != 0 ? format(lock.max_wait_ns) : "-",
               format_count(lock.holds), lock.holds != 0 ? format(lock.held_ns) : "-",
               lock.holds != 0 ? format(lock.max_hold_ns) : "-", std::move(holder), std::move(share)});
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
    print_rest(shown, locks.size(), "lock");
  }
}

void print_frames(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options) {
  Table table(duration_columns({{"frames", Align::left}, {"process"}, {"count"}, {"total"}}));
  for (const stats::FrameStatistics& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    table.add(
        row_of({declared.name.empty() ? "(main)" : printable(declared.name),
                options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
                format_count(stream.durations.count), format_duration(static_cast<double>(stream.durations.total_ns))},
               stream.durations, options.has_histograms));
  }
  table.print_below();
}

namespace {

bool is_shown_in_brief(const MetricDeclaration& declared, const stats::MetricStatistics& metric) {
  const bool is_of_core = std::any_of(declared.labels.begin(), declared.labels.end(),
                                      [](const auto& label) { return label.first == "core"; });
  return !is_of_core && metric.count != 0 && metric.min != metric.max;
}

}  // namespace

void print_metrics(const Timeline& timeline, const Statistics& statistics, const StatsTableOptions& options,
                   bool is_own_ones) {
  Table table({{is_own_ones ? "metric" : "machine metric", Align::left},
               {"process"},
               {"samples", Align::right, 5},
               {"min", Align::right, 2},
               {"mean"},
               {"std", Align::right, 6},
               {"p50", Align::right, 8},
               {"p95", Align::right, 7},
               {"p99", Align::right, 3},
               {"max"},
               {"last", Align::right, 1}});
  const auto all = static_cast<std::size_t>(
      std::count_if(statistics.metrics.begin(), statistics.metrics.end(),
                    [&](const auto& metric) { return is_own(timeline.metric(metric.metric)) == is_own_ones; }));
  // Whoever asks for the machine's wants all of them.
  const std::size_t shown = is_own_ones ? rows_of(options, all) : all;
  std::size_t added = 0;
  for (const stats::MetricStatistics& metric : statistics.metrics) {
    const MetricDeclaration& declared = timeline.metric(metric.metric);
    if (is_own(declared) != is_own_ones || added == shown ||
        (options.is_brief && !is_shown_in_brief(declared, metric))) {
      continue;
    }
    ++added;
    const auto text_of = [unit = printable(declared.unit, 12)](double value) { return stats::value_text(value, unit); };
    // An infinite sample leaves the standard deviation unknown.
    const auto text_if_asked = [&](double value) { return std::isnan(metric.p50) ? std::string() : text_of(value); };
    table.add({printable(base::full_name(declared)),
               options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
               format_count(metric.count), text_of(metric.min), text_of(metric.mean),
               text_if_asked(metric.standard_deviation), text_if_asked(metric.p50), text_if_asked(metric.p95),
               text_if_asked(metric.p99), text_of(metric.max), text_of(metric.last)});
  }
  table.print_below();
  if (options.is_brief && added < all) {
    fmt::print("{}\n", styled(fmt::format("... and {} more, of single cores or constant; --metrics shows all",
                                          format_plural(all - added, "metric")),
                              Style::soft));
  } else {
    print_rest(shown, all, "metric");
  }
}

}  // namespace kymo::command
