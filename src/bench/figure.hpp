// Figures of a grid: bars by setting, or lines over a parameter. Drawn once, as SVG and as PNG.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::bench {

/// What a figure is drawn on: pixels from the upper left corner, colours as "#rrggbb".
class Canvas {
 public:
  enum class Anchor { start, middle, end };

  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  virtual void rectangle(double x, double y, double width, double height, std::string_view colour) = 0;
  virtual void line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
                    bool is_dashed) = 0;
  virtual void circle(double x, double y, double radius, std::string_view colour) = 0;
  /// A line of text whose base line is at y.
  virtual void text(double x, double y, std::string_view text, Anchor anchor, double size, std::string_view colour) = 0;
};

struct FigurePoint {
  double x = 0;  ///< of lines
  double y = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();  ///< least and greatest of the runs
  double high = std::numeric_limits<double>::quiet_NaN();
  std::string label;  ///< of bars
};

struct FigureSeries {
  std::string name;
  std::vector<FigurePoint> points;
};

struct Figure {
  std::string title;
  std::string x_label;  ///< of lines; bars have none
  bool is_lines = false;
  std::vector<FigureSeries> series;  ///< of bars the first counts
  double baseline = std::numeric_limits<double>::quiet_NaN();
};

struct FigureSize {
  double width = 720;
  double height = 420;
};

/// Room that a figure takes.
[[nodiscard]] FigureSize size_of(const Figure& figure);
void draw(const Figure& figure, Canvas& canvas);

/// The figure as an SVG document.
[[nodiscard]] std::string to_svg(const Figure& figure);

/// Marks on an axis from `low` to `high`: steps of 1, 2 or 5 times a power of ten, about `count` of them.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);
/// A number for people: "12.5", "3.2 k", "1.5 G". Of one mark among several that lie `step` apart as many digits as
/// tell them apart.
[[nodiscard]] std::string short_number(double value, double step = 0);

}  // namespace kymo::bench
