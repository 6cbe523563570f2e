// kymo stats: what captures amount to, per site, span name, frame stream and metric; with --energy in joules.
#include "stats/statistics.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "energy_table.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "units.hpp"
#include "warnings.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::DurationStatistics;
using stats::SiteStatistics;
using stats::Statistics;

enum class SortKey { total, self, count, mean, p99, max, name };

struct StatsOptions {
  CaptureArguments captures;
  bool is_json = false;
  bool by_process = false;
  bool decodes_all = false;
  SortKey sort = SortKey::total;
  std::size_t top = 0;
  bool has_energy = false;
  std::vector<std::string> power_sources;
  std::optional<double> idle_watts;
};

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

void sort_sites(const Timeline& timeline, std::vector<SiteStatistics>& sites, SortKey key) {
  std::stable_sort(sites.begin(), sites.end(), [&](const SiteStatistics& a, const SiteStatistics& b) {
    return key == SortKey::name ? timeline.site(a.site).name < timeline.site(b.site).name
                                : sort_value(a, key) > sort_value(b, key);
  });
}

Json to_json(const DurationStatistics& durations) {
  return {{"count", durations.count},   {"total_ns", durations.total_ns}, {"mean_ns", durations.mean_ns},
          {"min_ns", durations.min_ns}, {"p50_ns", durations.p50_ns},     {"p95_ns", durations.p95_ns},
          {"p99_ns", durations.p99_ns}, {"max_ns", durations.max_ns}};
}

/// Where the rows are of one process each, which.
void put_process(const Timeline& timeline, bool by_process, ProcessId id, std::size_t processes, Json& row) {
  if (by_process) {
    row["process"] = id;
    row["pid"] = timeline.process(id).declaration.pid;
  } else {
    row["processes"] = processes;
  }
}

void print_as_json(const Timeline& timeline, const Statistics& statistics, const StatsOptions& options,
                   const Warnings& warnings) {
  Json sites = Json::array();
  for (const SiteStatistics& site : statistics.sites) {
    const SiteDeclaration& declared = timeline.site(site.site);
    Json row = {
        {"name", declared.name}, {"function", declared.function}, {"file", declared.file}, {"line", declared.line}};
    put_process(timeline, options.by_process, declared.process, site.processes, row);
    row.update(to_json(site.durations));
    row["self_ns"] = site.self_ns;
    row["unbalanced"] = site.unbalanced;
    row["self_is_bound"] = site.self_is_bound;
    sites.push_back(std::move(row));
  }
  Json spans = Json::array();
  for (const stats::SpanStatistics& span : statistics.spans) {
    Json row = {{"name", timeline.name(span.name)}};
    row.update(to_json(span.durations));
    spans.push_back(std::move(row));
  }
  Json streams = Json::array();
  for (const stats::FrameStatistics& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    Json row = {{"name", declared.name}};
    put_process(timeline, options.by_process, declared.process, stream.processes, row);
    row.update(to_json(stream.durations));
    streams.push_back(std::move(row));
  }
  Json metrics = Json::array();
  for (const stats::MetricStatistics& metric : statistics.metrics) {
    const MetricDeclaration& declared = timeline.metric(metric.metric);
    Json labels = Json::object();
    for (const auto& [key, value] : declared.labels) {
      labels[key] = value;
    }
    Json row = {{"name", declared.name}, {"unit", declared.unit}, {"labels", std::move(labels)}};
    put_process(timeline, options.by_process, declared.process, metric.processes, row);
    row.update({{"count", metric.count},
                {"min", metric.min},
                {"mean", metric.mean},
                {"max", metric.max},
                {"last", metric.last}});
    metrics.push_back(std::move(row));
  }
  const TimeRange range = timeline.range();
  print_json({{"start_ns", range.start_ns},
              {"end_ns", range.end_ns},
              {"sites", std::move(sites)},
              {"spans", std::move(spans)},
              {"frame_streams", std::move(streams)},
              {"metrics", std::move(metrics)},
              {"blocks", statistics.blocks},
              {"blocks_decoded", statistics.blocks_decoded},
              {"blocks_damaged", statistics.blocks_damaged},
              {"warnings", warnings.texts}});
}

