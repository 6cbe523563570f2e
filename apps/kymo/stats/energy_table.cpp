// kymo stats --energy: energy as tables and JSON.
#include "apps/kymo/stats/energy_table.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/process_json.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::Energy;
using stats::EnergyStatistics;
using stats::PowerSide;

std::string pid_cell(const Timeline& timeline, ProcessId process, bool by_process) {
  return by_process ? std::to_string(timeline.process(process).declaration.pid) : std::string();
}

std::size_t shown_of(const EnergyStatistics& statistics, const EnergyTableOptions& options) {
  return options.top == 0 ? statistics.sites.size() : std::min(options.top, statistics.sites.size());
}

void print_sources(const EnergyStatistics& statistics) {
  Table table({{"power source", Align::left},
               {"feeds", Align::left},
               {"method", Align::left, 4},
               {"numbers", Align::left, 3},
               {"renewal", Align::right, 2},
               {"energy"},
               {"known for", Align::right, 1},
               {"gaps"}});
  for (const stats::SourceEnergy& source : statistics.sources) {
    table.add({printable(source.name, 48), std::string(name_of(source.side)), std::string(name_of(source.method)),
               source.is_estimated ? "estimated" : "measured",
               source.renewal_ns == 0 ? "-" : format_duration(static_cast<double>(source.renewal_ns)),
               format_energy(source.energy), format_duration(source.known_s * 1e9),
               source.gaps == 0 ? "" : format_count(source.gaps)});
  }
  table.print();
  for (const auto& [name, reason] : statistics.left_out) {
    fmt::print("not added: {} ({})\n", printable(name, 64), reason);
  }
}

void print_totals(const EnergyStatistics& statistics) {
  fmt::print("\n");
  for (const std::string& text : describe_energy(statistics)) {
    print_wrapped(text);
  }
  fmt::print("\n");
}

void print_sites(const Timeline& timeline, const EnergyStatistics& statistics, const EnergyTableOptions& options) {
  Table table({{"scope", Align::left},
               {"process"},
               {"count"},
               {"energy"},
               {"bound"},
               {"self"},
               {"bound", Align::right, 4},
               {"per scope", Align::right, 1},
               {"share"},
               {"idle", Align::right, 3},
               {"unknown", Align::right, 2}});
  const std::size_t shown = shown_of(statistics, options);
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::SiteEnergy& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    table.add({declared.name.empty() ? "(unnamed)" : printable(declared.name, 48),
               pid_cell(timeline, declared.process, options.by_process), format_count(site.count),
               format_energy(site.inclusive), format_bound(site.inclusive), format_energy(site.self),
               format_bound(site.self), per_one(site.inclusive, site.count, site.is_resolved()),
               format_share(site.inclusive.joules, statistics.machine.joules),
               format_share(site.idle_joules, site.inclusive.joules), format_unknown(site.inclusive.unknown_s)});
  }
  if (table.empty()) {
    fmt::print("No scope was open in this recording.\n");
    return;
  }
  table.print();
  if (shown < statistics.sites.size()) {
    fmt::print("... and {} more; --top shows them\n", format_plural(statistics.sites.size() - shown, "site"));
  }
}

void print_spans(const Timeline& timeline, const EnergyStatistics& statistics) {
  Table table({{"GPU span", Align::left}, {"count"}, {"GPU energy"}, {"bound"}, {"per span"}, {"share"}, {"unknown"}});
  for (const stats::SpanEnergy& span : statistics.spans) {
    table.add({printable(timeline.name(span.name), 48), format_count(span.count), format_energy(span.energy),
               format_bound(span.energy), per_one(span.energy, span.count, span.is_resolved()),
               format_share(span.energy.joules, statistics.gpu.joules), format_unknown(span.energy.unknown_s)});
  }
  table.print_below();
}

