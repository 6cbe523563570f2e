// Building blocks of pages.
#include "apps/kymo/report/page.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "apps/kymo/shared/units.hpp"
#include "base/text/escapes.hpp"

namespace kymo::command {

namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="kymo">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>)";

constexpr std::string_view common_style = R"(</title>
<style>
:root { --ground: #ffffff; --text: #1c2127; --soft: #59636e; --line: #d4d9df; --panel: #f5f7f9;
  --base: #2563b0; --new: #b4480f; --worse: #b3261e; --better: #1a6e33; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171a; --text: #e6e9ec; --soft: #a2abb5; --line: #3a4149; --panel: #1d2125;
    --base: #8ab8f5; --new: #ffae70; --worse: #ff8f86; --better: #7fd699; } }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--ground); color: var(--text);
  font: 1rem/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.2rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; white-space: normal; color: var(--soft); padding-bottom: .4rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; }
tbody th { color: inherit; font-weight: 400; }
.text { text-align: left; }
.fact { white-space: normal; overflow-wrap: anywhere; }
summary { cursor: pointer; }
.soft { color: var(--soft); }
a { color: inherit; }
.warnings { border-left: 4px solid var(--new); background: var(--panel); padding: .6rem 1rem; }
.warnings ul { margin: 0; padding-left: 1.1rem; overflow-wrap: anywhere; }
figure { margin: .4rem 0 0; } figcaption { font-size: .875rem; margin: .2rem 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.axis { stroke: var(--line); }
.edge { fill: none; stroke-width: 1.6; } .median { stroke-width: 1.6; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide { overflow: visible; } h2, h3, summary { break-after: avoid; } tr, figure, section { break-inside: avoid; } }
)";

constexpr double drawing_width = 420;
constexpr double drawing_height = 150;
constexpr double left = 8;
constexpr double right = 412;
constexpr double top = 8;
constexpr double floor_y = 122;

double x_of(double share) {
  return left + share * (right - left);
}

std::string outline_of(const DistributionDrawing::Bins& bins, double highest) {
  std::string path = fmt::format("M{:.1f} {:.1f}", left, floor_y);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double y = floor_y - bins[i] / highest * (floor_y - top);
    path += fmt::format("V{:.1f}H{:.1f}", y, x_of(static_cast<double>(i + 1) / static_cast<double>(bins.size())));
  }
  return path + fmt::format("V{:.1f}", floor_y);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string result;
  base::append_xml(result, printable(text));
  return result;
}

void begin_page(std::string& out, std::string_view title, std::string_view style) {
  out.append(head).append(escape_html(title)).append(common_style).append(style).append("</style>\n</head>\n<body>\n");
}

void end_page(std::string& out) {
  out += "</body>\n</html>\n";
}

void append_warnings(std::string& out, std::string_view heading, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return;
  }
  out += fmt::format("<div class=\"warnings\" role=\"note\"><strong>{}</strong><ul>\n", escape_html(heading));
  for (const std::string& text : texts) {
    out += "<li>" + escape_html(text) + "</li>\n";
  }
  out += "</ul></div>\n";
}

std::string exact(double value, std::string_view text) {
  return std::isfinite(value) ? fmt::format("<data value=\"{}\">{}</data>", value, escape_html(text))
                              : escape_html(text);
}

std::string exact(std::uint64_t value, std::string_view text) {
  return fmt::format("<data value=\"{}\">{}</data>", value, escape_html(text));
}

std::string exact(std::int64_t value, std::string_view text) {
  return fmt::format("<data value=\"{}\">{}</data>", value, escape_html(text));
}

std::string exact_count(std::uint64_t count) {
  return exact(count, format_count(count));
}

PageTable::PageTable(std::string& out, std::string_view caption, std::vector<PageColumn> columns, std::size_t rows)
    : out_(out), columns_(std::move(columns)), rows_(rows) {
  begin(caption);
}

void PageTable::begin(std::string_view caption) {
  // Scrollable areas can be reached by keyboard and have a label.
  const std::string said = escape_html(caption);
  out_ += fmt::format(
      "<div class=\"wide\" role=\"region\" aria-label=\"{}\" tabindex=\"0\"><table><caption>{}</caption><thead><tr>",
      said, said);
  for (const PageColumn& column : columns_) {
    out_ +=
        fmt::format("<th scope=\"col\"{}>{}</th>", column.is_text ? " class=\"text\"" : "", escape_html(column.title));
  }
  out_ += "</tr></thead><tbody>\n";
  next_ = 0;
}

void PageTable::put_class(bool is_text, std::string_view classes) {
  if (is_text || !classes.empty()) {
    out_ += fmt::format(" class=\"{}{}{}\"", is_text ? "text" : "", is_text && !classes.empty() ? " " : "", classes);
  }
  out_ += '>';
}

void PageTable::row(std::string_view markup, std::string_view classes) {
  // A few rows more than a page are not worth a fold.
  if (rows_done_++ == rows_of_page && rows_ > rows_of_page + rows_of_page / 4) {
    end();
    const std::string more = fmt::format("{} more", rows_ - rows_of_page);
    out_ += fmt::format("<details class=\"more\"><summary>{}</summary>\n", more);
    begin(more);
    is_folded_ = true;
  }
  out_ += next_ == 0 ? "<tr><th scope=\"row\"" : "</tr>\n<tr><th scope=\"row\"";
  put_class(columns_.front().is_text, classes);
  out_.append(markup).append("</th>");
  next_ = 1;
}

void PageTable::cell(std::string_view markup, std::string_view classes) {
  out_ += "<td";
  put_class(next_ < columns_.size() && columns_[next_].is_text, classes);
  out_.append(markup).append("</td>");
  ++next_;
}

void PageTable::end() {
  out_ += next_ == 0 ? "</tbody></table></div>\n" : "</tr>\n</tbody></table></div>\n";
  out_ += is_folded_ ? "</details>\n" : "";
  is_folded_ = false;
}

DistributionDrawing::DistributionDrawing(std::string& out, const ValueAxis& axis, double highest, std::string_view id,
                                         std::string_view description)
    : out_(out), axis_(axis), highest_(std::max(highest, 1e-12)) {
  out_ += fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-labelledby=\"{}\"><title id=\"{}\">{}</title>\n",
      drawing_width, drawing_height, id, id, description);
}

void DistributionDrawing::outline(std::string_view its_class, const Bins& bins) {
  const std::string path = outline_of(bins, highest_);
  out_ += fmt::format("<path class=\"{} area\" d=\"{}Z\"/><path class=\"{} edge\" d=\"{}\"/>\n", its_class, path,
                      its_class, path);
}

void DistributionDrawing::mark(std::string_view its_class, double value) {
  const double share = axis_.share_at(value);
  if (share >= 0 && share <= 1) {
    out_ += fmt::format("<line class=\"{} edge median\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>\n",
                        its_class, x_of(share), x_of(share), floor_y, floor_y + 7);
  }
}

void DistributionDrawing::end(const std::function<std::string(double)>& text_of) {
  out_ += fmt::format("<line class=\"axis\" x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>\n", left, right,
                      floor_y, floor_y);
  constexpr std::array<const char*, 4> anchors{"start", "middle", "middle", "end"};
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(anchors.size() - 1);
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>", x_of(share), drawing_height - 7,
                        anchors[i], escape_html(text_of(axis_.value_at(share))));
  }
  out_ += "</svg>\n";
}

}  // namespace kymo::command
