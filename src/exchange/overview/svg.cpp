// Draws the overview as SVG.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/text/escapes.hpp"
#include "base/text/name_palette.hpp"
#include "exchange/common/export_names.hpp"
#include "exchange/overview/data.hpp"
#include "stats/common/value_text.hpp"

namespace kymo {
namespace {

using exchange::cut_with_mark;

constexpr double label_width = 190;
constexpr double value_width = 110;
constexpr double lane_height = 8;
constexpr double row_height = 30;
constexpr double gap = 8;
constexpr double legend_width = 170;  // of a name with its colour
constexpr double legend_height = 16;
constexpr std::size_t legend_rows = 3;
constexpr double top = 14;

// The colours of frames and metrics are those of the panel (panel/draw/colours.cpp).
constexpr const char* style =
    "<style>.kymo-o .f{fill:#3c82be}.kymo-o .m{fill:#1e6ea0}.kymo-o{font:11px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    ".kymo-o .g{fill:#fcfcfd}.kymo-o text{fill:#24292f}.kymo-o .q{fill:#57606a}.kymo-o .l{stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){.kymo-o .g{fill:#16191f}.kymo-o text{fill:#e6e8eb}.kymo-o .q{fill:#9aa4af}"
    ".kymo-o .l{stroke:#343b44}.kymo-o .f{fill:#56a0d6}.kymo-o .m{fill:#64bee6}}</style>";

/// To a tenth of a pixel, or that many digits.
std::string number(double value, int decimals = 1) {
  std::array<char, 64> text{};
  if (!std::isfinite(value) || std::fabs(value) > 1e15) {
    return "0";
  }
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
  std::string written(text.data(), result.ptr);
  if (written.find('.') != std::string::npos) {
    written.erase(written.find_last_not_of('0') + 1);
    if (written.back() == '.') {
      written.pop_back();
    }
  }
  return written == "-0" ? "0" : written;
}

constexpr stats::NumberForm short_form{3, false};

/// Escapes arbitrary bytes for XML.
std::string escape(std::string_view raw) {
  std::string text;
  base::append_xml(text, exchange::valid_text(raw));
  return text;
}

class OverviewPicture {
 public:
  OverviewPicture(const exchange::OverviewData& data, const std::vector<SiteDeclaration>& sites, double width)
      : data_(data), width_(width), plot_(width - label_width - value_width) {
    std::vector<std::string_view> names;
    names.reserve(sites.size());
    for (const SiteDeclaration& site : sites) {
      names.push_back(site.name);
    }
    palette_.add_all(std::move(names));
  }

  std::string draw() {
    // Repeated at the top because a picture may be higher than a screen.
    draw_axis(true);
    for (const exchange::OverviewRow& row : data_.frames) {
      draw_row(row, true);
    }
    for (const exchange::OverviewTrack& track : data_.tracks) {
      draw_track(track);
    }
    note(data_.tracks_left_out, "track");
    draw_legend();
    for (const exchange::OverviewRow& row : data_.metrics) {
      draw_row(row, false);
    }
    note(data_.metrics_left_out, "metric");
    note(data_.constant_metrics, "metric", " of the machine that did not change");
    if (data_.frames.empty() && data_.tracks.empty() && data_.metrics.empty()) {
      text(label_width, y_ + 12, "Nothing was recorded in this stretch of time.", "q");
      y_ += row_height;
    }
    draw_axis(false);
    const std::string width = number(width_);
    const std::string height = number(y_);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kymo-o\" width=\"" + width + "\" height=\"" + height +
           "\" viewBox=\"0 0 " + width + ' ' + height + "\" role=\"img\" aria-label=\"Overview of a recording\">" +
           style + "<rect class=\"g\" width=\"" + width + "\" height=\"" + height + "\" rx=\"6\"/>" + body_ +
           "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(double time_ns) const {
    const double start = static_cast<double>(data_.range.start_ns);
    const double length = std::max(1.0, static_cast<double>(data_.range.end_ns) - start);
    return label_width + std::clamp((time_ns - start) / length, 0.0, 1.0) * plot_;
  }

  void text(double x, double y, std::string_view content, const char* kind = "", const char* anchor = "") {
    body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + '"';
    if (*kind != '\0') {
      body_ += std::string(" class=\"") + kind + '"';
    }
    if (*anchor != '\0') {
      body_ += std::string(" text-anchor=\"") + anchor + '"';
    }
    body_ += '>' + escape(content) + "</text>";
  }

  void label(std::string_view name, double height) {
    body_ += "<g><title>" + escape(cut_with_mark(name, 200)) + "</title>";
    text(label_width - 10, y_ + height / 2 + 4, cut_with_mark(name, 26), "", "end");
    body_ += "</g>";
  }

  void line(double y) {
    body_ += "<path class=\"l\" d=\"M" + number(label_width) + ' ' + number(y) + 'h' + number(plot_) + "\"/>";
  }

  [[nodiscard]] std::string colour_of(std::string_view name) {
    const base::Rgb colour = base::palette_colour(palette_.place_of(name));
    const std::array<unsigned char, 3> parts{colour.red, colour.green, colour.blue};
    return '#' + base::to_hex(parts.data(), parts.size());
  }

  /// Bars from zero for frames; a band from the least to the greatest value for metrics, faint with the mean in it
  /// where it is of several.
  void draw_row(const exchange::OverviewRow& row, bool is_bars) {
    const double low = is_bars ? 0 : row.all.least;
    const double high = row.all.greatest;
    const double scale = high > low ? (row_height - 2) / (high - low) : 0;
    const double step = plot_ / static_cast<double>(row.bins.size());
    const double bar = is_bars ? std::max(step - 0.3, 1.0) : step;
    const bool is_joined = row.metrics > 1;
    std::string path;
    std::string means;
    exchange::OverviewBin bin;
    for (std::size_t i = 0; i < row.bins.size(); ++i) {
      if (row.bins[i].count != 0) {
        bin = row.bins[i];
      } else if (is_bars || bin.count == 0 || bin.ends_unknown || row.bins[i].ends_unknown) {
        bin = {};
        continue;
      } else if (!is_joined) {
        // Between two samples a metric keeps the earlier value; several keep their range.
        bin.least = bin.greatest = bin.sum / static_cast<double>(bin.count);
      }
      const double greatest = std::max(1.0, (bin.greatest - low) * scale);
      const double least = is_bars ? 0 : std::min((bin.least - low) * scale, greatest - 1);
      path += 'M' + number(label_width + static_cast<double>(i) * step) + ' ' + number(y_ + row_height - greatest) +
              'h' + number(bar) + 'v' + number(greatest - least) + 'h' + number(-bar) + 'z';
      if (is_joined) {
        const double mean = std::max(1.0, (bin.sum / static_cast<double>(bin.count) - low) * scale);
        means += 'M' + number(label_width + static_cast<double>(i) * step) + ' ' + number(y_ + row_height - mean) +
                 'h' + number(bar) + "v1.5h" + number(-bar) + 'z';
      }
    }
    label(row.name, row_height);
    line(y_ + row_height);
    const std::string kind = is_bars ? "f" : "m";
    body_ += "<path class=\"" + kind + (is_joined ? "\" opacity=\".3\" d=\"" : "\" d=\"") + path + "\"/>";
    if (is_joined) {
      body_ += "<path class=\"" + kind + "\" d=\"" + means + "\"/>";
    }
    const double x = label_width + plot_ + 8;
    text(x, y_ + 10, stats::value_text(high, row.unit, short_form), "q");
    text(x, y_ + row_height, stats::value_text(low, row.unit, short_form), "q");
    y_ += row_height + gap;
  }

  void draw_track(const exchange::OverviewTrack& track) {
    const double height = lane_height * static_cast<double>(track.lanes.size());
    label(track.name, height);
    for (std::size_t depth = 0; depth < track.lanes.size(); ++depth) {
      std::map<std::string_view, std::string> paths;
      const double bottom = y_ + lane_height * static_cast<double>(depth + 1);
      for (const exchange::OverviewBlock& block : track.lanes[depth]) {
        const double x = x_of(static_cast<double>(block.start_ns));
        const double width = std::max(0.7, x_of(static_cast<double>(block.end_ns)) - x);
        const double covered = std::max(1.0, block.share * (lane_height - 1));
        shown_ns_[block.name] +=
            block.share * (static_cast<double>(block.end_ns) - static_cast<double>(block.start_ns));
        paths[block.name] += 'M' + number(x) + ' ' + number(bottom - covered) + 'h' + number(width) + 'v' +
                             number(covered) + 'h' + number(-width) + 'z';
      }
      for (const auto& [name, path] : paths) {
        body_ += "<g><title>" + escape(cut_with_mark(name, 200)) + "</title>";
        body_ += "<path d=\"" + path + "\" fill=\"" + colour_of(name) + "\"/></g>";
      }
    }
    line(y_ + height);
    y_ += height + gap;
  }

  /// The names of the tracks' colours, from the one that takes the most time.
  void draw_legend() {
    std::vector<std::pair<double, std::string_view>> order;
    for (const auto& [name, covered_ns] : shown_ns_) {
      order.emplace_back(-covered_ns, name);
    }
    std::sort(order.begin(), order.end());
    const auto columns = static_cast<std::size_t>(std::max(1.0, std::floor(plot_ / legend_width)));
    const std::size_t count = std::min(order.size(), columns * legend_rows);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view name = order[i].second;
      const double x = label_width + legend_width * static_cast<double>(i % columns);
      const std::size_t row = i / columns;
      const double y = y_ + legend_height * static_cast<double>(row);
      body_ += "<g><title>" + escape(cut_with_mark(name, 200)) + "</title><rect x=\"" + number(x) + "\" y=\"" +
               number(y) + "\" width=\"9\" height=\"9\" fill=\"" + colour_of(name) + "\"/>";
      text(x + 14, y + 8, cut_with_mark(name, 24));
      body_ += "</g>";
    }
    if (count != 0) {
      const std::size_t rows = (count + columns - 1) / columns;
      y_ += legend_height * static_cast<double>(rows) + gap;
    }
    note(order.size() - count, "name");
  }

  void note(std::size_t left_out, const char* thing, const char* more = "") {
    if (left_out != 0) {
      text(label_width, y_ + 8,
           "and " + std::to_string(left_out) + " more " + thing + (left_out == 1 ? "" : "s") + more, "q");
      y_ += 14 + gap;
    }
  }

  void draw_axis(bool is_above) {
    const double length =
        std::max(1.0, static_cast<double>(data_.range.end_ns) - static_cast<double>(data_.range.start_ns));
    double step = std::pow(10, std::floor(std::log10(length / 4)));
    step *= length / step > 20 ? 5 : length / step > 8 ? 2 : 1;
    for (double at = 0; at <= length * 1.0001; at += step) {
      const double x = label_width + at / length * plot_;
      body_ += "<path class=\"l\" d=\"M" + number(x) + ' ' + number(is_above ? y_ + 8 : y_) + "v5\"/>";
      text(x, is_above ? y_ + 4 : y_ + 16, stats::duration_text(at, short_form), "q", "middle");
    }
    y_ += is_above ? 20 : 26;
  }

  const exchange::OverviewData& data_;
  base::NamePalette palette_;
  std::map<std::string_view, double> shown_ns_;  // in the tracks
  double width_;
  double plot_;
  double y_ = top;
  std::string body_;
};

}  // namespace

std::string overview_svg(const Timeline& timeline, const OverviewOptions& options) {
  const double width = std::max<double>(std::clamp(options.width, 320U, 4096U), label_width + value_width + 60);
  const auto bins = static_cast<std::size_t>((width - label_width - value_width) / 3);
  const exchange::OverviewData data = exchange::gather_overview(timeline, options, bins);
  return OverviewPicture(data, timeline.declarations().sites, width).draw();
}

}  // namespace kymo
