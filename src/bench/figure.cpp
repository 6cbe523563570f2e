#include "bench/figure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace kymo::bench {
namespace {

constexpr std::string_view ink = "#222222";
constexpr std::string_view faint = "#dddddd";
constexpr std::string_view grey = "#666666";
/// Distinguishable for colour-blind readers (Okabe and Ito).
constexpr std::array<std::string_view, 6> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
constexpr double bar_height = 26;
constexpr double top = 56;

/// Minimum and maximum of all drawn values.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  [[nodiscard]] bool is_empty() const { return low > high; }
  void widen() {
    const double span = high - low;
    const double more = span > 0 ? span * 0.06 : std::max(std::abs(high) * 0.1, 1e-12);
    low -= more;
    high += more;
  }
};

Range values_of(const Figure& figure) {
  Range range;
  range.add(figure.baseline);
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      range.add(point.y);
      range.add(point.low);
      range.add(point.high);
    }
  }
  return range;
}

/// Maps values of an axis to pixels.
struct Axis {
  double low;
  double high;
  double first;
  double last;
  [[nodiscard]] double at(double value) const { return first + (value - low) / (high - low) * (last - first); }
};

void draw_title(const Figure& figure, Canvas& canvas) {
  const FigureSize size = size_of(figure);
  canvas.rectangle(0, 0, size.width, size.height, "#ffffff");
  canvas.text(16, 28, figure.title, Canvas::Anchor::start, 16, ink);
}

void draw_legend(double x, std::string_view name, std::string_view colour, bool is_dashed, Canvas& canvas) {
  canvas.line(x, 44, x + 18, 44, colour, 2, is_dashed);
  canvas.text(x + 24, 48, name, Canvas::Anchor::start, 11, grey);
}

void draw_bar(const FigurePoint& point, double y, const Axis& axis, Canvas& canvas) {
  canvas.text(axis.first - 8, y + 14, point.label, Canvas::Anchor::end, 11, ink);
  if (!std::isfinite(point.y)) {
    canvas.text(axis.at(0) + 6, y + 14, "no value", Canvas::Anchor::start, 11, grey);
    return;
  }
  const double zero = axis.at(0);
  const double end = axis.at(point.y);
  canvas.rectangle(std::min(zero, end), y + 2, std::max(std::abs(end - zero), 0.5), bar_height - 10, colours[0]);
  double beyond = std::max(zero, end);
  if (point.low < point.high) {
    const double middle = y + 2 + (bar_height - 10) / 2;
    canvas.line(axis.at(point.low), middle, axis.at(point.high), middle, ink, 1.2, false);
    canvas.line(axis.at(point.low), middle - 4, axis.at(point.low), middle + 4, ink, 1.2, false);
    canvas.line(axis.at(point.high), middle - 4, axis.at(point.high), middle + 4, ink, 1.2, false);
    beyond = std::max(beyond, axis.at(point.high));
  }
  canvas.text(beyond + 6, y + 14, short_number(point.y), Canvas::Anchor::start, 11, ink);
}

/// The distance between marks of an axis; 0 if there are fewer than two.
double step_of(const std::vector<double>& marks) {
  return marks.size() < 2 ? 0 : marks[1] - marks[0];
}

void draw_bars(const Figure& figure, Canvas& canvas) {
  static const FigureSeries none;
  const FigureSeries& series = figure.series.empty() ? none : figure.series.front();
  const FigureSize size = size_of(figure);
  Range range = values_of(figure);
  range.add(0);
  if (range.low == range.high) {
    range.high = 1;
  }
  std::size_t longest = 0;
  for (const FigurePoint& point : series.points) {
    longest = std::max(longest, point.label.size());
  }
  const double left = std::clamp(24 + 6.4 * static_cast<double>(longest), 60.0, 320.0);
  const Axis axis{range.low, range.high, left, size.width - 84};
  const double bottom = size.height - 34;
  const std::vector<double> marks = ticks(range.low, range.high, 5);
  for (const double tick : marks) {
    canvas.line(axis.at(tick), top, axis.at(tick), bottom, faint, 1, false);
    canvas.text(axis.at(tick), bottom + 16, short_number(tick, step_of(marks)), Canvas::Anchor::middle, 11, grey);
  }
  double y = top + 4;
  for (const FigurePoint& point : series.points) {
    draw_bar(point, y, axis, canvas);
    y += bar_height;
  }
  if (std::isfinite(figure.baseline)) {
    canvas.line(axis.at(figure.baseline), top, axis.at(figure.baseline), bottom, grey, 1.2, true);
    draw_legend(left, "baseline", grey, true, canvas);
  }
}

