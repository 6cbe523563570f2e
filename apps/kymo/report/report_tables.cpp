// kymo report: frame streams with their distributions, the slowest frames with their content, sites and spans.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "base/system/unresolved.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::command {

namespace {

using stats::DurationStatistics;
using stats::SiteStatistics;

constexpr std::size_t sites_of_a_slow_frame = 8;

std::string duration(std::int64_t duration_ns) {
  return exact(duration_ns, format_duration(static_cast<double>(duration_ns)));
}

std::string duration(std::uint64_t duration_ns) {
  return exact(duration_ns, format_duration(static_cast<double>(duration_ns)));
}

std::string name_of(const FrameStreamDeclaration& stream) {
  return stream.name.empty() ? "(main)" : escape_html(stream.name);
}

/// The site's name with its place below in small type, if known.
std::string name_of(const SiteDeclaration& site) {
  std::string markup = escape_html(site_name(site, 300));
  const std::string place = escape_html(place_of(site));
  return place.empty() ? markup : markup + fmt::format("<small title=\"{}\">{}</small>", escape_html(site.file), place);
}

/// A word-sized distribution from minimum to maximum on a logarithmic axis.
std::string sketch_of(const DurationStatistics& durations) {
  if (!durations.histogram) {
    return {};
  }
  constexpr double width = 144;
  constexpr double height = 22;
  constexpr double widest = 6;  // for small numbers of bins
  const std::vector<std::uint64_t> bars = stats::logarithmic_bars(*durations.histogram, 48);
  if (bars.empty()) {
    return {};
  }
  const double most = static_cast<double>(*std::max_element(bars.begin(), bars.end()));
  const double step = width / static_cast<double>(bars.size());
  std::string path;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    if (bars[i] != 0) {
      const double bar = std::max(1.0, height * static_cast<double>(bars[i]) / most);
      path += fmt::format("M{:.1f} {:.0f}v{:.1f}h{:.1f}v{:.1f}z", static_cast<double>(i) * step, height, -bar,
                          std::clamp(step - 0.5, 0.5, widest), bar);
    }
  }
  return fmt::format(
      "<svg class=\"sketch\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\"><title>from {} to {}</title><path class=\"s\" "
      "d=\"{}\"/></svg>",
      width, height, format_duration(static_cast<double>(durations.min_ns)),
      format_duration(static_cast<double>(durations.max_ns)), path);
}

/// The common cells and columns of all tables of durations.
constexpr std::string_view sketch_title = "from min to max, logarithmic";

void append_columns(std::vector<PageColumn>& columns) {
  for (const char* title : {"mean", "min", "p50", "p95", "p99", "max"}) {
    columns.push_back({title});
  }
  columns.push_back({sketch_title, true});
}

void put_durations(const DurationStatistics& durations, PageTable& table) {
  if (durations.count == 0) {
    for (int missing = 0; missing < 6; ++missing) {
      table.cell("-");
    }
    table.cell("");
    return;
  }
  table.cell(exact(durations.mean_ns, format_duration(durations.mean_ns)));
  for (const std::int64_t value :
       {durations.min_ns, durations.p50_ns, durations.p95_ns, durations.p99_ns, durations.max_ns}) {
    table.cell(duration(value));
  }
  table.cell(sketch_of(durations));
}

