#include "apps/kymo/report/report_explanations.hpp"

#include <cmath>

#include <fmt/format.h>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/shared/units.hpp"
#include "stats/explain/explanation_text.hpp"

namespace kymo::command {

namespace {

/// A cell of what an explanation says, and below each of its functions.
std::string lines_cell(const std::string& before, const std::string& text,
                       const std::vector<FindingFunction>& functions) {
  std::string cell;
  for (const std::string& line : stats::lines_of(text, functions)) {
    cell += cell.empty() ? escape_html(before + printable(line))
                         : fmt::format("<small>of it {}</small>", escape_html(printable(line)));
  }
  return cell;
}

void put_excess(double excess_ns, double share, PageTable& table) {
  table.cell(exact(excess_ns, (excess_ns < 0 ? "-" : "") + format_duration(std::abs(excess_ns))));
  table.cell(escape_html(stats::share_of_excess_text(share)));
}

void put_joules(double joules, double share, PageTable& table) {
  table.cell(exact(joules, (joules < 0 ? "-" : "") + format_joules(std::abs(joules))));
  table.cell(escape_html(stats::share_of_excess_text(share)));
}

void put_finding(const Explanation& why, const Finding& finding, PageTable& table) {
  const bool is_less = finding.excess_ns < 0;
  table.row(lines_cell(is_less ? "less time " : "", finding.text, finding.functions), "name sentence");
  put_excess(finding.excess_ns, finding.share, table);
  table.cell(escape_html(stats::share_interval_text(finding.interval)));
  table.cell(is_less ? std::string() : fmt::format("{} of {}", finding.in_instances, why.slow));
}

void put_energy_finding(const EnergyExplanation& why, const EnergyFinding& finding, PageTable& table) {
  const bool is_less = finding.excess_joules < 0;
  table.row(escape_html((is_less ? "less " : "") + printable(finding.text)), "name sentence");
  put_joules(finding.excess_joules, finding.share, table);
  table.cell(escape_html(stats::share_interval_text(finding.interval)));
  table.cell(is_less ? std::string() : fmt::format("{} of {}", finding.in_instances, why.costly));
}

void put_texts(const std::string& sentence, const std::vector<std::string>& notes, std::string& out) {
  out += fmt::format("<p>{}</p>\n", escape_html(printable(sentence)));
  for (const std::string& note : notes) {
    out += fmt::format("<p class=\"soft\">{}</p>\n", escape_html(printable(note)));
  }
}

void append_explanation(const Explanation& why, std::string& out) {
  put_texts(describe(why), why.notes, out);
  if (why.findings.empty()) {
    return;
  }
  PageTable table(out, "Causes of the excess",
                  {{"cause", true}, {"excess"}, {"share"}, {"95 % interval"}, {"slow with it"}});
  for (const std::vector<Finding>* const findings : {&why.findings, &why.shorter}) {
    for (const Finding& finding : *findings) {
      put_finding(why, finding, table);
    }
  }
  table.row("unexplained", "name");
  put_excess(why.unexplained_ns, why.unexplained_ns / why.excess_ns(), table);
  table.cell("");
  table.cell("");
  table.end();
}

void append_energy_explanation(const EnergyExplanation& why, std::string& out) {
  put_texts(describe(why), why.notes, out);
  if (why.findings.empty()) {
    return;
  }
  PageTable table(out, "Who used the excess of joules",
                  {{"used", true}, {"excess"}, {"share"}, {"95 % interval"}, {"costly with it"}});
  for (const std::vector<EnergyFinding>* const findings : {&why.findings, &why.less}) {
    for (const EnergyFinding& finding : *findings) {
      put_energy_finding(why, finding, table);
    }
  }
  table.row("unexplained", "name");
  put_joules(why.unexplained_joules, why.unexplained_joules / why.excess_joules(), table);
  table.cell("");
  table.cell("");
  table.end();
}

}  // namespace

void append_explanations(const std::vector<Explanation>& explanations,
                         const std::optional<EnergyExplanation>& of_energy, std::string& out) {
  if (explanations.empty() && !of_energy) {
    return;
  }
  out += "<section id=\"explanations\"><h2>Why it was slow</h2>\n";
  for (const Explanation& why : explanations) {
    append_explanation(why, out);
  }
  if (of_energy) {
    append_energy_explanation(*of_energy, out);
  }
  out += "</section>\n";
}

void append_run(const std::optional<RunExplanation>& run, std::string& out) {
  if (!run) {
    return;
  }
  out += "<section id=\"run\"><h2>Where the time went</h2>\n";
  put_texts(describe(*run), run->notes, out);
  PageTable table(out, "Parts of the run's time", {{"what", true}, {"time"}, {"share"}});
  for (const RunPart& part : run->parts) {
    table.row(lines_cell("", part.text, part.functions), "name sentence");
    put_excess(part.duration_ns, part.share, table);
  }
  table.row("other", "name");
  put_excess(run->other_ns, run->other_ns / run->duration_ns(), table);
  table.end();
  out += "</section>\n";
}

}  // namespace kymo::command
