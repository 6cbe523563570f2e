// kymo report: energy, as in kymo stats --energy.
#include <algorithm>

#include <fmt/format.h>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/energy_table.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::command {

namespace {

using stats::Energy;
using stats::EnergyStatistics;
using stats::PowerSide;

/// Joules and their error bound.
void put_energy(const Energy& energy, PageTable& table) {
  table.cell(energy.is_known() ? exact(energy.joules, format_energy(energy)) : format_energy(energy));
  table.cell(energy.is_known() ? exact(energy.bound_joules, format_bound(energy)) : std::string());
}

std::string share_of(double part, double whole) {
  return format_share(part, whole);
}

void append_sources(const EnergyStatistics& energy, std::string& out) {
  PageTable table(out, "What measured power",
                  {{"power source", true},
                   {"feeds", true},
                   {"method", true},
                   {"numbers", true},
                   {"renewal"},
                   {"energy"},
                   {"bound"},
                   {"known for"},
                   {"gaps"}});
  for (const stats::SourceEnergy& source : energy.sources) {
    table.row(escape_html(source.name), "name");
    table.cell(name_of(source.side));
    table.cell(name_of(source.method));
    table.cell(source.is_estimated ? "estimated" : "measured");
    table.cell(source.renewal_ns == 0 ? "-" : format_duration(static_cast<double>(source.renewal_ns)));
    put_energy(source.energy, table);
    table.cell(format_duration(source.known_s * 1e9));
    table.cell(source.gaps == 0 ? "" : format_count(source.gaps));
  }
  table.end();
  for (const auto& [name, reason] : energy.left_out) {
    out += fmt::format("<p class=\"soft\">Not added: {} ({})</p>\n", escape_html(name), escape_html(reason));
  }
}

void append_sites(const Report& report, std::string& out) {
  const EnergyStatistics& energy = report.energy;
  if (energy.sites.empty() || !has_source(energy, PowerSide::machine)) {
    return;
  }
  const std::size_t shown = std::min(report.options.top, energy.sites.size());
  PageTable table(out,
                  shown == energy.sites.size()
                      ? "Joules of scopes (estimated)"
                      : fmt::format("Joules of scopes (estimated): the first {} of {}", format_count(shown),
                                    format_plural(energy.sites.size(), "site")),
                  {{"scope", true},
                   {"count"},
                   {"energy"},
                   {"bound"},
                   {"self"},
                   {"bound"},
                   {"per scope"},
                   {"share"},
                   {"idle"},
                   {"unknown"}});
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::SiteEnergy& site = energy.sites[i];
    table.row(escape_html(site_name(report.timeline.site(site.site), 300)), "name");
    table.cell(exact_count(site.count));
    put_energy(site.inclusive, table);
    put_energy(site.self, table);
    table.cell(per_one(site.inclusive, site.count, site.is_resolved()));
    table.cell(share_of(site.inclusive.joules, energy.machine.joules));
    table.cell(share_of(site.idle_joules, site.inclusive.joules));
    table.cell(format_unknown(site.inclusive.unknown_s));
  }
  table.end();
}

void append_spans(const Report& report, std::string& out) {
  const EnergyStatistics& energy = report.energy;
  if (energy.spans.empty()) {
    return;
  }
  PageTable table(out, "GPU power goes to the spans of queues",
                  {{"GPU span", true}, {"count"}, {"GPU energy"}, {"bound"}, {"per span"}, {"share"}, {"unknown"}});
  for (std::size_t i = 0; i < std::min(report.options.top, energy.spans.size()); ++i) {
    const stats::SpanEnergy& span = energy.spans[i];
    table.row(escape_html(printable(report.timeline.name(span.name), 300)), "name");
    table.cell(exact_count(span.count));
    put_energy(span.energy, table);
    table.cell(per_one(span.energy, span.count, span.is_resolved()));
    table.cell(share_of(span.energy.joules, energy.gpu.joules));
    table.cell(format_unknown(span.energy.unknown_s));
  }
  table.end();
}

/// The energy columns of a machine, and of its GPUs if they were measured.
std::vector<PageColumn> both_sides(std::vector<PageColumn> first, const char* one, bool has_gpu) {
  for (const char* title : {"energy", "bound", one}) {
    first.push_back({title});
  }
  if (has_gpu) {
    for (const char* title : {"GPU energy", "bound", one}) {
      first.push_back({title});
    }
  }
  first.push_back({"unknown"});
  return first;
}

void append_frames(const Report& report, bool has_gpu, std::string& out) {
  if (report.energy.frame_streams.empty()) {
    return;
  }
  PageTable table(out, "Frames get all the power of their time",
                  both_sides({{"frames", true}, {"count"}}, "per frame", has_gpu));
  for (const stats::FrameEnergy& stream : report.energy.frame_streams) {
    const FrameStreamDeclaration& declared = report.timeline.frame_stream(stream.stream);
    table.row(declared.name.empty() ? "(main)" : escape_html(declared.name), "name");
    table.cell(exact_count(stream.count));
    put_energy(stream.machine, table);
    table.cell(per_one(stream.machine, stream.count, stream.is_resolved()));
    if (has_gpu) {
      put_energy(stream.gpu, table);
      table.cell(per_one(stream.gpu, stream.count, stream.is_resolved()));
    }
    table.cell(format_unknown(stream.machine.unknown_s));
  }
  table.end();
}

void append_phases(const Report& report, bool has_gpu, std::string& out) {
  if (report.energy.phases.empty()) {
    return;
  }
  PageTable table(out, "Phases get all the power of their time",
                  both_sides({{"phase", true}, {"duration"}}, "mean power", has_gpu));
  constexpr std::size_t most = 200;
  for (std::size_t i = 0; i < std::min(most, report.energy.phases.size()); ++i) {
    const stats::PhaseEnergy& row = report.energy.phases[i];
    const double length_s = stats::seconds_between(row.phase.start_ns, row.phase.end_ns);
    const auto put = [&](const Energy& energy) {
      row.is_resolved ? put_energy(energy, table) : (table.cell("unresolved"), table.cell(format_bound(energy)));
      const double seconds = length_s - energy.unknown_s;
      table.cell(seconds > 0 && energy.is_known() ? stats::value_text(energy.joules / seconds, "W") : "-");
    };
    table.row(std::to_string(row.phase.number) + process_note(report.timeline, row.phase.process));
    table.cell(format_duration(1e9 * length_s));
    put(row.machine);
    if (has_gpu) {
      put(row.gpu);
    }
    table.cell(format_unknown(row.machine.unknown_s));
  }
  table.end();
  if (report.energy.phases.size() > most) {
    out +=
        fmt::format("<p class=\"soft\">and {}</p>\n", format_plural(report.energy.phases.size() - most, "more phase"));
  }
}

}  // namespace

void append_report_energy(const Report& report, std::string& out) {
  const EnergyStatistics& energy = report.energy;
  if (energy.sources.empty()) {
    return;
  }
  const bool has_gpu = has_source(energy, PowerSide::gpu);
  out += "<section id=\"energy\"><h2>Energy</h2>\n";
  for (const std::string& text : describe_energy(energy)) {
    out += "<p>" + escape_html(text) + "</p>\n";
  }
  append_sites(report, out);
  append_spans(report, out);
  append_frames(report, has_gpu, out);
  append_phases(report, has_gpu, out);
  append_sources(energy, out);
  out += "</section>\n";
}

}  // namespace kymo::command