void append_distribution(const DurationStatistics& durations, std::string_view name, std::size_t number,
                         std::string& out) {
  const ValueAxis axis(static_cast<double>(durations.min_ns), static_cast<double>(durations.max_ns));
  DistributionDrawing::Bins bins{};
  durations.histogram->for_each_bucket([&](const capture::Histogram::Bucket& bucket) {
    const double middle = (static_cast<double>(std::max(bucket.lowest_ns, durations.min_ns)) +
                           static_cast<double>(std::min(bucket.highest_ns, durations.max_ns))) /
                          2;
    if (const std::size_t bin = axis.bin_of(middle, bins.size()); bin < bins.size()) {
      bins[bin] += static_cast<double>(bucket.count);
    }
  });
  const auto text_of = [](auto value) { return format_duration(static_cast<double>(value)); };
  out += fmt::format("<figure class=\"distribution\"><h3>{}</h3>", name);
  DistributionDrawing drawing(
      out, axis, *std::max_element(bins.begin(), bins.end()), fmt::format("f{}", number),
      fmt::format("Distribution of the durations of {}: p50 {}, p95 {}, p99 {}", name, text_of(durations.p50_ns),
                  text_of(durations.p95_ns), text_of(durations.p99_ns)));
  drawing.outline("s", bins);
  for (const std::int64_t value : {durations.p50_ns, durations.p95_ns, durations.p99_ns}) {
    drawing.mark("s", static_cast<double>(value));
  }
  drawing.end(text_of);
  out += fmt::format("<figcaption class=\"soft\">{}; marks at p50, p95 and p99{}</figcaption></figure>\n",
                     format_plural(durations.count, "frame"), axis.is_logarithmic() ? "; logarithmic axis" : "");
}

/// One bar for the content of a frame. Includes all threads, so it may be longer than the frame.
std::string bar_of(double part, double whole) {
  const double width = whole > 0 ? std::clamp(100 * part / whole, 0.0, 100.0) : 0;
  return fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"s\" "
      "width=\"{:.2f}\" height=\"10\"/></svg>",
      width);
}

void append_slow_frame(const Report& report, const stats::SlowFrame& slow, bool is_open, std::string& out) {
  const auto duration_ns = static_cast<double>(slow.frame.duration_ns);
  const double median_ns = static_cast<double>(report.slow.median_ns);
  out += fmt::format("<details class=\"frame\"{}><summary>frame {}{}: <strong>{}</strong>{}, from {} on</summary>\n",
                     is_open ? " open" : "", exact(slow.number, std::to_string(slow.number)),
                     process_note(report.timeline, slow.process), duration(slow.frame.duration_ns),
                     median_ns > 0 ? fmt::format(", {:.1f} times the median", duration_ns / median_ns) : std::string(),
                     since_start(report.timeline, slow.frame.start_ns));
  if (slow.sites.empty() && slow.spans.empty()) {
    out += "<p>No scope was open.</p></details>\n";
    return;
  }
  PageTable table(out, "What filled it: self times are of all threads",
                  {{"scope", true}, {"count"}, {"self"}, {"of the frame"}, {"", true}, {"total"}});
  for (std::size_t i = 0; i < std::min(sites_of_a_slow_frame, slow.sites.size()); ++i) {
    const SiteStatistics& site = slow.sites[i];
    const auto self_ns = static_cast<double>(site.self_ns);
    table.row(name_of(report.timeline.site(site.site)), "name");
    table.cell(exact_count(site.durations.count));
    table.cell(duration(site.self_ns));
    table.cell(format_share(self_ns, duration_ns));
    table.cell(bar_of(self_ns, duration_ns));
    table.cell(duration(site.durations.total_ns));
  }
  for (std::size_t i = 0; i < std::min(sites_of_a_slow_frame, slow.spans.size()); ++i) {
    const stats::SpanStatistics& span = slow.spans[i];
    table.row(escape_html(printable(report.timeline.name(span.name), 300)) + "<small>span</small>", "name");
    table.cell(exact_count(span.durations.count));
    for (int empty = 0; empty < 3; ++empty) {
      table.cell("");
    }
    table.cell(duration(span.durations.total_ns));
  }
  table.end();
  const std::size_t more = slow.sites.size() - std::min(sites_of_a_slow_frame, slow.sites.size());
  out += more == 0 ? "</details>\n"
                   : fmt::format("<p class=\"soft\">and {}</p></details>\n", format_plural(more, "more site"));
}

}  // namespace