void print_frames(const Timeline& timeline, const EnergyStatistics& statistics, const EnergyTableOptions& options) {
  Table table({{"frames", Align::left},
               {"process"},
               {"count"},
               {"energy"},
               {"bound"},
               {"per frame"},
               {"GPU energy"},
               {"bound"},
               {"per frame"},
               {"unknown"}});
  const bool has_gpu = has_source(statistics, PowerSide::gpu);
  for (const stats::FrameEnergy& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    table.add({declared.name.empty() ? "(main)" : printable(declared.name, 48),
               pid_cell(timeline, declared.process, options.by_process), format_count(stream.count),
               format_energy(stream.machine), format_bound(stream.machine),
               per_one(stream.machine, stream.count, stream.is_resolved()), has_gpu ? format_energy(stream.gpu) : "",
               has_gpu ? format_bound(stream.gpu) : "",
               has_gpu ? per_one(stream.gpu, stream.count, stream.is_resolved()) : "",
               format_unknown(stream.machine.unknown_s)});
  }
  table.print_below();
}

void print_phases(const EnergyStatistics& statistics) {
  Table table({{"phase", Align::left},
               {"duration"},
               {"energy"},
               {"bound"},
               {"mean power"},
               {"GPU energy"},
               {"bound"},
               {"unknown"}});
  const bool has_gpu = has_source(statistics, PowerSide::gpu);
  for (const stats::PhaseEnergy& row : statistics.phases) {
    const double seconds = stats::seconds_between(row.phase.start_ns, row.phase.end_ns) - row.machine.unknown_s;
    table.add({std::to_string(row.phase.number),
               format_duration(static_cast<double>(row.phase.end_ns - row.phase.start_ns)),
               row.is_resolved ? format_energy(row.machine) : "unresolved", format_bound(row.machine),
               seconds > 0 ? fmt::format("{:.3g} W", row.machine.joules / seconds) : "-",
               has_gpu ? format_energy(row.gpu) : "", has_gpu ? format_bound(row.gpu) : "",
               format_unknown(row.machine.unknown_s)});
  }
  table.print_below();
}

void put(Json& row, const char* prefix, const Energy& energy) {
  const std::string name(prefix);
  row[name + "joules"] = energy.is_known() ? Json(energy.joules) : Json();
  row[name + "bound_joules"] = energy.is_known() ? Json(energy.bound_joules) : Json();
  row[name + "unknown_s"] = energy.unknown_s;
}

Json sites_to_json(const Timeline& timeline, const EnergyStatistics& statistics, const EnergyTableOptions& options) {
  Json sites = Json::array();
  const std::size_t shown = shown_of(statistics, options);
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::SiteEnergy& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    Json row = {
        {"name", declared.name}, {"function", declared.function}, {"file", declared.file}, {"line", declared.line}};
    put_process(timeline, options.by_process, declared.process, site.processes, row);
    row["count"] = site.count;
    row["unresolved_count"] = site.unresolved;
    row["is_resolved"] = site.is_resolved();
    put(row, "", site.inclusive);
    put(row, "self_", site.self);
    row["idle_joules"] = site.idle_joules;
    sites.push_back(std::move(row));
  }
  return sites;
}

Json sources_to_json(const EnergyStatistics& statistics) {
  Json sources = Json::array();
  for (const stats::SourceEnergy& source : statistics.sources) {
    Json row = {{"name", source.name},
                {"feeds", name_of(source.side)},
                {"method", name_of(source.method)},
                {"estimated", source.is_estimated},
                {"renewal_ns", source.renewal_ns}};
    put(row, "", source.energy);
    row["known_s"] = source.known_s;
    row["gaps"] = source.gaps;
    sources.push_back(std::move(row));
  }
  return sources;
}

}  // namespace

bool has_source(const EnergyStatistics& statistics, PowerSide side) {
  return std::any_of(statistics.sources.begin(), statistics.sources.end(),
                     [side](const stats::SourceEnergy& source) { return source.side == side; });
}

std::string format_energy(const Energy& energy) {
  return energy.is_known() ? format_joules(energy.joules) : "-";
}

std::string format_bound(const Energy& energy) {
  return energy.is_known() ? "±" + format_joules(energy.bound_joules) : "";
}

std::string per_one(const Energy& energy, std::uint64_t count, bool is_resolved) {
  if (!is_resolved) {
    return "unresolved";
  }
  return count == 0 || !energy.is_known() ? "-" : format_joules(energy.joules / static_cast<double>(count));
}

std::string format_unknown(double seconds) {
  return seconds > 0 ? format_duration(seconds * 1e9) : std::string();
}

