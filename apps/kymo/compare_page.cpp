// Comparisons as one HTML page that needs nothing but itself: no scripts, nothing from elsewhere (its policy forbids
// both), light and dark, every distribution as an inline SVG with a description in words.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "compare_output.hpp"
#include "units.hpp"

namespace kymo::command {

namespace {

using stats::ComparedFact;
using stats::ComparedThing;
using stats::Verdict;

constexpr std::size_t most_drawings = 300;

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>kymo: two sides compared</title>
<style>
:root { --ground: #ffffff; --text: #1c2127; --soft: #59636e; --line: #d4d9df; --panel: #f5f7f9;
  --base: #2563b0; --new: #b4480f; --worse: #b3261e; --better: #1a6e33; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171a; --text: #e6e9ec; --soft: #a2abb5; --line: #3a4149; --panel: #1d2125;
    --base: #8ab8f5; --new: #ffae70; --worse: #ff8f86; --better: #7fd699; } }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--ground); color: var(--text);
  font: 1rem/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; white-space: normal; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
tbody th { color: inherit; font-weight: 400; }
.text { text-align: left; }
.fact { white-space: normal; overflow-wrap: anywhere; }
.worse { color: var(--worse); font-weight: 600; } .better { color: var(--better); font-weight: 600; }
.differs { font-weight: 600; }
summary { cursor: pointer; }
.soft { color: var(--soft); }
a { color: inherit; }
.warnings { border-left: 4px solid var(--new); background: var(--panel); padding: .6rem 1rem; }
.warnings ul { margin: 0; padding-left: 1.1rem; }
.things { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem; }
section.thing { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .8rem 1rem;
  min-width: 0; overflow-wrap: anywhere; }
figure { margin: .4rem 0 0; } figcaption, .thing p { font-size: .875rem; margin: .2rem 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.key { font-weight: 600; } .key.b { color: var(--base); } .key.n { color: var(--new); }
.axis { stroke: var(--line); }
.b.area { fill: var(--base); fill-opacity: .22; } .b.edge { stroke: var(--base); stroke-dasharray: 5 3; }
.n.area { fill: var(--new); fill-opacity: .22; } .n.edge { stroke: var(--new); }
.edge { fill: none; stroke-width: 1.6; } .median { stroke-width: 1.6; }
</style>
</head>
<body>
)";

/// A text from a capture or a command line, for HTML.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : printable(text)) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string_view class_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::worse:
    case Verdict::better:
    case Verdict::differs:
      return name_of(verdict);
    case Verdict::same:
    case Verdict::too_few_samples:
      break;
  }
  return "soft";
}

/// The stretch of values that a drawing shows, and where in it a value stands.
class Axis {
 public:
  Axis(const std::vector<double>& base, const std::vector<double>& changed) {
    const auto at = [](const std::vector<double>& ascending, double share) {
      return ascending[static_cast<std::size_t>(share * static_cast<double>(ascending.size() - 1))];
    };
    low_ = std::min(at(base, 0.002), at(changed, 0.002));
    high_ = std::max(at(base, 0.99), at(changed, 0.99));
    is_logarithmic_ = low_ > 0 && high_ / low_ > 30;
    if (!(high_ > low_)) {
      const double margin = low_ == 0 ? 1 : std::fabs(low_) * 0.05;
      low_ -= margin;
      high_ += margin;
    }
  }

  [[nodiscard]] bool is_logarithmic() const { return is_logarithmic_; }
  [[nodiscard]] double share_at(double value) const {
    return is_logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  }
  [[nodiscard]] double value_at(double share) const {
    return is_logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + share * (high_ - low_);
  }

