// kymo report: a row per metric, drawn over the whole recording. Distinguishes fresh readings, repeated readings and
// failed ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include <kymo/batch_cursor.hpp>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/stats_facts.hpp"
#include "base/text/metric_name.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::command {

namespace {

constexpr std::size_t bin_count = 240;
constexpr double picture_width = 480;
constexpr double picture_height = 36;
constexpr double bin_width = picture_width / static_cast<double>(bin_count);
constexpr std::size_t most_drawn = 400;

/// The samples in a stretch of time.
struct Bin {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double last = 0;
  std::uint32_t fresh = 0;
  std::uint32_t stale = 0;
  std::uint32_t unreadable = 0;
};

struct Row {
  std::vector<Bin> bins;
  std::uint64_t samples = 0;  ///< of any kind
  std::uint64_t stale = 0;
  std::uint64_t unreadable = 0;
  std::size_t first = bin_count;
  std::size_t last = 0;

  void add(std::size_t at, double value, bool is_stale) {
    bins.resize(bin_count);
    ++samples;
    first = std::min(first, at);
    last = std::max(last, at);
    Bin& bin = bins[at];
    if (std::isnan(value)) {
      ++bin.unreadable;
      ++unreadable;
      return;
    }
    if (std::isinf(value)) {
      return;  // beyond any picture
    }
    bin.least = std::min(bin.least, value);
    bin.greatest = std::max(bin.greatest, value);
    bin.last = value;
    ++(is_stale ? bin.stale : bin.fresh);
    stale += is_stale ? 1U : 0U;
  }

  /// How many bins a sample covers: twice the average distance to the next sample.
  [[nodiscard]] std::size_t reach() const { return samples < 2 ? 1 : 1 + 2 * (last - first) / (samples - 1); }
};

/// The rows of the metrics in the statistics. Equal metrics of several processes share a row.
class Rows {
 public:
  explicit Rows(const Report& report) : rows_(std::min(report.statistics.metrics.size(), most_drawn)) {
    std::map<std::string, std::size_t> row_of;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      row_of[key_of(report.timeline.metric(report.statistics.metrics[i].metric))] = i;
    }
    for (const MetricDeclaration& metric : report.timeline.declarations().metrics) {
      if (const auto row = row_of.find(key_of(metric)); row != row_of.end()) {
        row_of_[metric.id] = row->second;
      }
    }
    read(report.timeline);
  }

  [[nodiscard]] const Row* find(std::size_t index) const { return index < rows_.size() ? &rows_[index] : nullptr; }

 private:
  static std::string key_of(const MetricDeclaration& metric) {
    return metric.name + '\0' + metric.unit + '\0' + base::labels_text(metric);
  }

  void read(const Timeline& timeline) {
    const TimeRange range = timeline.range();
    const double start = static_cast<double>(range.start_ns);
    const double length = std::max(1.0, static_cast<double>(range.end_ns) - start);
    Progress progress("reading metrics");
    BatchCursor cursor(timeline, {}, BatchParts::samples);
    for (EventBatch batch; cursor.next(batch);) {
      for (const SampleRun& run : batch.samples) {
        const auto row = row_of_.find(run.metric);
        for (std::size_t i = 0; row != row_of_.end() && i < run.times_ns.size() && i < run.values.size(); ++i) {
          const double share = (static_cast<double>(run.times_ns[i]) - start) / length;
          const double bin = std::clamp(share * bin_count, 0.0, static_cast<double>(bin_count - 1));
          const bool is_stale = i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0;
          rows_[row->second].add(static_cast<std::size_t>(bin), run.values[i], is_stale);
        }
      }
      progress.update(cursor.share_done());
    }
  }

  std::vector<Row> rows_;
  std::unordered_map<MetricId, std::size_t> row_of_;
};