void draw_series(const FigureSeries& series, const Axis& x_axis, const Axis& y_axis, std::string_view colour,
                 Canvas& canvas) {
  const FigurePoint* before = nullptr;
  for (const FigurePoint& point : series.points) {
    if (!std::isfinite(point.y)) {
      before = nullptr;
      continue;
    }
    const double x = x_axis.at(point.x);
    if (before != nullptr) {
      canvas.line(x_axis.at(before->x), y_axis.at(before->y), x, y_axis.at(point.y), colour, 2, false);
    }
    if (point.low < point.high) {
      canvas.line(x, y_axis.at(point.low), x, y_axis.at(point.high), colour, 1.2, false);
      canvas.line(x - 4, y_axis.at(point.low), x + 4, y_axis.at(point.low), colour, 1.2, false);
      canvas.line(x - 4, y_axis.at(point.high), x + 4, y_axis.at(point.high), colour, 1.2, false);
    }
    canvas.circle(x, y_axis.at(point.y), 3.5, colour);
    before = &point;
  }
}

void draw_lines(const Figure& figure, Canvas& canvas) {
  const FigureSize size = size_of(figure);
  Range y_range = values_of(figure);
  if (y_range.is_empty()) {
    canvas.text(size.width / 2, size.height / 2, "no values", Canvas::Anchor::middle, 14, grey);
    return;
  }
  y_range.widen();
  Range x_range;
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      x_range.add(point.x);
    }
  }
  x_range.widen();
  const double bottom = size.height - 52;
  const Axis x_axis{x_range.low, x_range.high, 84, size.width - 24};
  const Axis y_axis{y_range.low, y_range.high, bottom, top + 8};
  const std::vector<double> y_marks = ticks(y_range.low, y_range.high, 6);
  for (const double tick : y_marks) {
    canvas.line(x_axis.first, y_axis.at(tick), x_axis.last, y_axis.at(tick), faint, 1, false);
    canvas.text(x_axis.first - 8, y_axis.at(tick) + 4, short_number(tick, step_of(y_marks)), Canvas::Anchor::end, 11,
                grey);
  }
  const std::vector<double> x_marks = ticks(x_range.low, x_range.high, 7);
  for (const double tick : x_marks) {
    canvas.line(x_axis.at(tick), bottom, x_axis.at(tick), bottom + 4, grey, 1, false);
    canvas.text(x_axis.at(tick), bottom + 18, short_number(tick, step_of(x_marks)), Canvas::Anchor::middle, 11, grey);
  }
  canvas.line(x_axis.first, bottom, x_axis.last, bottom, grey, 1, false);
  canvas.text((x_axis.first + x_axis.last) / 2, size.height - 14, figure.x_label, Canvas::Anchor::middle, 12, ink);
  double legend = x_axis.first;
  const auto add_legend = [&](std::string_view name, std::string_view colour, bool is_dashed) {
    draw_legend(legend, name, colour, is_dashed, canvas);
    legend += 44 + 6.5 * static_cast<double>(name.size());
  };
  if (std::isfinite(figure.baseline)) {
    canvas.line(x_axis.first, y_axis.at(figure.baseline), x_axis.last, y_axis.at(figure.baseline), grey, 1.5, true);
    add_legend("baseline", grey, true);
  }
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const std::string_view colour = colours[i % colours.size()];
    draw_series(figure.series[i], x_axis, y_axis, colour, canvas);
    if (!figure.series[i].name.empty()) {
      add_legend(figure.series[i].name, colour, false);
    }
  }
}

}  // namespace

FigureSize size_of(const Figure& figure) {
  FigureSize size;
  if (!figure.is_lines) {
    const std::size_t bars = figure.series.empty() ? 0 : figure.series.front().points.size();
    // A larger picture is of no use, and its size would be a problem.
    size.height = top + 4 + bar_height * static_cast<double>(std::clamp<std::size_t>(bars, 1, 400)) + 38;
  }
  return size;
}

void draw(const Figure& figure, Canvas& canvas) {
  draw_title(figure, canvas);
  if (figure.is_lines) {
    draw_lines(figure, canvas);
  } else {
    draw_bars(figure, canvas);
  }
}

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> marks;
  const double span = high - low;
  if (!(span > 0) || !std::isfinite(span)) {
    return marks;
  }
  const double rough = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  for (double index = std::ceil(low / step); index * step <= high && marks.size() < 50; ++index) {
    marks.push_back(index * step);
  }
  return marks;
}

std::string short_number(double value, double step) {
  int digits = 5;
  if (step > 0 && value != 0) {
    const double beyond_step = std::floor(std::log10(std::abs(value))) - std::floor(std::log10(step));
    digits = static_cast<int>(std::clamp(beyond_step + 1, 5.0, 15.0));
  }
  constexpr std::array<std::pair<double, std::string_view>, 4> units{
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}}};
  std::string_view unit;
  for (const auto& [from, name] : units) {
    if (std::abs(value) >= from) {
      value /= from == 1e4 ? 1e3 : from;
      unit = name;
      break;
    }
  }
  std::array<char, 64> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value == 0 ? 0.0 : value,
                                     std::chars_format::general, digits);
  return std::string(buffer.data(), written.ptr).append(unit);
}

}  // namespace kymo::bench