void append_report_frames(const Report& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  if (report.statistics.frame_streams.empty()) {
    return;
  }
  out += "<section id=\"frames\"><h2>Frames</h2>\n";
  std::vector<PageColumn> columns{{"frames", true}, {"count"}, {"total"}};
  append_columns(columns);
  PageTable table(out, "The stretch between two marks of a stream is a frame", columns);
  for (const stats::FrameStatistics& stream : report.statistics.frame_streams) {
    table.row(name_of(report.timeline.frame_stream(stream.stream)), "name");
    table.cell(exact_count(stream.durations.count));
    table.cell(duration(stream.durations.total_ns));
    put_durations(stream.durations, table);
  }
  table.end();
  out += "<div class=\"figures\">\n";
  constexpr std::size_t most_drawn = 8;
  for (std::size_t i = 0; i < std::min(most_drawn, report.statistics.frame_streams.size()); ++i) {
    const stats::FrameStatistics& stream = report.statistics.frame_streams[i];
    if (stream.durations.histogram && stream.durations.count > 1) {
      append_distribution(stream.durations, name_of(report.timeline.frame_stream(stream.stream)), i, out);
    }
  }
  out += "</div>\n";
  if (!report.slow.frames.empty()) {
    out += fmt::format("<h3 id=\"slowest\">The slowest of {} in main streams</h3>\n",
                       format_plural(report.slow.frames_in_all, "frame"));
  }
  for (std::size_t i = 0; i < report.slow.frames.size(); ++i) {
    append_slow_frame(report, report.slow.frames[i], i == 0, out);
    file.spill();
  }
  out += "</section>\n";
}

void append_report_locks(const Report& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  if (report.locks.empty()) {
    return;
  }
  out += "<section id=\"locks\"><h2>Locks</h2>\n";
  const std::size_t shown = std::min(report.options.top, report.locks.size());
  PageTable table(out, "By falling time that threads waited; the holder is the one that waits began with",
                  {{"lock", true},
                   {"waits"},
                   {"waited"},
                   {"worst wait"},
                   {"holds"},
                   {"held"},
                   {"longest hold"},
                   {"waited for most", true},
                   {"of that"}},
                  shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const stats::LockStatistics& lock = report.locks[i];
    SiteDeclaration place;
    place.name = lock.name;
    place.file = lock.file;
    place.line = lock.line;
    table.row(name_of(place), "name");
    table.cell(exact_count(lock.waits));
    table.cell(lock.waits != 0 ? duration(lock.waited_ns) : "-");
    table.cell(lock.waits != 0 ? duration(lock.max_wait_ns) : "-");
    table.cell(exact_count(lock.holds));
    table.cell(lock.holds != 0 ? duration(lock.held_ns) : "-");
    table.cell(lock.holds != 0 ? duration(lock.max_hold_ns) : "-");
    const bool has_holder = !lock.holders.empty();
    const std::string holder = has_holder ? lock.holders.front().holder : std::string();
    table.cell(has_holder && holder.empty() ? "(not known)" : escape_html(printable(holder, 300)), "fact");
    table.cell(has_holder ? duration(lock.holders.front().total_ns) : "");
    file.spill();
  }
  table.end();
  out += "</section>\n";
}