 private:
  double low_ = 0;
  double high_ = 0;
  bool is_logarithmic_ = false;
};

constexpr std::size_t bin_count = 56;
using Bins = std::array<double, bin_count>;

/// The share of the values in each bin; what lies beyond the axis is in none.
Bins bins_of(const std::vector<double>& values, const Axis& axis) {
  Bins bins{};
  for (const double value : values) {
    const double share = axis.share_at(value);
    if (share >= 0 && share <= 1) {
      const auto bin = static_cast<std::size_t>(share * static_cast<double>(bin_count));
      bins[std::min(bin, bin_count - 1)] += 1 / static_cast<double>(values.size());
    }
  }
  return bins;
}

constexpr double drawing_width = 420;
constexpr double drawing_height = 150;
constexpr double left = 8;
constexpr double right = 412;
constexpr double top = 8;
constexpr double floor_y = 122;

double x_of(double share) {
  return left + share * (right - left);
}

std::string outline_of(const Bins& bins, double highest) {
  std::string path = fmt::format("M{:.1f} {:.1f}", left, floor_y);
  for (std::size_t i = 0; i < bin_count; ++i) {
    const double y = floor_y - bins[i] / highest * (floor_y - top);
    path += fmt::format("V{:.1f}H{:.1f}", y, x_of(static_cast<double>(i + 1) / static_cast<double>(bin_count)));
  }
  return path + fmt::format("V{:.1f}", floor_y);
}

void append_drawing(const ComparedThing& thing, std::size_t number, std::string& out) {
  const std::vector<double> base = thing.base_samples->pooled();
  const std::vector<double> changed = thing.changed_samples->pooled();
  const Axis axis(base, changed);
  const Bins base_bins = bins_of(base, axis);
  const Bins new_bins = bins_of(changed, axis);
  const double highest = std::max({*std::max_element(base_bins.begin(), base_bins.end()),
                                   *std::max_element(new_bins.begin(), new_bins.end()), 1e-12});
  const std::string base_median = escaped(format_in_unit(thing.base.median, thing.name.unit));
  const std::string new_median = escaped(format_in_unit(thing.changed.median, thing.name.unit));
  out += fmt::format(
      "<figure><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-labelledby=\"d{}\"><title id=\"d{}\">Distributions "
      "of {}: median {} in base and {} in new</title>\n",
      drawing_width, drawing_height, number, number, escaped(title_of(thing.name)), base_median, new_median);
  const auto put_side = [&](char side, const Bins& bins, double median) {
    const std::string path = outline_of(bins, highest);
    out +=
        fmt::format("<path class=\"{} area\" d=\"{}Z\"/><path class=\"{} edge\" d=\"{}\"/>\n", side, path, side, path);
    const double share = axis.share_at(median);
    if (share >= 0 && share <= 1) {
      out += fmt::format("<line class=\"{} edge median\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>\n",
                         side, x_of(share), x_of(share), floor_y, floor_y + 7);
    }
  };
  put_side('b', base_bins, thing.base.median);
  put_side('n', new_bins, thing.changed.median);
  out += fmt::format("<line class=\"axis\" x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>\n", left, right,
                     floor_y, floor_y);
  constexpr std::array<const char*, 4> anchors{"start", "middle", "middle", "end"};
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(anchors.size() - 1);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>", x_of(share), drawing_height - 7,
                       anchors[i], escaped(format_in_unit(axis.value_at(share), thing.name.unit)));
  }
  out += fmt::format(
      "</svg>\n<figcaption><span class=\"key b\">base (dashed)</span> median {}, <span class=\"key n\">new "
      "(solid)</span> median {}{}</figcaption></figure>\n",
      base_median, new_median, axis.is_logarithmic() ? "; logarithmic axis" : "");
}

void append_facts(const ComparisonReport& report, std::string& out) {
  out +=
      "<h2>Configuration</h2>\n<div class=\"wide\"><table><caption>What was run, and on what</caption><thead><tr><th "
      "scope=\"col\" class=\"text\">fact</th><th scope=\"col\" class=\"text\">base</th><th scope=\"col\" "
      "class=\"text\">new</th><th scope=\"col\" class=\"text\"></th></tr></thead><tbody>\n";
  const auto values_of = [](const std::vector<std::string>& values) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 5); ++i) {
      text += (i == 0 ? "" : "<br>") + escaped(values[i]);
    }
    return values.size() > 5 ? text + fmt::format("<br>and {} more", values.size() - 5) : text;
  };
  for (const ComparedFact& fact : report.facts) {
    out += fmt::format(
        "<tr><th scope=\"row\" class=\"text\">{}</th><td class=\"text fact\">{}</td><td class=\"text fact\">{}</td><td "
        "class=\"text\">{}</td></tr>\n",
        escaped(fact.key), values_of(fact.base), values_of(fact.changed),
        fact.differs() ? "<strong>differs</strong>" : "same");
  }
  out += "</tbody></table></div>\n";
}

/// What is worth a drawing, in order: all that was tested, of metrics what differs.
std::vector<const ComparedThing*> choose_drawn(const ComparisonReport& report) {
  std::vector<const ComparedThing*> drawn;
  for (const ComparedThing& thing : report.comparison.things) {
    const bool is_plain_metric = thing.name.kind == stats::ThingKind::metric && thing.verdict == Verdict::same;
    if (thing.p_value && !is_plain_metric && drawn.size() < most_drawings) {
      drawn.push_back(&thing);
    }
  }
  return drawn;
}

