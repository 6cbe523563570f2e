// Comparisons as one self-contained HTML page. Every distribution is an inline SVG with a description in words.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "apps/kymo/compare/compare_output.hpp"
#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report_explanations.hpp"
#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

namespace {

using stats::ComparedFact;
using stats::ComparedThing;
using stats::Verdict;

constexpr std::size_t most_drawings = 300;

constexpr std::string_view comparison_style = R"(.worse { color: var(--worse); font-weight: 600; }
.better { color: var(--better); font-weight: 600; }
.differs, .unclear { font-weight: 600; }
.things { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem; }
section.thing { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem;
  min-width: 0; overflow-wrap: anywhere; }
.thing p { font-size: .875rem; margin: .2rem 0; }
.key { font-weight: 600; } .key.b { color: var(--base); } .key.n { color: var(--new); }
.b.area { fill: var(--base); fill-opacity: .22; } .b.edge { stroke: var(--base); stroke-dasharray: 5 3; }
.n.area { fill: var(--new); fill-opacity: .22; } .n.edge { stroke: var(--new); }
)";

std::string_view class_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::worse:
    case Verdict::worse_here:
      return "worse";
    case Verdict::better:
    case Verdict::better_here:
      return "better";
    case Verdict::differs:
    case Verdict::differs_here:
      return "differs";
    case Verdict::unclear:
      return "unclear";
    case Verdict::same:
    case Verdict::same_here:
    case Verdict::too_few_samples:
      break;
  }
  return "soft";
}

using Bins = DistributionDrawing::Bins;

/// The share of the values in each bin; values beyond the axis are in none.
Bins bins_of(const std::vector<double>& values, const ValueAxis& axis) {
  Bins bins{};
  for (const double value : values) {
    if (const std::size_t bin = axis.bin_of(value, bins.size()); bin < bins.size()) {
      bins[bin] += 1 / static_cast<double>(values.size());
    }
  }
  return bins;
}

void append_drawing(const ComparedThing& thing, std::size_t number, std::string& out) {
  const std::vector<double> base = thing.base_samples->pooled();
  const std::vector<double> changed = thing.changed_samples->pooled();
  const ValueAxis axis = stats::axis_of_both(base, changed);
  const Bins base_bins = bins_of(base, axis);
  const Bins new_bins = bins_of(changed, axis);
  const double highest = std::max(*std::max_element(base_bins.begin(), base_bins.end()),
                                  *std::max_element(new_bins.begin(), new_bins.end()));
  const std::string base_median = escape_html(format_in_unit(thing.base.median, thing.name.unit));
  const std::string new_median = escape_html(format_in_unit(thing.changed.median, thing.name.unit));
  out += "<figure>";
  DistributionDrawing drawing(out, axis, highest, fmt::format("d{}", number),
                              fmt::format("Distributions of {}: median {} in base and {} in new",
                                          escape_html(title_of(thing.name)), base_median, new_median));
  drawing.outline("b", base_bins);
  drawing.mark("b", thing.base.median);
  drawing.outline("n", new_bins);
  drawing.mark("n", thing.changed.median);
  drawing.end([&thing](double value) { return format_in_unit(value, thing.name.unit); });
  out += fmt::format(
      "<figcaption><span class=\"key b\">base (dashed)</span> median {}, <span class=\"key n\">new "
      "(solid)</span> median {}{}</figcaption></figure>\n",
      base_median, new_median, axis.is_logarithmic() ? "; logarithmic axis" : "");
}

void append_facts(const ComparisonReport& report, std::string& out) {
  out += "<h2>Configuration</h2>\n";
  PageTable table(out, "What was run, and on what", {{"fact", true}, {"base", true}, {"new", true}, {"", true}});
  const auto values_of = [](const std::vector<std::string>& values) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 5); ++i) {
      text += (i == 0 ? "" : "<br>") + escape_html(values[i]);
    }
    return values.size() > 5 ? text + fmt::format("<br>and {} more", values.size() - 5) : text;
  };
  for (const ComparedFact& fact : report.facts) {
    table.row(escape_html(fact.key));
    table.cell(values_of(fact.base), "fact");
    table.cell(values_of(fact.changed), "fact");
    table.cell(fact.differs() ? "<strong>differs</strong>" : "same");
  }
  table.end();
}

