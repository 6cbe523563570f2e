// kymo report: the page with its facts, warnings, overview and sections.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <kymo/overview.hpp>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report.hpp"
#include "apps/kymo/report/report_explanations.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/common/power_curve.hpp"

namespace kymo::command {

namespace {

constexpr std::size_t most_processes_shown = 64;

constexpr std::string_view report_style = R"(small { display: block; color: var(--soft); }
.name { white-space: normal; overflow-wrap: anywhere; min-width: 10rem; max-width: 22rem; }
.sentence { max-width: 46rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; font-size: .875rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
nav a { margin-right: 1rem; }
.more > .wide caption { display: none; }
details { margin: .5rem 0; } details > .wide { margin: .3rem 0 .8rem 1rem; }
section > .wide + .wide { margin-top: 1.2rem; }
.overview { min-width: 48rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 28rem)); gap: 1rem; margin: 1rem 0; }
svg.sketch { width: 144px; } svg.bar { width: 110px; height: 10px; } svg.metric { width: 480px; }
.sketch .s, .bar .s { fill: var(--base); }
.s.area { fill: var(--base); fill-opacity: .22; } .s.edge { stroke: var(--base); }
.back { fill: var(--panel); } .measured { fill: var(--base); } .held { fill: var(--base); opacity: .6; }
.stale { fill: var(--new); } .unreadable { fill: var(--soft); fill-opacity: .4; }
@media (max-width: 40rem) { body { padding: 1rem .8rem; } .name { min-width: 7rem; max-width: 9rem; }
  tbody th, thead th:first-child { position: sticky; left: 0; background: var(--ground); } }
@media print { svg.metric { width: 300px; } nav { display: none; } th, td { padding-right: .4rem; } }
)";

/// Facts about how it was recorded rather than what was run.
bool is_minor(std::string_view key) {
  constexpr std::array<std::string_view, 6> prefixes{"sampler.", "record.", "sensor.", "kymo.", "recovery.", "clock."};
  constexpr std::array<std::string_view, 7> keys{"executable", "build_id",  "architecture", "started",
                                                 "cpu",        "cpu_count", "kernel"};
  return std::find(keys.begin(), keys.end(), key) != keys.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [key](std::string_view prefix) { return key.substr(0, prefix.size()) == prefix; });
}

void put_fact(std::string_view key, std::string_view value, std::string& out) {
  if (!value.empty()) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(key), escape_html(value));
  }
}

void append_run(const Report& report, const TimelineProcess& process, std::string& out) {
  const Timeline& timeline = report.timeline;
  const TimeRange range = timeline.range();
  const double length = 1e9 * stats::seconds_between(range.start_ns, range.end_ns);
  std::uint64_t scopes = 0;
  for (const stats::SiteStatistics& site : report.statistics.sites) {
    scopes += site.durations.count;
  }
  out += "<dl>\n";
  put_fact("machine", machine_of(process), out);
  put_fact("started", fact_of(process, "started"), out);
  out += fmt::format("<dt>duration</dt><dd>{}</dd>\n", exact(length, format_duration(length)));
  put_fact("recorded",
           fmt::format("{} of {}, {}, {}", format_plural(scopes, "scope"),
                       format_plural(report.statistics.sites.size(), "site"),
                       format_plural(timeline.tracks().size(), "track"),
                       format_plural(report.statistics.metrics.size(), "metric")),
           out);
  for (const auto& [key, value] : process.infos) {
    if (!is_minor(key)) {
      put_fact(key, format_fact(key, value), out);
    }
  }
  out += "</dl>\n";
}

void append_processes(const Report& report, std::string& out) {
  const Timeline& timeline = report.timeline;
  const auto& processes = timeline.processes();
  out += fmt::format("<details><summary>All facts of {}</summary>\n", format_plural(processes.size(), "process"));
  for (std::size_t i = 0; i < std::min(most_processes_shown, processes.size()); ++i) {
    const TimelineProcess& process = processes[i];
    const ProcessDeclaration& declared = process.declaration;
    out += fmt::format("<h3>process {}{}{}</h3>\n<dl>\n", declared.pid,
                       declared.host.empty() ? "" : " on " + escape_html(declared.host),
                       declared.rank.empty() ? "" : ", rank " + escape_html(declared.rank));
    put_fact("command", declared.command_line, out);
    const std::string& path = timeline.capture(process.capture).path();
    put_fact("capture", report.options.redacts ? path.substr(path.rfind('/') + 1) : path, out);
    for (const auto& [key, value] : process.infos) {
      put_fact(key, format_fact(key, value), out);
    }
    out += "</dl>\n";
  }
  if (processes.size() > most_processes_shown) {
    out += fmt::format("<p>and {}</p>\n", format_plural(processes.size() - most_processes_shown, "more process"));
  }
  out += "</details>\n";
}