/// Draws one path for each kind of mark.
class Picture {
 public:
  Picture(const Row& row, double low, double high)
      : low_(low), height_(high > low && std::isfinite(high - low) ? high - low : 0) {
    const std::size_t reach = row.reach();
    Bin bin;
    std::size_t age = 0;  // of the bin, in bins
    for (std::size_t i = 0; i < row.bins.size(); ++i, ++age) {
      if (row.bins[i].fresh + row.bins[i].stale + row.bins[i].unreadable != 0) {
        bin = row.bins[i];
        age = 0;
      } else {
        bin.least = bin.greatest = bin.last;
      }
      draw(bin, static_cast<double>(i) * bin_width, age < reach);
    }
  }

  [[nodiscard]] std::string svg(std::string_view description) const {
    std::string markup = fmt::format(
        "<svg class=\"metric\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\"><title>{}</title><rect class=\"back\" "
        "width=\"{:.0f}\" height=\"{:.0f}\"/>",
        picture_width, picture_height, description, picture_width, picture_height);
    const auto put = [&markup](const char* its_class, const std::string& path) {
      if (!path.empty()) {
        markup += fmt::format("<path class=\"{}\" d=\"{}\"/>", its_class, path);
      }
    };
    put("unreadable", unreadable_);
    put("held", held_);
    put("measured", measured_);
    put("stale", stale_);
    return markup + "</svg>";
  }

 private:
  void draw(const Bin& bin, double x, bool is_recent) {
    if (bin.fresh + bin.stale == 0) {
      if (bin.unreadable != 0 && is_recent) {
        add(unreadable_, x, 0, bin_width, picture_height);
      }
      return;
    }
    const double top = y_of(bin.greatest);
    if (!is_recent) {
      add(held_, x, top, bin_width, 0.5);
      return;
    }
    // Repeats are thin and dashed in any colour.
    const bool is_fresh = bin.fresh != 0;
    const double thick = is_fresh ? 1.6 : 0.9;
    add(is_fresh ? measured_ : stale_, x, std::min(top, picture_height - thick), is_fresh ? bin_width : bin_width * 0.6,
        std::max(y_of(bin.least) - top, thick));
  }

  [[nodiscard]] double y_of(double value) const {
    const double share = height_ > 0 ? std::clamp((value - low_) / height_, 0.0, 1.0) : 0.5;
    return 1 + (1 - share) * (picture_height - 3);
  }
  static void add(std::string& path, double x, double y, double width, double height) {
    path += fmt::format("M{:.0f} {:.1f}h{:.1f}v{:.1f}h{:.1f}z", x, y, width, height, -width);
  }

  double low_;
  double height_;
  std::string measured_;
  std::string held_;
  std::string stale_;
  std::string unreadable_;
};

/// The origin and reliability of the values.
std::string provenance_of(const MetricDeclaration& metric, std::size_t processes, const Row* row) {
  std::string text = metric.source.empty() ? "from the program" : "from " + printable(metric.source, 120);
  const auto add = [&text](const std::string& more) { text += "; " + more; };
  const auto duration = [](std::int64_t ns) { return format_duration(static_cast<double>(ns)); };
  const auto has = [&metric](std::uint32_t trait) { return (metric.traits & trait) != 0; };
  if (has(MetricDeclaration::estimated)) {
    add("estimated");
  }
  if (has(MetricDeclaration::total)) {
    add("contains others");
  }
  if (metric.kind != MetricKind::gauge) {
    add("counts up");
  }
  if (metric.renewal_ns != 0) {
    add(fmt::format("renewed every {}{}", duration(metric.renewal_ns),
                    has(MetricDeclaration::renewal_measured) ? " (seen)" : ""));
  }
  if (metric.window_ns != 0) {
    add("over " + duration(metric.window_ns));
  }
  if (metric.step != 0) {
    add("in steps of " + stats::value_text(metric.step, printable(metric.unit, 12), {4, false}));
  }
  if (processes > 1) {
    add(format_plural(processes, "process"));
  }
  if (row != nullptr && row->stale != 0) {
    add(format_plural(row->stale, "stale sample"));
  }
  if (row != nullptr && row->unreadable != 0) {
    add(format_plural(row->unreadable, "unreadable sample"));
  }
  return text;
}

