#include "apps/kymo/report/report_explanations.hpp"

#include <cmath>

#include <fmt/format.h>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/shared/units.hpp"
#include "stats/explain/explanation_text.hpp"

namespace kymo::command {

namespace {

void put_excess(double excess_ns, double share, PageTable& table) {
  table.cell(exact(excess_ns, (excess_ns < 0 ? "-" : "") + format_duration(std::abs(excess_ns))));
  table.cell(escape_html(stats::share_of_excess_text(share)));
}

void put_finding(const Explanation& why, const Finding& finding, PageTable& table) {
  const bool is_less = finding.excess_ns < 0;
  table.row(escape_html((is_less ? "less time " : "") + printable(finding.text)), "name");
  put_excess(finding.excess_ns, finding.share, table);
  table.cell(escape_html(stats::share_interval_text(finding.interval)));
  table.cell(is_less ? std::string() : fmt::format("{} of {}", finding.in_instances, why.slow));
}

}  // namespace

void append_explanations(const std::vector<Explanation>& explanations, std::string& out) {
  if (explanations.empty()) {
    return;
  }
  out += "<section id=\"explanations\"><h2>Why it was slow</h2>\n";
  for (const Explanation& why : explanations) {
    out += fmt::format("<p>{}</p>\n", escape_html(printable(describe(why))));
    for (const std::string& note : why.notes) {
      out += fmt::format("<p class=\"soft\">{}</p>\n", escape_html(printable(note)));
    }
    if (why.findings.empty()) {
      continue;
    }
    PageTable table(out, "Causes of the excess",
                    {{"cause", true}, {"excess"}, {"share"}, {"95 % interval"}, {"slow ones with it"}});
    for (const Finding& finding : why.findings) {
      put_finding(why, finding, table);
    }
    for (const Finding& finding : why.shorter) {
      put_finding(why, finding, table);
    }
    table.row("unexplained", "name");
    put_excess(why.unexplained_ns, why.unexplained_ns / why.excess_ns(), table);
    table.cell("");
    table.cell("");
    table.end();
  }
  out += "</section>\n";
}

}  // namespace kymo::command
