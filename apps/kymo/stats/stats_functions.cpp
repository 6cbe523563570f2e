// kymo stats --functions and --lines: where the threads were found on a CPU.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/energy_table.hpp"
#include "apps/kymo/stats/function_rows.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "stats/common/stack_tree.hpp"
#include "stats/energy/function_energy.hpp"
#include "stats/statistics/function_statistics.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::FunctionStatistics;
using stats::SampledFunctions;

constexpr std::size_t functions_of_first_screen = 30;

/// The columns that tell rows apart: of lines the place, then the function.
void add_names(std::vector<std::string>& cells, const FunctionStatistics& row, bool has_lines) {
  cells.push_back(printable(row.name));
  if (has_lines) {
    cells.insert(cells.begin(), line_text(row));
  }
}

void print_table(const SampledFunctions& found, bool has_lines, std::size_t most) {
  const bool has_energy = found.has_energy;
  std::vector<Table::Column> columns{
      {"function", Align::left}, {"self"}, {"share"}, {"+-", Align::right, 1}, {"total", Align::right}, {"share"},
      {"+-", Align::right, 1}};
  if (has_lines) {
    columns.insert(columns.begin(), {"line", Align::left});
  }
  if (has_energy) {
    columns.insert(columns.end(), {{"self energy"}, {"+-", Align::right, 1}, {"total"}, {"+-", Align::right, 1}});
  }
  columns.push_back({"module", Align::left, 2});
  Table table(columns);
  std::size_t shown = 0;
  for (const FunctionStatistics& row : found.functions) {
    if (shown++ == most) {
      break;
    }
    const auto all = static_cast<double>(found.samples);
    std::vector<std::string> cells;
    add_names(cells, row, has_lines);
    for (const std::uint64_t samples : {row.self, row.total}) {
      cells.push_back(format_count(samples));
      cells.push_back(format_share(static_cast<double>(samples), all));
      cells.push_back(format_reach(samples, found.samples));
    }
    if (has_energy) {
      for (const stats::Energy& energy : {row.self_energy, row.total_energy}) {
        cells.push_back(format_energy(energy));
        cells.push_back(format_bound(energy));
      }
    }
    cells.push_back(module_text(row));
    table.add(cells);
  }
  table.print();
  if (found.functions.size() > most) {
    fmt::print("... and {} more; --top shows them\n",
               format_plural(found.functions.size() - most, has_lines ? "line" : "function"));
  }
}

/// Where threads waited, by what was called last.
void print_waits(const SampledFunctions& found, bool has_lines, std::size_t most) {
  const std::vector<const FunctionStatistics*> rows = stats::functions_by_waits(found);
  if (rows.empty()) {
    return;
  }
  const auto all = static_cast<double>(found.blocked_ns);
  fmt::print("\n{} blocked, all threads together\n", format_duration(all));
  const bool is_estimate = found.unsampled_ns != 0;
  if (is_estimate) {
    fmt::print("{} of it estimated from waits about as long, whose stacks were taken\n",
               format_share(static_cast<double>(found.unsampled_ns), all));
  }
  std::vector<Table::Column> columns{{"waited in", Align::left}};
  for (const char* const title : {"self", "total"}) {
    columns.insert(columns.end(), {{title}, {"share"}});
    if (is_estimate) {
      columns.push_back({"+-", Align::right, 1});
    }
  }
  columns.push_back({"module", Align::left, 2});
  if (has_lines) {
    columns.insert(columns.begin(), {"line", Align::left});
  }
  Table table(columns);
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const FunctionStatistics& row = *rows[i];
    std::vector<std::string> cells;
    add_names(cells, row, has_lines);
    for (const auto& [waited_ns, bound_ns] : {std::pair(row.self_blocked_ns, row.self_blocked_bound_ns),
                                              std::pair(row.total_blocked_ns, row.total_blocked_bound_ns)}) {
      const auto waited = static_cast<double>(waited_ns);
      cells.insert(cells.end(), {format_duration(waited), format_share(waited, all)});
      if (is_estimate) {
        cells.push_back(fmt::format("{:.1f}", 100 * static_cast<double>(bound_ns) / all));
      }
    }
    cells.push_back(module_text(row));
    table.add(cells);
  }
  table.print();
}