/// A time axis for the pictures.
std::string time_axis(const Timeline& timeline) {
  const TimeRange range = timeline.range();
  const double length = static_cast<double>(range.end_ns) - static_cast<double>(range.start_ns);
  std::string markup =
      fmt::format("<svg class=\"metric\" viewBox=\"0 0 {:.0f} 18\" role=\"img\"><title>time since the start</title>",
                  picture_width);
  constexpr int ticks = 4;
  for (int i = 0; i <= ticks; ++i) {
    const double x = picture_width * i / ticks;
    markup += fmt::format("<text x=\"{:.0f}\" y=\"11\" text-anchor=\"{}\">{}</text>", x,
                          i == 0       ? "start"
                          : i == ticks ? "end"
                                       : "middle",
                          stats::duration_text(length * i / ticks, {3, false}));
    markup += fmt::format("<path class=\"axis\" d=\"M{:.1f} 14v4\"/>", std::clamp(x, 0.5, picture_width - 0.5));
  }
  return markup + "</svg>";
}

/// The metrics that the program recorded, or those of the machine. `length`: the table's, if it is folded after a page.
void append_table(const Report& report, const Rows& rows, bool is_own_ones, std::size_t length,
                  base::OutputFile& file) {
  std::string& out = file.buffer();
  const auto& metrics = report.statistics.metrics;
  PageTable table(out, is_own_ones ? "Recorded by the program" : "Of the machine",
                  {{"metric", true}, {"samples"}, {"min"}, {"mean"}, {"max"}, {"last"}, {"", true}}, length);
  table.row("time");
  for (int empty = 0; empty < 5; ++empty) {
    table.cell("");
  }
  table.cell(time_axis(report.timeline));
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const stats::MetricStatistics& metric = metrics[i];
    const MetricDeclaration& declared = report.timeline.metric(metric.metric);
    if (is_own(declared) != is_own_ones) {
      continue;
    }
    const std::string name = escape_html(printable(base::full_name(declared), 300));
    const Row* const row = rows.find(i);
    table.row(name + "<small>" + escape_html(provenance_of(declared, metric.processes, row)) + "</small>", "name");
    table.cell(exact_count(metric.count));
    const auto text_of = [unit = printable(declared.unit, 12)](double value) { return stats::value_text(value, unit); };
    for (const double value : {metric.min, metric.mean, metric.max, metric.last}) {
      table.cell(exact(value, text_of(value)));
    }
    table.cell(row == nullptr || row->bins.empty()
                   ? std::string()
                   : Picture(*row, metric.min, metric.max)
                         .svg(fmt::format("{} from {} to {}", name, escape_html(text_of(metric.min)),
                                          escape_html(text_of(metric.max)))));
    file.spill();
  }
  table.end();
}

}  // namespace

void append_report_metrics(const Report& report, base::OutputFile& file) {
  const auto& metrics = report.statistics.metrics;
  if (metrics.empty()) {
    return;
  }
  const Rows rows(report);
  std::string& out = file.buffer();
  out += "<section id=\"metrics\"><h2>Metrics</h2>\n";
  out +=
      "<p class=\"soft\">Drawn from the least to the greatest value. Thin line: no sample for longer than usual, the last "
      "value stands. Broken line: the source gave the same reading again (stale). Grey: it could not be read.</p>\n";
  const auto own =
      static_cast<std::size_t>(std::count_if(metrics.begin(), metrics.end(), [&report](const auto& metric) {
        return is_own(report.timeline.metric(metric.metric));
      }));
  if (own != 0) {
    append_table(report, rows, true, own + 1, file);
  }
  if (own != metrics.size()) {
    out += fmt::format("<details class=\"more\"{}><summary>{} of the machine</summary>\n", own == 0 ? " open" : "",
                       format_plural(metrics.size() - own, "metric"));
    // Closed, these are a line already.
    append_table(report, rows, false, own == 0 ? metrics.size() + 1 : 0, file);
    out += "</details>\n";
  }
  out += metrics.size() > most_drawn
             ? fmt::format("<p class=\"soft\">The first {} are drawn.</p></section>\n", most_drawn)
             : std::string("</section>\n");
}

}  // namespace kymo::command
