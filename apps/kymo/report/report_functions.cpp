// kymo report: the functions of sampled stacks.
#include <algorithm>

#include <fmt/format.h>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/energy_table.hpp"
#include "apps/kymo/stats/function_rows.hpp"

namespace kymo::command {

namespace {

/// Rows of functions, or of lines of the source.
void append_samples(const Report& report, const stats::SampledFunctions& found, bool has_lines,
                    base::OutputFile& file) {
  std::string& out = file.buffer();
  std::vector<PageColumn> columns{{"function", true}, {"self"},  {"share"},        {"\u00b1 points"},
                                  {"total"},          {"share"}, {"\u00b1 points"}};
  if (has_lines) {
    columns.insert(columns.begin(), {"line", true});
  }
  if (found.has_energy) {
    columns.push_back({"energy, estimated"});
    columns.push_back({"\u00b1"});
  }
  columns.push_back({"module", true});
  const std::string where = has_lines ? "line" : "function";
  const std::size_t shown = std::min(report.options.top, found.functions.size());
  PageTable table(
      out, fmt::format("Samples that found a thread in the {} (self), or in it or what it called (total)", where),
      std::move(columns), shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::FunctionStatistics& row = found.functions[i];
    const std::string name = escape_html(printable(row.name));
    table.row(has_lines ? escape_html(line_text(row)) : name, "name");
    if (has_lines) {
      table.cell(name);
    }
    for (const std::uint64_t samples : {row.self, row.total}) {
      table.cell(exact_count(samples));
      table.cell(format_share(static_cast<double>(samples), static_cast<double>(found.samples)));
      table.cell(format_reach(samples, found.samples));
    }
    if (found.has_energy) {
      table.cell(format_energy(row.self_energy));
      table.cell(format_bound(row.self_energy));
    }
    table.cell(escape_html(module_text(row)));
    file.spill();
  }
  table.end();
  if (shown < found.functions.size()) {
    out += fmt::format("<p class=\"soft\">and {} more</p>\n", format_plural(found.functions.size() - shown, where));
  }
}

}  // namespace

void append_report_functions(const Report& report, base::OutputFile& file) {
  if (report.functions.samples == 0) {
    return;
  }
  std::string& out = file.buffer();
  out += "<section id=\"functions\"><h2>Functions</h2>\n";
  report.flame.append(out);
  append_samples(report, report.functions, false, file);
  if (report.lines.samples != 0) {
    append_samples(report, report.lines, true, file);
  }
  out += "</section>\n";
}

void append_report_waits(const Report& report, base::OutputFile& file) {
  const stats::SampledFunctions& found = report.functions;
  if (found.blocked_ns == 0) {
    return;
  }
  std::string& out = file.buffer();
  const auto all = static_cast<double>(found.blocked_ns);
  const bool is_estimate = found.unsampled_ns != 0;
  out +=
      fmt::format("<section id=\"waits\"><h2>Waits</h2>\n<p class=\"soft\">{} blocked, all threads together{}.</p>\n",
                  format_duration(all),
                  is_estimate ? fmt::format("; {} of it estimated from waits about as long, whose stacks were taken",
                                            format_share(static_cast<double>(found.unsampled_ns), all))
                              : std::string());
  report.waits.append(out);
  const std::vector<const stats::FunctionStatistics*> rows = stats::functions_by_waits(found);
  std::vector<PageColumn> columns{{"waited in", true}};
  for (const char* const title : {"self", "total"}) {
    columns.insert(columns.end(), {{title}, {"share"}});
    if (is_estimate) {
      columns.push_back({"\u00b1 points"});
    }
  }
  columns.push_back({"module", true});
  const std::size_t shown = std::min(report.options.top, rows.size());
  PageTable table(out, "What threads waited in the function (self), or in it or what it called (total)",
                  std::move(columns), shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::FunctionStatistics& row = *rows[i];
    table.row(escape_html(printable(row.name)), "name");
    for (const auto& [waited_ns, bound_ns] : {std::pair(row.self_blocked_ns, row.self_blocked_bound_ns),
                                              std::pair(row.total_blocked_ns, row.total_blocked_bound_ns)}) {
      table.cell(format_duration(static_cast<double>(waited_ns)));
      table.cell(format_share(static_cast<double>(waited_ns), all));
      if (is_estimate) {
        table.cell(fmt::format("{:.1f}", 100 * static_cast<double>(bound_ns) / all));
      }
    }
    table.cell(escape_html(module_text(row)));
    file.spill();
  }
  table.end();
  if (shown < rows.size()) {
    out += fmt::format("<p class=\"soft\">and {} more</p>\n", format_plural(rows.size() - shown, "function"));
  }
  out += "</section>\n";
}

}  // namespace kymo::command
