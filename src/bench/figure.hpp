// Figures of a grid: bars by setting, or lines over a parameter. The same drawing code produces SVG and PNG.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::bench {

/// A drawing surface: pixels from the upper left corner, colours as "#rrggbb".
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
  /// A line of text with its baseline at y.
  virtual void text(double x, double y, std::string_view text, Anchor anchor, double size, std::string_view colour) = 0;
};

struct FigurePoint {
  double x = 0;  ///< for lines
  double y = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();  ///< minimum and maximum of the runs
  double high = std::numeric_limits<double>::quiet_NaN();
  std::string label;  ///< for bars
};

struct FigureSeries {
  std::string name;
  std::vector<FigurePoint> points;
};

struct Figure {
  std::string title;
  std::string x_label;  ///< for lines; bars have none
  bool is_lines = false;
  std::vector<FigureSeries> series;  ///< bars use only the first
  double baseline = std::numeric_limits<double>::quiet_NaN();
};

struct FigureSize {
  double width = 720;
  double height = 420;
};

/// The size of a figure.
[[nodiscard]] FigureSize size_of(const Figure& figure);
void draw(const Figure& figure, Canvas& canvas);

/// The figure as an SVG document.
[[nodiscard]] std::string to_svg(const Figure& figure);

/// Ticks on an axis from `low` to `high`: steps of 1, 2 or 5 times a power of ten, about `count` of them.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);
/// A readable number: "12.5", "3.2 k", "1.5 G". With `step`, the distance of ticks, it has enough digits to distinguish
/// them.
[[nodiscard]] std::string short_number(double value, double step = 0);

}  // namespace kymo::bench