std::vector<std::string> describe_energy(const EnergyStatistics& statistics) {
  std::vector<std::string> texts;
  if (!has_source(statistics, PowerSide::machine)) {
    texts.emplace_back("Machine: not known. No source measures it, so its scopes have no joules.");
    texts.push_back(fmt::format("GPU: {} {}.", format_energy(statistics.gpu), format_bound(statistics.gpu)));
    return texts;
  }
  texts.push_back(fmt::format("Machine: {} {}, {} of it while scopes were open.", format_energy(statistics.machine),
                              format_bound(statistics.machine),
                              format_share(statistics.in_scopes_joules, statistics.machine.joules)));
  if (statistics.idle_watts) {
    texts.back() +=
        fmt::format(" Idle floor {} W{}: {}.", format_value(std::round(*statistics.idle_watts * 1000) / 1000),
                    statistics.is_idle_given ? "" : " (the least second)",
                    format_share(statistics.idle_joules, statistics.machine.joules));
  }
  if (has_source(statistics, PowerSide::gpu)) {
    texts.push_back(fmt::format("GPU: {} {}.", format_energy(statistics.gpu), format_bound(statistics.gpu)));
  }
  texts.push_back(fmt::format("Joules of scopes are estimated: threads with open scopes share the machine's power {}.",
                              statistics.shares_by_cpu_time ? "by their CPU time" : "equally"));
  return texts;
}

void print_energy(const Timeline& timeline, const EnergyStatistics& statistics, const EnergyTableOptions& options) {
  print_sources(statistics);
  print_totals(statistics);
  if (has_source(statistics, PowerSide::machine)) {
    print_sites(timeline, statistics, options);
  }
  print_spans(timeline, statistics);
  print_frames(timeline, statistics, options);
  print_phases(statistics);
}

Json energy_to_json(const Timeline& timeline, const EnergyStatistics& statistics, const EnergyTableOptions& options) {
  Json left_out = Json::array();
  for (const auto& [name, reason] : statistics.left_out) {
    left_out.push_back({{"name", name}, {"reason", reason}});
  }
  Json spans = Json::array();
  for (const stats::SpanEnergy& span : statistics.spans) {
    Json row = {{"name", timeline.name(span.name)},
                {"count", span.count},
                {"unresolved_count", span.unresolved},
                {"is_resolved", span.is_resolved()}};
    put(row, "gpu_", span.energy);
    spans.push_back(std::move(row));
  }
  Json streams = Json::array();
  for (const stats::FrameEnergy& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    Json row = {{"name", declared.name}};
    put_process(timeline, options.by_process, declared.process, stream.processes, row);
    row["count"] = stream.count;
    row["unresolved_count"] = stream.unresolved;
    row["is_resolved"] = stream.is_resolved();
    put(row, "", stream.machine);
    put(row, "gpu_", stream.gpu);
    streams.push_back(std::move(row));
  }
  Json phases = Json::array();
  for (const stats::PhaseEnergy& phase : statistics.phases) {
    Json row = {{"number", phase.phase.number},
                {"process", phase.phase.process.value()},
                {"start_ns", phase.phase.start_ns},
                {"end_ns", phase.phase.end_ns},
                {"is_resolved", phase.is_resolved}};
    put(row, "", phase.machine);
    put(row, "gpu_", phase.gpu);
    phases.push_back(std::move(row));
  }
  Json totals = Json::object();
  put(totals, "", statistics.machine);
  put(totals, "gpu_", statistics.gpu);
  totals["shares_by_cpu_time"] = statistics.shares_by_cpu_time;
  totals["in_scopes_joules"] = statistics.in_scopes_joules;
  totals["idle_joules"] = statistics.idle_joules;
  totals["idle_watts"] = statistics.idle_watts ? Json(*statistics.idle_watts) : Json();
  totals["idle_watts_given"] = statistics.is_idle_given;
  const TimeRange range = timeline.range();
  return {{"start_ns", range.start_ns},
          {"end_ns", range.end_ns},
          {"scopes_estimated", true},
          {"power_sources", sources_to_json(statistics)},
          {"left_out", std::move(left_out)},
          {"total", std::move(totals)},
          {"sites", sites_to_json(timeline, statistics, options)},
          {"spans", std::move(spans)},
          {"frame_streams", std::move(streams)},
          {"phases", std::move(phases)}};
}

}  // namespace kymo::command