/// Each phase with the sites that took most of its time.
void append_phases(const Report& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  if (report.phases.empty()) {
    return;
  }
  constexpr std::size_t most = 1000;
  const bool has_sites = !report.phase_statistics.empty();
  std::vector<PageColumn> columns{{"phase", true}, {"from"}, {"duration"}};
  if (has_sites) {
    columns.push_back({"most self time", true});
  }
  out += "<section id=\"phases\"><h2>Phases</h2>\n";
  PageTable table(out, "A phase is the stretch from a sync point of a process to its next", columns);
  for (std::size_t i = 0; i < std::min(most, report.phases.size()); ++i) {
    const Phase& phase = report.phases[i];
    table.row(std::to_string(phase.number) + process_note(report.timeline, phase.process));
    table.cell(since_start(report.timeline, phase.start_ns));
    const double length = 1e9 * stats::seconds_between(phase.start_ns, phase.end_ns);
    table.cell(exact(length, format_duration(length)));
    if (has_sites && i < report.phase_statistics.size()) {
      std::string text;
      const auto& sites = report.phase_statistics[i].statistics.sites;
      for (std::size_t k = 0; k < std::min<std::size_t>(3, sites.size()); ++k) {
        text +=
            fmt::format("{}{} {}", k == 0 ? "" : ", ", escape_html(site_name(report.timeline.site(sites[k].site), 60)),
                        format_duration(static_cast<double>(sites[k].self_ns)));
      }
      table.cell(text, "fact");
    }
    file.spill();
  }
  table.end();
  out += report.phases.size() > most ? fmt::format("<p class=\"soft\">and {}</p></section>\n",
                                                   format_plural(report.phases.size() - most, "more phase"))
                                     : std::string("</section>\n");
}

void append_contents(const Report& report, std::string& out) {
  struct Entry {
    bool is_there;
    const char* id;
    const char* title;
  };
  const stats::Statistics& statistics = report.statistics;
  const std::array<Entry, 13> entries{
      {{!report.explanations.empty() || report.energy_explanation, "explanations", "Why it was slow"},
       {report.run.has_value(), "run", "Where the time went"},
       {true, "overview", "Overview"},
       {!statistics.frame_streams.empty(), "frames", "Frames"},
       {!statistics.sites.empty(), "scopes", "Scopes"},
       {!report.tree.rows.empty(), "tree", "Call tree"},
       {!report.locks.empty(), "locks", "Locks"},
       {!statistics.spans.empty(), "spans", "Spans"},
       {report.functions.samples != 0, "functions", "Functions"},
       {report.functions.blocked_ns != 0, "waits", "Waits"},
       {!statistics.metrics.empty(), "metrics", "Metrics"},
       {!report.energy.sources.empty(), "energy", "Energy"},
       {!report.phases.empty(), "phases", "Phases"}}};
  out += "<nav aria-label=\"Sections\">";
  for (const Entry& entry : entries) {
    out += entry.is_there ? fmt::format("<a href=\"#{}\">{}</a>\n", entry.id, entry.title) : std::string();
  }
  out += "</nav>\n";
}

}  // namespace

void write_report(const Report& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  const TimelineProcess& process = main_process(report.timeline);
  const std::string& command = process.declaration.command_line;
  const std::string title = printable(command.empty() ? report.title : command, 200);
  begin_page(out, "kymo: " + title, std::string(report_style) + std::string(FlameGraph::style));
  out += fmt::format("<header><h1>{}</h1>\n", escape_html(title));
  append_warnings(out, "Before you go by the numbers", report.warnings.texts);
  append_run(report, process, out);
  append_processes(report, out);
  append_contents(report, out);
  out += "</header>\n<main>\n";
  append_explanations(report.explanations, report.energy_explanation, out);
  append_run(report.run, out);
  out += "<section id=\"overview\"><h2>Overview</h2>\n<div class=\"wide\"><div class=\"overview\">\n";
  OverviewOptions overview;
  overview.width = 1160;
  overview.most_metrics = 8;  // the metrics section has all of them
  out += overview_svg(report.timeline, overview);
  out += "</div></div></section>\n";
  file.spill();
  append_report_frames(report, file);
  append_report_sites(report, file);
  append_report_functions(report, file);
  append_report_waits(report, file);
  append_report_metrics(report, file);
  append_report_energy(report, out);
  append_phases(report, file);
  out += fmt::format("</main>\n<footer class=\"soft\"><p>Made by kymo {} of {}</p></footer>\n", KYMO_VERSION,
                     escape_html(report.title));
  end_page(out);
}

}  // namespace kymo::command