Json to_json(const stats::Energy& energy) {
  return energy.is_known() ? Json{{"joules", energy.joules}, {"bound_joules", energy.bound_joules}} : Json();
}

Json to_json(const Timeline& timeline, const SampledFunctions& found, bool has_lines, std::size_t most) {
  Json rows = Json::array();
  for (const FunctionStatistics& row : found.functions) {
    if (rows.size() == most) {
      break;
    }
    const stats::ShareInterval self = stats::share_interval(row.self, found.samples);
    const stats::ShareInterval total = stats::share_interval(row.total, found.samples);
    const auto all = static_cast<double>(std::max<std::uint64_t>(found.samples, 1));
    rows.push_back({{"name", row.name},
                    {"module", row.module},
                    {"file", row.file},
                    {"self", row.self},
                    {"self_share", static_cast<double>(row.self) / all},
                    {"self_share_95", {self.low, self.high}},
                    {"total", row.total},
                    {"total_share", static_cast<double>(row.total) / all},
                    {"total_share_95", {total.low, total.high}},
                    {"self_blocked_ns", row.self_blocked_ns},
                    {"self_blocked_bound_ns", row.self_blocked_bound_ns},
                    {"total_blocked_ns", row.total_blocked_ns},
                    {"total_blocked_bound_ns", row.total_blocked_bound_ns}});
    if (has_lines) {
      rows.back()["line"] = row.line != 0 ? Json(row.line) : Json();
    }
    if (found.has_energy) {
      rows.back()["self_energy_estimated"] = to_json(row.self_energy);
      rows.back()["total_energy_estimated"] = to_json(row.total_energy);
    }
  }
  const std::uint32_t hz = stats::samples_hz(timeline);
  return {{"samples", found.samples},
          {"samples_hz", hz != 0 ? Json(hz) : Json()},
          {"blocked_ns", found.blocked_ns},
          {"unsampled_blocked_ns", found.unsampled_ns},
          {"samples_without_stack", found.unread},
          {"threads", found.threads},
          {has_lines ? "lines" : "functions", std::move(rows)}};
}

}  // namespace

int show_functions(const Timeline& timeline, const StatsOptions& options) {
  if (timeline.declarations().stacks.empty()) {
    const std::string_view refused = fact_of(timeline, "stacks.refused");
    throw Failure(refused.empty() ? std::string("no stacks were recorded: kymo record --stacks records them")
                                  : fmt::format("no stacks were recorded: {}", printable(refused)));
  }
  if (options.has_lines && !knows_lines(timeline)) {
    throw Failure(
        "no line of the source is known: the recorded files have no debug information (-g or -g1), or kymo record "
        "had no libdw to read it");
  }
  stats::FunctionOptions how;
  how.rows = options.has_lines ? stats::SampledRows::lines : stats::SampledRows::functions;
  how.selection = stats::Selection(timeline, selection_of(timeline, options));
  SampledFunctions found;
  {
    Progress progress("reading");
    how.on_progress = progress.callback();
    found = stats::gather_functions_with_energy(timeline, how, options.power_sources);
  }
  Warnings warnings = find_all_warnings(timeline);
  warn_of_samples(timeline, found, warnings);
  const std::size_t most = options.top != 0                             ? options.top
                           : options.is_json || options.has_selection() ? found.functions.size()
                                                                        : functions_of_first_screen;
  if (options.is_json) {
    Json json = to_json(timeline, found, options.has_lines, most);
    json["warnings"] = warnings.texts;
    print_json(json);
    return warnings.exit_code();
  }
  warnings.print();
  if (found.samples == 0 && found.blocked_ns == 0) {
    fmt::print("No sample is in this part of the recording.\n");
    return warnings.exit_code();
  }
  const std::uint32_t hz = stats::samples_hz(timeline);
  fmt::print("{} of {}{}; shares with the reach of 95 % intervals\n", format_plural(found.samples, "sample"),
             format_plural(found.threads, "thread"),
             hz == 0 ? std::string() : fmt::format(" at {} Hz of CPU time", hz));
  if (found.has_energy) {
    fmt::print("energy is estimated: all power of the machine, shared by the samples\n");
  }
  print_table(found, options.has_lines, most);
  print_waits(found, options.has_lines, most);
  return warnings.exit_code();
}

}  // namespace kymo::command