std::vector<std::string> duration_cells(const DurationStatistics& durations) {
  const auto format = [](auto value) { return format_duration(static_cast<double>(value)); };
  return {format(durations.mean_ns), format(durations.min_ns), format(durations.p50_ns),
          format(durations.p95_ns),  format(durations.p99_ns), format(durations.max_ns)};
}

std::vector<Table::Column> duration_columns(std::vector<Table::Column> first) {
  for (const char* title : {"mean", "min", "p50", "p95", "p99", "max"}) {
    first.push_back({title});
  }
  return first;
}

void add_row(Table& table, std::vector<std::string> first, const DurationStatistics& durations) {
  for (std::string& cell : duration_cells(durations)) {
    first.push_back(std::move(cell));
  }
  table.add(std::move(first));
}

/// The end of a path: its directory says little in a table.
std::string place_of(const SiteDeclaration& site) {
  if (site.file.empty()) {
    return {};
  }
  const std::string name = printable(site.file.substr(site.file.find_last_of('/') + 1), 32);
  return site.line == 0 ? name : fmt::format("{}:{}", name, site.line);
}

void print_sites(const Timeline& timeline, const Statistics& statistics, const StatsOptions& options) {
  Table table(
      duration_columns({{"scope", Align::left}, {"where", Align::left}, {"process"}, {"count"}, {"total"}, {"self"}}));
  const std::size_t shown = options.top == 0 ? statistics.sites.size() : std::min(options.top, statistics.sites.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const SiteStatistics& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    add_row(table,
            {declared.name.empty() ? "(unnamed)" : printable(declared.name, 48), place_of(declared),
             options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
             format_count(site.durations.count), format_duration(static_cast<double>(site.durations.total_ns)),
             (site.self_is_bound != 0 ? "<= " : "") + format_duration(static_cast<double>(site.self_ns))},
            site.durations);
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
    add_row(table,
            {printable(timeline.name(span.name), 48), format_count(span.durations.count),
             format_duration(static_cast<double>(span.durations.total_ns))},
            span.durations);
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
  }
}

void print_frames(const Timeline& timeline, const Statistics& statistics, const StatsOptions& options) {
  Table table(duration_columns({{"frames", Align::left}, {"process"}, {"count"}, {"total"}}));
  for (const stats::FrameStatistics& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    add_row(table,
            {declared.name.empty() ? "(main)" : printable(declared.name, 48),
             options.by_process ? std::to_string(timeline.process(declared.process).declaration.pid) : "",
             format_count(stream.durations.count), format_duration(static_cast<double>(stream.durations.total_ns))},
            stream.durations);
  }
  if (!table.empty()) {
    fmt::print("\n");
    table.print();
  }
}

