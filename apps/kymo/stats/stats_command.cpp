// kymo stats: statistics of captures.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_first_screen.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/common/power_curve.hpp"
#include "timeline/holes.hpp"
#include "timeline/source.hpp"

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

/// What the threads did in the scopes of each site; empty if no states were recorded.
stats::RunTimesOfSites gather_run_times(const Timeline& timeline, const StatsOptions& options,
                                        const stats::Selection& selection) {
  if (timeline.declarations().threads.empty()) {
    return {timeline, options.by_process};
  }
  Progress progress("reading run states");
  return stats::gather_run_times(timeline, {options.by_process, selection, progress.callback()});
}

int show(const Timeline& timeline, const StatsOptions& options) {
  try {
    if (options.has_energy) {
      return show_energy(timeline, options);
    }
    if (options.by_thread) {
      return show_threads(timeline, options);
    }
    if (options.has_functions || options.has_lines) {
      return show_functions(timeline, options);
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
    warnings.texts.push_back(
        fmt::format("what ran inside {} may be missing in part: self times marked <= are upper bounds",
                    format_plural(bounds, "scope")));
  }
}

Warnings find_all_warnings(const Timeline& timeline) {
  return find_warnings(timeline, drops_of(timeline));
}

namespace {

constexpr std::size_t rows_of_first_screen = 12;

/// Keeps only what fits one of the patterns. Throws Failure if nothing does.
void filter(const Timeline& timeline, const std::vector<std::string>& patterns, FirstScreen& found) {
  if (patterns.empty()) {
    return;
  }
  const auto keep = [&patterns](auto& rows, const auto& name_of) {
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const auto& row) {
                                return std::none_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
                                  return stats::fits_pattern(pattern, name_of(row));
                                });
                              }),
               rows.end());
    return rows.size();
  };
  stats::Statistics& all = found.statistics;
  std::size_t kept = keep(all.sites, [&](const auto& row) { return timeline.site(row.site).name; });
  kept += keep(all.spans, [&](const auto& row) { return timeline.name(row.name); });
  kept += keep(all.frame_streams, [&](const auto& row) { return timeline.frame_stream(row.stream).name; });
  kept += keep(all.metrics, [&](const auto& row) { return timeline.metric(row.metric).name; });
  kept += keep(found.locks, [&](const auto& row) { return row.name; });
  if (kept == 0) {
    throw Failure(fmt::format("no site, span, lock, frame stream or metric is called {}",
                              printable(fmt::format("{}", fmt::join(patterns, " or ")))));
  }
}

double length_within(TimeRange whole, TimeRange part) {
  const std::int64_t start_ns = std::max(whole.start_ns, part.start_ns);
  return 1e9 * stats::seconds_between(start_ns, std::max(start_ns, std::min(whole.end_ns, part.end_ns)));
}

/// The length of the selected part of the recording, without what a flight recorder let go.
double length_of(const Timeline& timeline, const stats::Selection& selection) {
  double length_ns = length_within(timeline.range(), selection.range());
  if (const auto sources = timeline::sources_of(timeline); sources.size() == 1) {
    for (const TimeRange hole : timeline::holes_of(*sources.front())) {
      length_ns -= length_within(hole, selection.range());
    }
  }
  return length_ns;
}

FirstScreen gather_first_screen(const Timeline& timeline, const StatsOptions& options,
                                const stats::Selection& selection) {
  FirstScreen found;
  {
    Progress progress("reading");
    stats::StatisticsOptions how;
    how.by_process = options.by_process;
    how.use_summaries = !options.decodes_all;
    how.keeps_histograms = options.has_histograms;
    how.metric_percentiles = options.is_json || options.has_metrics || !options.filters.empty();
    how.selection = selection;
    how.on_progress = progress.callback();
    found.statistics = stats::gather_statistics(timeline, how);
  }
  found.locks = stats::lock_statistics(timeline, found.statistics);
  if (!options.is_json && options.filters.empty() && !found.statistics.frame_streams.empty()) {
    Progress progress("reading frames");
    stats::StretchOptions how;
    how.selection = selection_of(timeline, options);
    how.by_process = options.by_process;
    how.on_progress = progress.callback();
    found.slow = stats::find_slowest_frames(timeline, 1, how);
  }
  return found;
}

}  // namespace

int show_tables(const Timeline& timeline, const StatsOptions& options) {
  const stats::Selection selection(timeline, selection_of(timeline, options));
  FirstScreen found = gather_first_screen(timeline, options, selection);
  const std::unique_ptr<stats::SiteMetrics> beside = gather_beside(timeline, options, selection);
  Warnings warnings =
      selection.takes_every_event() ? find_warnings(timeline, found.statistics.drops) : find_all_warnings(timeline);
  warn_of_missing_blocks(found.statistics, selection.takes_every_event() && !options.decodes_all, warnings);
  warn_of_forced_closes(found.statistics, warnings);
  warn_of_gaps(found.statistics, warnings);
  filter(timeline, options.filters, found);
  stats::RunTimesOfSites run_times = gather_run_times(timeline, options, selection);
  StatsTableOptions table{options.by_process,
                          options.top,
                          beside.get(),
                          length_of(timeline, selection),
                          run_times.empty() ? nullptr : &run_times,
                          options.has_histograms};
  sort_sites(timeline, found.statistics.sites, options.sort_key(), table.run_times);
  if (options.is_json) {
    const TimeRange range = timeline.range();
    nlohmann::ordered_json json = {{"start_ns", range.start_ns}, {"end_ns", range.end_ns}};
    json.update(tables_to_json(timeline, found.statistics, found.locks, table));
    json["blocks"] = found.statistics.blocks;
    json["blocks_decoded"] = found.statistics.blocks_decoded;
    json["blocks_damaged"] = found.statistics.blocks_damaged;
    json["damage"] = {{"blocks", warnings.damage.blocks},
                      {"event_blocks", warnings.damage.event_blocks},
                      {"bytes", warnings.damage.bytes},
                      {"span_ns", warnings.damage.span_ns}};
    json["warnings"] = warnings.texts;
    print_json(json);
    return warnings.exit_code();
  }
  warnings.print();
  table.top =
      options.top != 0 || !options.filters.empty() || options.has_selection() ? options.top : rows_of_first_screen;
  print_first_screen(timeline, found, options, table);
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
  command->callback([options, &exit_code] {
    expect_one_view(*options);
    const Timeline timeline = open_timeline(options->captures);
    exit_code = say_unread_on_failure(timeline, [&] { return show(timeline, *options); });
  });
}

}  // namespace kymo::command
