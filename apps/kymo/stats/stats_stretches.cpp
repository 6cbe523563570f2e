// kymo stats --slowest-frames and --phases: tables of single stretches of time.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/statistics/stretches.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::SiteStatistics;

constexpr std::size_t sites_of_a_frame = 8;

stats::StretchOptions stretch_options(const Timeline& timeline, const StatsOptions& options, Progress& progress) {
  stats::StretchOptions how;
  how.selection = selection_of(timeline, options);
  how.by_process = options.by_process;
  how.on_progress = progress.callback();
  return how;
}

void print_frame(const Timeline& timeline, const stats::SlowFrame& slow, const StatsOptions& options) {
  const auto duration_ns = static_cast<double>(slow.frame.duration_ns);
  fmt::print("\n{}\n", styled(describe_frame(timeline, slow), Style::heading));
  Table table({{"scope", Align::left},
               {"where", Align::left, 3, Style::soft},
               {"count", Align::right, 2},
               {"self"},
               {"of the frame"},
               {"total", Align::right, 1}});
  const std::size_t most = options.top == 0 ? sites_of_a_frame : options.top;
  for (std::size_t i = 0; i < std::min(most, slow.sites.size()); ++i) {
    const SiteStatistics& site = slow.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    table.add({site_name(declared), place_of(declared), format_count(site.durations.count),
               format_duration(static_cast<double>(site.self_ns)),
               format_share(static_cast<double>(site.self_ns), duration_ns),
               format_duration(static_cast<double>(site.durations.total_ns))});
  }
  for (std::size_t i = 0; i < std::min(most, slow.spans.size()); ++i) {
    const stats::SpanStatistics& span = slow.spans[i];
    table.add({printable(timeline.name(span.name)), "span", format_count(span.durations.count), "", "",
               format_duration(static_cast<double>(span.durations.total_ns))});
  }
  if (table.empty()) {
    fmt::print("  no scope was open\n");
  } else {
    table.print(2);
  }
}

Json to_json(const Timeline& timeline, const stats::SlowFrame& slow, const StatsOptions& options) {
  Json sites = Json::array();
  const std::size_t most = options.top == 0 ? slow.sites.size() : std::min(options.top, slow.sites.size());
  for (std::size_t i = 0; i < most; ++i) {
    const SiteStatistics& site = slow.sites[i];
    Json row = site_to_json(timeline.site(site.site));
    row["count"] = site.durations.count;
    row["self_ns"] = site.self_ns;
    row["total_ns"] = site.durations.total_ns;
    row["share"] = slow.frame.duration_ns > 0
                       ? static_cast<double>(site.self_ns) / static_cast<double>(slow.frame.duration_ns)
                       : 0.0;
    sites.push_back(std::move(row));
  }
  Json spans = Json::array();
  for (const stats::SpanStatistics& span : slow.spans) {
    spans.push_back(
        {{"name", timeline.name(span.name)}, {"count", span.durations.count}, {"total_ns", span.durations.total_ns}});
  }
  return {{"number", slow.number},
          {"process", slow.process.value()},
          {"pid", timeline.process(slow.process).declaration.pid},
          {"start_ns", slow.frame.start_ns},
          {"duration_ns", slow.frame.duration_ns},
          {"sites", std::move(sites)},
          {"spans", std::move(spans)}};
}

}  // namespace

std::string describe_frame(const Timeline& timeline, const stats::SlowFrame& slow) {
  return fmt::format("frame {}{}: {}, from {} on", slow.number, process_note(timeline, slow.process),
                     format_duration(static_cast<double>(slow.frame.duration_ns)),
                     since_start(timeline, slow.frame.start_ns));
}

std::string since_start(const Timeline& timeline, std::int64_t time_ns) {
  return format_duration(1e9 * stats::seconds_between(timeline.range().start_ns, time_ns));
}

std::string process_note(const Timeline& timeline, ProcessId process) {
  return count_recording_processes(timeline) < 2
             ? std::string()
             : fmt::format(" of process {}", timeline.process(process).declaration.pid);
}

int show_slowest_frames(const Timeline& timeline, const StatsOptions& options) {
  stats::SlowFrames found;
  {
    Progress progress("reading");
    found = stats::find_slowest_frames(timeline, options.slowest_frames, stretch_options(timeline, options, progress));
  }
  const Warnings warnings = find_all_warnings(timeline);
  if (options.is_json) {
    Json frames = Json::array();
    for (const stats::SlowFrame& slow : found.frames) {
      frames.push_back(to_json(timeline, slow, options));
    }
    print_json({{"frame_count", found.frames_in_all},
                {"median_ns", found.median_ns},
                {"slowest_frames", std::move(frames)},
                {"warnings", warnings.texts}});
    return warnings.exit_code();
  }
  warnings.print();
  if (found.frames.empty()) {
    fmt::print("There are no frames in the main frame stream of this part of the recording.\n");
    return warnings.exit_code();
  }
  fmt::print("{}, median {}; self times are of all threads\n", format_plural(found.frames_in_all, "frame"),
             format_duration(static_cast<double>(found.median_ns)));
  for (const stats::SlowFrame& slow : found.frames) {
    print_frame(timeline, slow, options);
  }
  return warnings.exit_code();
}

int show_phases(const Timeline& timeline, const StatsOptions& options) {
  std::vector<stats::PhaseStatistics> phases;
  {
    Progress progress("reading");
    phases = stats::gather_phases(timeline, stretch_options(timeline, options, progress));
  }
  const Warnings warnings = find_all_warnings(timeline);
  Json list = Json::array();
  if (!options.is_json) {
    warnings.print();
    if (phases.empty()) {
      fmt::print("There are no phases in this part of the recording: no sync point was set (kymo::sync()).\n");
    }
  }
  bool is_first = true;
  for (stats::PhaseStatistics& entry : phases) {
    const Phase& phase = entry.phase;
    const StatsTableOptions table{options.by_process,
                                  options.top,
                                  nullptr,
                                  1e9 * stats::seconds_between(phase.start_ns, phase.end_ns),
                                  nullptr,
                                  options.has_histograms};
    const std::vector<stats::LockStatistics> locks = stats::lock_statistics(timeline, entry.statistics);
    sort_sites(timeline, entry.statistics.sites, options.sort_key());
    if (options.is_json) {
      Json json = {{"number", phase.number},
                   {"process", phase.process.value()},
                   {"pid", timeline.process(phase.process).declaration.pid},
                   {"start_ns", phase.start_ns},
                   {"end_ns", phase.end_ns}};
      json.update(tables_to_json(timeline, entry.statistics, locks, table));
      list.push_back(std::move(json));
      continue;
    }
    const std::string title =
        fmt::format("phase {}{}: {}, from {} on", phase.number, process_note(timeline, phase.process),
                    format_duration(table.length_ns), since_start(timeline, phase.start_ns));
    fmt::print("{}{}\n", is_first ? "" : "\n", styled(title, Style::heading));
    is_first = false;
    print_sites(timeline, entry.statistics, table);
    print_spans(timeline, entry.statistics, table);
    print_locks(locks, table);
    print_frames(timeline, entry.statistics, table);
    print_metrics(timeline, entry.statistics, table, true);
    if (options.has_metrics) {
      print_metrics(timeline, entry.statistics, table, false);
    }
  }
  if (options.is_json) {
    print_json({{"phases", std::move(list)}, {"warnings", warnings.texts}});
  }
  return warnings.exit_code();
}

}  // namespace kymo::command