/// The things worth a drawing, in order: everything that was tested, but only the metrics that differ.
std::vector<const ComparedThing*> choose_drawn(const ComparisonReport& report) {
  std::vector<const ComparedThing*> drawn;
  for (const ComparedThing& thing : report.comparison.things) {
    const bool is_plain_metric = thing.name.kind == stats::ThingKind::metric &&
                                 (thing.verdict == Verdict::same || thing.verdict == Verdict::same_here);
    if (thing.p_value && !is_plain_metric && drawn.size() < most_drawings) {
      drawn.push_back(&thing);
    }
  }
  return drawn;
}

void append_row(const ComparedThing& thing, std::string_view anchor, PageTable& table) {
  const std::string& unit = thing.name.unit;
  const std::string name = escape_html(title_of(thing.name));
  table.row(anchor.empty() ? name : fmt::format("<a href=\"#{}\">{}</a>", anchor, name));
  table.cell(name_of(thing.verdict), class_of(thing.verdict));
  table.cell(fmt::format("{} {}", name_of(thing.name.kind), escape_html(place_of(thing))), "soft");
  const auto put = [&table](const std::string& text) { table.cell(escape_html(text)); };
  put(format_count(thing.base.count));
  put(format_count(thing.changed.count));
  put(format_in_unit(thing.base.median, unit));
  put(format_in_unit(thing.changed.median, unit));
  put(format_change(thing.median_difference(), thing.base.median));
  put(format_interval(thing.median_share));
  put(thing.p95 ? format_change(thing.p95_difference(), thing.base.p95) : std::string());
  put(format_interval(thing.p95_share));
  put(thing.adjusted_p_value ? fmt::format("{:.2g}", *thing.adjusted_p_value) : std::string());
}

using Chosen = bool (*)(const ComparedThing&);

void append_table(const ComparisonReport& report, const std::vector<const ComparedThing*>& drawn, Chosen is_chosen,
                  base::OutputFile& file) {
  PageTable table(file.buffer(),
                  "Changes are shares of the base, with 95 % intervals; the verdict goes by the adjusted p-value",
                  {{"name", true},
                   {"verdict", true},
                   {"where", true},
                   {"base n"},
                   {"new n"},
                   {"base p50"},
                   {"new p50"},
                   {"change"},
                   {"interval"},
                   {"p95 change"},
                   {"interval"},
                   {"adjusted p"}});
  std::size_t next = 0;  // among those drawn, which have the same order
  for (const ComparedThing& thing : report.comparison.things) {
    const bool is_drawn = next < drawn.size() && drawn[next] == &thing;
    if (is_chosen(thing)) {
      append_row(thing, is_drawn ? fmt::format("t{}", next) : std::string(), table);
      file.spill();
    }
    next += is_drawn ? 1 : 0;
  }
  table.end();
}

void append_tables(const ComparisonReport& report, const std::vector<const ComparedThing*>& drawn,
                   base::OutputFile& file) {
  const Chosen is_duration = [](const ComparedThing& thing) { return thing.name.kind != stats::ThingKind::metric; };
  const Chosen is_metric = [](const ComparedThing& thing) { return thing.name.kind == stats::ThingKind::metric; };
  const auto& things = report.comparison.things;
  const auto metrics = std::count_if(things.begin(), things.end(), is_metric);
  if (metrics != static_cast<std::ptrdiff_t>(things.size())) {
    file.buffer() += "<h2>Durations</h2>\n";
    append_table(report, drawn, is_duration, file);
  }
  if (metrics != 0) {
    file.buffer() += fmt::format("<h2>Metrics</h2>\n<details><summary>{}</summary>\n",
                                 format_plural(static_cast<std::uint64_t>(metrics), "metric"));
    append_table(report, drawn, is_metric, file);
    file.buffer() += "</details>\n";
  }
}

void append_only_in(const char* side, const std::vector<stats::ThingName>& names, std::string& out) {
  if (names.empty()) {
    return;
  }
  out += fmt::format("<p>Only in {}: ", side);
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 50); ++i) {
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", name_of(names[i].kind), escape_html(title_of(names[i])));
  }
  out += names.size() > 50 ? fmt::format(" and {} more.</p>\n", names.size() - 50) : std::string(".</p>\n");
}