void print_metrics(const Timeline& timeline, const Statistics& statistics, const StatsOptions& options) {
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

void sort_by_energy(const Timeline& timeline, std::vector<stats::SiteEnergy>& sites, SortKey key) {
  const auto value = [key](const stats::SiteEnergy& site) {
    switch (key) {
      case SortKey::self:
        return site.self.joules;
      case SortKey::count:
        return static_cast<double>(site.count);
      case SortKey::mean:
        return site.count == 0 ? 0.0 : site.inclusive.joules / static_cast<double>(site.count);
      default:
        return site.inclusive.joules;
    }
  };
  std::stable_sort(sites.begin(), sites.end(), [&](const stats::SiteEnergy& a, const stats::SiteEnergy& b) {
    return key == SortKey::name ? timeline.site(a.site).name < timeline.site(b.site).name : value(a) > value(b);
  });
}

/// Why there are no joules.
[[noreturn]] void fail_without_power(const stats::EnergyStatistics& statistics, const StatsOptions& options) {
  if (statistics.left_out.empty()) {
    throw Failure(
        "no power was recorded: there is no metric in watts or joules. Record with a sampler where the machine has a "
        "source of power that may be read");
  }
  std::string there;
  for (const auto& [name, reason] : statistics.left_out) {
    there += "\n  " + printable(name);
  }
  throw Failure(fmt::format("no power source fits {}; this recording has:{}",
                            printable(fmt::format("{}", fmt::join(options.power_sources, ", "))), there));
}

int run_energy(const Timeline& timeline, const StatsOptions& options) {
  stats::EnergyStatistics statistics;
  {
    Progress progress("reading");
    stats::EnergyOptions how;
    how.by_process = options.by_process;
    how.power_sources = options.power_sources;
    how.idle_watts = options.idle_watts;
    how.on_progress = progress.callback();
    statistics = stats::gather_energy(timeline, how);
  }
  if (statistics.sources.empty()) {
    fail_without_power(statistics, options);
  }
  sort_by_energy(timeline, statistics.sites, options.sort);
  stats::DropTotals drops;
  for (const TrackTotals& track : timeline.totals()) {
    drops.add(track);
  }
  const Warnings warnings = find_warnings(timeline, drops);
  const EnergyTableOptions table{options.by_process, options.top};
  if (options.is_json) {
    Json json = energy_to_json(timeline, statistics, table);
    json["warnings"] = warnings.texts;
    print_json(json);
    return warnings.exit_code();
  }
  warnings.print();
  print_energy(timeline, statistics, table);
  return warnings.exit_code();
}

int run(const StatsOptions& options) {
  const Timeline timeline = open_timeline(options.captures);
  if (options.has_energy) {
    return run_energy(timeline, options);
  }
  Statistics statistics;
  {
    Progress progress("reading");
    stats::StatisticsOptions how;
    how.by_process = options.by_process;
    how.use_summaries = !options.decodes_all;
    how.on_progress = progress.callback();
    statistics = stats::gather_statistics(timeline, how);
  }
  sort_sites(timeline, statistics.sites, options.sort);
  const Warnings warnings = find_warnings(timeline, statistics.drops);
  if (options.is_json) {
    if (options.top != 0 && statistics.sites.size() > options.top) {
      statistics.sites.resize(options.top);
    }
    print_as_json(timeline, statistics, options, warnings);
    return warnings.exit_code();
  }
  warnings.print();
  print_sites(timeline, statistics, options);
  print_spans(timeline, statistics);
  print_frames(timeline, statistics, options);
  print_metrics(timeline, statistics, options);
  return warnings.exit_code();
}

}  // namespace

void add_stats_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StatsOptions>();
  CLI::App* const command =
      app.add_subcommand("stats", "Count, total, self time and percentiles per site, frame stream and metric");
  add_capture_arguments(*command, options->captures);
  static const std::map<std::string, SortKey> keys{
      {"total", SortKey::total}, {"self", SortKey::self}, {"count", SortKey::count}, {"mean", SortKey::mean},
      {"p99", SortKey::p99},     {"max", SortKey::max},   {"name", SortKey::name}};
  command->add_option("--sort", options->sort, "Order of the sites: total (default), self, count, mean, p99, max, name")
      ->transform(CLI::CheckedTransformer(keys).description(""))
      ->option_text("KEY");
  command->add_option("--top", options->top, "Show only so many sites")->option_text("N");
  command->add_flag("--by-process", options->by_process, "Keep the processes apart");
  command->add_flag("--decode", options->decodes_all, "Decode every event instead of using the capture's summaries");
  CLI::Option* const energy = command->add_flag(
      "--energy", options->has_energy, "Joules per site, GPU span, frame stream and phase instead of durations");
  command
      ->add_option("--power-source", options->power_sources,
                   "With --energy: use the sources of this metric, label value or name instead of those that kymo "
                   "chooses so that nothing counts twice; may be repeated")
      ->option_text("NAME")
      ->allow_extra_args(false)
      ->needs(energy);
  command
      ->add_option("--idle-watts", options->idle_watts,
                   "With --energy: what the idle machine draws (default: the least mean of a second)")
      ->option_text("W")
      ->check(CLI::NonNegativeNumber.description(""))
      ->needs(energy);
  command->add_flag("--json", options->is_json, "Print JSON, times in nanoseconds");
  command->footer(
      "Percentiles come from histograms of three significant digits.\n"
      "Joules come with a bound on their error; the joules of one scope that is shorter than its power source renews\n"
      "itself are unresolved. Threads that have scopes open at the same time share the power equally.\n\n"
      "Examples:\n"
      "  kymo stats run.kymo\n"
      "  kymo stats --sort p99 --top 20 run.kymo\n"
      "  kymo stats --by-process captures/\n"
      "  kymo stats --energy --idle-watts 12.5 run.kymo\n"
      "  kymo stats --json run.kymo | jq '.sites[] | select(.name == \"step\") | .p99_ns'");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