void append_row(const ComparedThing& thing, std::string_view anchor, std::string& out) {
  const std::string& unit = thing.name.unit;
  const std::string name = escaped(title_of(thing.name));
  out += fmt::format(
      "<tr><th scope=\"row\" class=\"text\">{}</th><td class=\"text {}\">{}</td><td class=\"text soft\">{} {}</td>",
      anchor.empty() ? name : fmt::format("<a href=\"#{}\">{}</a>", anchor, name), class_of(thing.verdict),
      name_of(thing.verdict), name_of(thing.name.kind), escaped(place_of(thing)));
  const auto put = [&out](const std::string& text) { out += "<td>" + escaped(text) + "</td>"; };
  put(format_count(thing.base.count));
  put(format_count(thing.changed.count));
  put(format_in_unit(thing.base.median, unit));
  put(format_in_unit(thing.changed.median, unit));
  put(format_change(thing.median_difference(), thing.base.median));
  put(format_interval(thing.median_share));
  put(thing.p95 ? format_change(thing.p95_difference(), thing.base.p95) : std::string());
  put(format_interval(thing.p95_share));
  put(thing.q_value ? fmt::format("{:.2g}", *thing.q_value) : std::string());
  out += "</tr>\n";
}

using Chosen = bool (*)(const ComparedThing&);

void append_table(const ComparisonReport& report, const std::vector<const ComparedThing*>& drawn, Chosen is_chosen,
                  exchange::OutputFile& file) {
  std::string& out = file.buffer();
  out +=
      "<div class=\"wide\" role=\"region\" aria-label=\"Table of changes\" tabindex=\"0\"><table><caption>Changes are shares of the base, with 95 % intervals; q is the corrected "
      "p-value that the verdict goes by</caption><thead><tr>";
  for (const char* const title : {"name", "verdict", "where"}) {
    out += fmt::format("<th scope=\"col\" class=\"text\">{}</th>", title);
  }
  for (const char* const title :
       {"base n", "new n", "base p50", "new p50", "change", "interval", "p95 change", "interval", "q"}) {
    out += fmt::format("<th scope=\"col\">{}</th>", title);
  }
  out += "</tr></thead><tbody>\n";
  std::size_t next = 0;  // among those drawn, which stand in the same order
  for (const ComparedThing& thing : report.comparison.things) {
    const bool is_drawn = next < drawn.size() && drawn[next] == &thing;
    if (is_chosen(thing)) {
      append_row(thing, is_drawn ? fmt::format("t{}", next) : std::string(), out);
      file.spill();
    }
    next += is_drawn ? 1 : 0;
  }
  out += "</tbody></table></div>\n";
}

void append_tables(const ComparisonReport& report, const std::vector<const ComparedThing*>& drawn,
                   exchange::OutputFile& file) {
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
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", name_of(names[i].kind), escaped(title_of(names[i])));
  }
  out += names.size() > 50 ? fmt::format(" and {} more.</p>\n", names.size() - 50) : std::string(".</p>\n");
}

void append_drawings(const std::vector<const ComparedThing*>& drawn, exchange::OutputFile& file) {
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
        number, escaped(title_of(thing.name)), class_of(thing.verdict), name_of(thing.verdict),
        name_of(thing.name.kind), escaped(place_of(thing)),
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
    list += (i == 0 ? "" : ", ") + escaped(paths[i]);
  }
  return paths.size() > 8 ? list + fmt::format(" and {} more", paths.size() - 8) : list;
}

std::string summary_of(const ComparisonReport& report) {
  std::array<std::size_t, 5> counts{};
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

void write_comparison_page(const ComparisonReport& report, exchange::OutputFile& file) {
  std::string& out = file.buffer();
  out += head;
  out += fmt::format(
      "<header><h1>Two sides compared</h1>\n<p><span class=\"key b\">Base</span>: {}<br><span class=\"key n\">New</span>: "
      "{}</p>\n<p>{}</p>\n<p class=\"soft\">{}</p></header>\n<main>\n",
      list_of(report.base_paths), list_of(report.new_paths), summary_of(report), escaped(describe_runs(report)));
  if (!report.warnings.empty()) {
    out += "<div class=\"warnings\" role=\"note\"><strong>Before you conclude anything</strong><ul>\n";
    for (const std::string& warning : report.warnings) {
      out += "<li>" + escaped(warning) + "</li>\n";
    }
    out += "</ul></div>\n";
  }
  const std::vector<const ComparedThing*> drawn = choose_drawn(report);
  append_tables(report, drawn, file);
  append_only_in("base", report.comparison.only_in_base, out);
  append_only_in("new", report.comparison.only_in_new, out);
  for (const stats::OtherUnits& other : report.comparison.other_units) {
    out += fmt::format("<p>Not compared, since the units differ: metric {} in {} and in {}.</p>\n",
                       escaped(title_of(other.base)), escaped(other.base.unit), escaped(other.changed_unit));
  }
  append_drawings(drawn, file);
  append_facts(report, out);
  out += "</main>\n</body>\n</html>\n";
}

}  // namespace kymo::command