void append_drawings(const std::vector<const ComparedThing*>& drawn, base::OutputFile& file) {
  std::string& out = file.buffer();
  if (drawn.empty()) {
    return;
  }
  out += "<h2>Distributions</h2>\n<div class=\"things\">\n";
  for (std::size_t number = 0; number < drawn.size(); ++number) {
    const ComparedThing& thing = *drawn[number];
    const auto change_of = [](const char* what, double difference, double base,
                              const std::optional<stats::Interval>& shares) {
      const std::string ends = format_interval(shares);
      return fmt::format("{} {}{}{}", what, format_change(difference, base), ends.empty() ? "" : ", 95 % interval ",
                         ends);
    };
    out += fmt::format(
        "<section class=\"thing\" id=\"t{}\"><h3>{} <span class=\"{}\">{}</span></h3><p class=\"soft\">{} "
        "{}</p><p>{}{}</p>\n",
        number, escape_html(title_of(thing.name)), class_of(thing.verdict), name_of(thing.verdict),
        name_of(thing.name.kind), escape_html(place_of(thing)),
        change_of("median", thing.median_difference(), thing.base.median, thing.median_share),
        thing.p95 ? "<br>" + change_of("p95", thing.p95_difference(), thing.base.p95, thing.p95_share) : std::string());
    append_drawing(thing, number, out);
    out += "</section>\n";
    file.spill();
  }
  out += "</div>\n";
  if (drawn.size() == most_drawings) {
    out += fmt::format("<p class=\"soft\">The first {} are drawn.</p>\n", most_drawings);
  }
}

std::string list_of(const std::vector<std::string>& paths) {
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(paths.size(), 8); ++i) {
    list += (i == 0 ? "" : ", ") + escape_html(paths[i]);
  }
  return paths.size() > 8 ? list + fmt::format(" and {} more", paths.size() - 8) : list;
}

std::string summary_of(const ComparisonReport& report) {
  std::array<std::size_t, static_cast<std::size_t>(Verdict::too_few_samples) + 1> counts{};
  for (const ComparedThing& thing : report.comparison.things) {
    ++counts[static_cast<std::size_t>(thing.verdict)];
  }
  std::string summary;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) {
      const auto verdict = static_cast<Verdict>(i);
      summary += fmt::format("{}<span class=\"{}\">{} {}</span>", summary.empty() ? "" : ", ", class_of(verdict),
                             format_count(counts[i]), name_of(verdict));
    }
  }
  return summary;
}

}  // namespace

void write_comparison_page(const ComparisonReport& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  begin_page(out, "kymo: two sides compared", std::string(comparison_style) + std::string(FlameGraph::style));
  out += fmt::format(
      "<header><h1>Two sides compared</h1>\n<p><span class=\"key b\">Base</span>: {}<br><span class=\"key n\">New</span>: "
      "{}</p>\n<p>{}</p>\n<p class=\"soft\">{}</p></header>\n<main>\n",
      list_of(report.base_paths), list_of(report.new_paths), summary_of(report), escape_html(describe_runs(report)));
  for (const std::string& text : {describe_unclear(report), describe_regressions(report)}) {
    out += text.empty() ? text : fmt::format("<p>{}</p>\n", escape_html(text));
  }
  append_warnings(out, "Before you conclude anything", report.warnings);
  const std::vector<const ComparedThing*> drawn = choose_drawn(report);
  if (!report.flame.empty()) {
    out +=
        "<section id=\"flame\"><h2>Stacks</h2>\n<p class=\"soft\">A bar is as wide as the mean of both shares; red has "
        "a greater share in new, green a smaller one.</p>\n";
    report.flame.append(out);
    out += "</section>\n";
  }
  append_explanations(report.reasons, std::nullopt, out);
  append_tables(report, drawn, file);
  append_only_in("base", report.comparison.only_in_base, out);
  append_only_in("new", report.comparison.only_in_new, out);
  for (const stats::OtherUnits& other : report.comparison.other_units) {
    out +=
        fmt::format("<p>Not compared, since the units differ: metric {} in {} and in {}.</p>\n",
                    escape_html(title_of(other.base)), escape_html(other.base.unit), escape_html(other.changed_unit));
  }
  append_drawings(drawn, file);
  append_facts(report, out);
  out += "</main>\n";
  end_page(out);
}

}  // namespace kymo::command
