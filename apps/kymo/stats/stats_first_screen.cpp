// kymo stats: the first screen, with what a person asks first.
#include "apps/kymo/stats/stats_first_screen.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "apps/kymo/shared/screen.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "apps/kymo/stats/stats_views.hpp"

namespace kymo::command {

namespace {

std::string describe_drops(const stats::DropTotals& drops) {
  const std::uint64_t dropped = drops.dropped_scopes + drops.dropped_others;
  return dropped == 0 ? "nothing dropped" : format_plural(dropped, "event") + " dropped";
}

/// Of a command that started others, as a build does: how many, and which took long.
void print_processes(const Timeline& timeline) {
  for (const TimelineProcess& process : timeline.processes()) {
    const std::string_view count = fact_of(process, "record.processes");
    const std::string_view longest = fact_of(process, "longest_processes");
    if (!count.empty()) {
      print_wrapped(fmt::format("{} processes were started, {} at once{}{}", printable(count),
                                printable(fact_of(process, "record.processes_at_once")),
                                longest.empty() ? "" : "; the longest: ", printable(longest)));
    }
  }
}

void print_facts(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& table) {
  const TimelineProcess& process = main_process(timeline);
  if (!process.declaration.command_line.empty()) {
    print_wrapped(printable(process.declaration.command_line), Style::heading);
  }
  std::string facts = fmt::format("{}, {}", format_duration(table.length_ns), describe_scopes(timeline, statistics));
  facts += ", " + describe_drops(drops_of(timeline));
  if (const std::string machine = machine_of(process); !machine.empty()) {
    facts += ". " + printable(machine);
  }
  print_wrapped(facts);
  print_processes(timeline);
  fmt::print("\n");
}

/// The slowest frame, and what took most of it.
void print_slowest(const Timeline& timeline, const stats::SlowFrames& slow) {
  if (slow.frames.empty()) {
    return;
  }
  const stats::SlowFrame& worst = slow.frames.front();
  std::string text = "slowest: " + describe_frame(timeline, worst);
  const auto duration_ns = static_cast<double>(worst.frame.duration_ns);
  constexpr std::size_t most_sites = 3;
  const std::size_t name_width = screen().is_terminal ? 32 : screen().width;
  for (std::size_t i = 0; i < std::min(most_sites, worst.sites.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "; self time of " : ", ",
                        cut_middle(site_name(timeline.site(worst.sites[i].site)), name_width),
                        format_share(static_cast<double>(worst.sites[i].self_ns), duration_ns));
  }
  print_wrapped(text);
}

std::size_t count_machine_metrics(const Timeline& timeline, const stats::Statistics& statistics) {
  std::size_t count = 0;
  for (const stats::MetricStatistics& metric : statistics.metrics) {
    count += is_own(timeline.metric(metric.metric)) ? 0U : 1U;
  }
  return count;
}

void print_more(const Timeline& timeline, const stats::Statistics& statistics, bool has_machine) {
  const std::size_t machine = count_machine_metrics(timeline, statistics);
  std::string text = "more:";
  if (!timeline.declarations().stacks.empty()) {
    text += " --functions,";
  }
  if (machine != 0 && !has_machine) {
    text += fmt::format(" --metrics ({} of the machine),", format_count(machine));
  }
  text += statistics.sites.empty() ? " --help; `kymo explain` tells where the run's time went"
                                   : " --tree, --slowest-frames 5, --histogram, --help";
  fmt::print("\n");
  print_wrapped(text, Style::soft);
}

}  // namespace

void print_first_screen(const Timeline& timeline, const FirstScreen& found, const StatsOptions& options,
                        const StatsTableOptions& table) {
  print_facts(timeline, found.statistics, table);
  print_sites(timeline, found.statistics, table);
  print_spans(timeline, found.statistics, table);
  print_locks(found.locks, table);
  print_frames(timeline, found.statistics, table);
  print_slowest(timeline, found.slow);
  StatsTableOptions of_metrics = table;
  of_metrics.top = options.has_metrics ? 0 : table.top;
  print_metrics(timeline, found.statistics, of_metrics, true);
  // A recording of the machine alone has nothing else to show.
  const bool is_machine_alone = found.statistics.sites.empty() && found.statistics.spans.empty() &&
                                count_machine_metrics(timeline, found.statistics) == found.statistics.metrics.size();
  const bool wants_all = options.has_metrics || !options.filters.empty();
  if (wants_all || is_machine_alone) {
    of_metrics.is_brief = !wants_all;
    print_metrics(timeline, found.statistics, of_metrics, false);
  }
  if (!wants_all) {
    print_more(timeline, found.statistics, is_machine_alone);
  }
}

}  // namespace kymo::command
