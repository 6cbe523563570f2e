// kymo stats: statistics of captures.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"

namespace kymo::command {

namespace {

/// The metrics to show beside sites, if any were requested.
std::unique_ptr<stats::SiteMetrics> gather_beside(const Timeline& timeline, const StatsOptions& options,
                                                  const stats::Selection& selection) {
  if (options.with.empty()) {
    return nullptr;
  }
  Progress progress("reading metrics");
  stats::SiteMetricOptions how;
  how.names = options.with;
  how.by_process = options.by_process;
  how.selection = selection;
  how.on_progress = progress.callback();
  return std::make_unique<stats::SiteMetrics>(stats::gather_site_metrics(timeline, how));
}

int show(const StatsOptions& options) {
  const Timeline timeline = open_timeline(options.captures);
  try {
    if (options.has_energy) {
      return show_energy(timeline, options);
    }
    if (options.has_tree) {
      return show_tree(timeline, options);
    }
    if (options.slowest_frames != 0) {
      return show_slowest_frames(timeline, options);
    }
    return options.has_phases ? show_phases(timeline, options) : show_tables(timeline, options);
  } catch (const stats::SelectionError& error) {
    throw Failure(printable(error.what()));
  }
}

}  // namespace

void warn_of_gaps(const stats::Statistics& statistics, Warnings& warnings) {
  std::uint64_t bounds = 0;
  for (const stats::SiteStatistics& site : statistics.sites) {
    bounds += site.self_is_bound;
  }
  if (bounds != 0) {
    warnings.texts.push_back(fmt::format("what ran inside {} is missing in part: self times marked <= are upper bounds",
                                         format_plural(bounds, "scope")));
  }
}

Warnings find_all_warnings(const Timeline& timeline) {
  stats::DropTotals drops;
  for (const TrackTotals& track : timeline.totals()) {
    drops.add(track);
  }
  return find_warnings(timeline, drops);
}

int show_tables(const Timeline& timeline, const StatsOptions& options) {
  stats::StatisticsOptions how;
  how.by_process = options.by_process;
  how.use_summaries = !options.decodes_all;
  how.keeps_histograms = options.has_histograms;
  how.selection = stats::Selection(timeline, selection_of(timeline, options));
  stats::Statistics statistics;
  {
    Progress progress("reading");
    how.on_progress = progress.callback();
    statistics = stats::gather_statistics(timeline, how);
  }
  const std::unique_ptr<stats::SiteMetrics> beside = gather_beside(timeline, options, how.selection);
  sort_sites(timeline, statistics.sites, options.sort);
  Warnings warnings =
      how.selection.takes_every_event() ? find_warnings(timeline, statistics.drops) : find_all_warnings(timeline);
  warn_of_gaps(statistics, warnings);
  const StatsTableOptions table{options.by_process, options.top, beside.get()};
  if (options.is_json) {
    const TimeRange range = timeline.range();
    nlohmann::ordered_json json = {{"start_ns", range.start_ns}, {"end_ns", range.end_ns}};
    json.update(tables_to_json(timeline, statistics, table));
    json["blocks"] = statistics.blocks;
    json["blocks_decoded"] = statistics.blocks_decoded;
    json["blocks_damaged"] = statistics.blocks_damaged;
    json["warnings"] = warnings.texts;
    print_json(json);
    return warnings.exit_code();
  }
  warnings.print();
  print_sites(timeline, statistics, table);
  print_spans(timeline, statistics);
  print_locks(timeline, statistics);
  print_frames(timeline, statistics, table);
  print_metrics(timeline, statistics, table);
  return warnings.exit_code();
}

void add_stats_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<StatsOptions>();
  CLI::App* const command =
      app.add_subcommand("stats",
                         "Count, total, self time and percentiles per site, frame stream and metric; call "
                         "tree, slowest frames, phases, joules");
  add_stats_options(*command, *options);
  command->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace kymo::command