void append_report_tree(const Report& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  constexpr double least_share = 0.001;
  constexpr std::size_t most_rows = 400;
  const auto whole_ns = static_cast<double>(report.tree.total_ns);
  std::vector<const stats::CallTreeRow*> rows;
  for (const stats::CallTreeRow& row : report.tree.rows) {
    if (static_cast<double>(row.total_ns) >= least_share * whole_ns && rows.size() < most_rows) {
      rows.push_back(&row);
    }
  }
  if (rows.empty()) {
    return;
  }
  out += "<section id=\"tree\"><h2>Call tree</h2>\n";
  PageTable table(out,
                  rows.size() == report.tree.rows.size()
                      ? "What ran inside what, over all threads; shares are of the time of all outermost scopes"
                      : fmt::format("What ran inside what, over all threads: {} of {} paths, those of 0.1 % or more",
                                    format_count(rows.size()), format_count(report.tree.rows.size())),
                  {{"path", true}, {"count"}, {"total"}, {"share"}, {"", true}, {"self"}, {"share"}}, rows.size());
  for (const stats::CallTreeRow* const row : rows) {
    constexpr std::uint32_t most_indents = 16;
    std::string name;
    for (std::uint32_t depth = 0; depth < std::min(row->depth, most_indents); ++depth) {
      name += "&nbsp;&nbsp;";
    }
    name += !row->site ? "(other paths)" : escape_html(site_name(report.timeline.site(row->site), 300));
    table.row(name, "name");
    table.cell(exact_count(row->count));
    table.cell(duration(row->total_ns));
    table.cell(format_share(static_cast<double>(row->total_ns), whole_ns));
    table.cell(bar_of(static_cast<double>(row->total_ns), whole_ns));
    table.cell(duration(row->self_ns));
    table.cell(format_share(static_cast<double>(row->self_ns), whole_ns));
    file.spill();
  }
  table.end();
  out += "</section>\n";
}

void append_report_sites(const Report& report, base::OutputFile& file) {
  std::string& out = file.buffer();
  const stats::Statistics& statistics = report.statistics;
  const auto all = [](const auto& rows) { return static_cast<std::uint64_t>(rows.size()); };
  if (!statistics.sites.empty()) {
    out += "<section id=\"scopes\"><h2>Scopes</h2>\n";
    const std::size_t shown = std::min(report.options.top, statistics.sites.size());
    std::vector<PageColumn> columns{{"scope", true}, {"count"}, {"total"}, {"self"}};
    append_columns(columns);
    PageTable table(out,
                    shown == statistics.sites.size()
                        ? "By falling total; self time is that of no scope inside"
                        : fmt::format("The first {} of {} by total; self time is that of no scope inside",
                                      format_count(shown), format_plural(all(statistics.sites), "site")),
                    columns, shown);
    for (std::size_t i = 0; i < shown; ++i) {
      const SiteStatistics& site = statistics.sites[i];
      table.row(name_of(report.timeline.site(site.site)), "name");
      table.cell(exact_count(site.durations.count));
      table.cell(duration(site.durations.total_ns));
      table.cell((site.self_is_bound != 0 ? "&lt;= " : "") + duration(site.self_ns));
      put_durations(site.durations, table);
      file.spill();
    }
    table.end();
    out += "</section>\n";
  }
  append_report_tree(report, file);
  append_report_locks(report, file);
  if (!statistics.spans.empty()) {
    out += "<section id=\"spans\"><h2>Spans</h2>\n";
    const std::size_t shown = std::min(report.options.top, statistics.spans.size());
    std::vector<PageColumn> columns{{"span", true}, {"count"}, {"total"}};
    append_columns(columns);
    PageTable table(
        out,
        fmt::format("Queue work, async spans and what was handed in{}",
                    shown == statistics.spans.size() ? std::string()
                                                     : fmt::format(": the first {} of {} by total", format_count(shown),
                                                                   format_plural(all(statistics.spans), "name"))),
        columns, shown);
    for (std::size_t i = 0; i < shown; ++i) {
      const stats::SpanStatistics& span = statistics.spans[i];
      table.row(escape_html(printable(report.timeline.name(span.name), 300)), "name");
      table.cell(exact_count(span.durations.count));
      if (base::is_unresolved(report.timeline.name(span.name))) {
        // A value that was not measured is not 0.
        for (std::size_t column = 2; column < columns.size(); ++column) {
          table.cell("-");
        }
      } else {
        table.cell(duration(span.durations.total_ns));
        put_durations(span.durations, table);
      }
      file.spill();
    }
    table.end();
    out += "</section>\n";
  }
}

}  // namespace kymo::command
