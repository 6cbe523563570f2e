// Figures as SVG.
#include <array>
#include <charconv>
#include <cmath>

#include "base/text/escapes.hpp"
#include "bench/figure.hpp"

namespace kymo::bench {
namespace {

class SvgCanvas final : public Canvas {
 public:
  explicit SvgCanvas(FigureSize size) {
    const std::string width = number(size.width);
    const std::string height = number(size.height);
    svg_ = R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + width + R"(" height=")" + height +
           R"(" viewBox="0 0 )" + width + " " + height +
           R"(" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">)" + "\n";
  }

  void rectangle(double x, double y, double width, double height, std::string_view colour) override {
    svg_ += "<rect";
    attribute("x", x);
    attribute("y", y);
    attribute("width", width);
    attribute("height", height);
    attribute("fill", colour);
    svg_ += "/>\n";
  }

  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
            bool is_dashed) override {
    svg_ += "<line";
    attribute("x1", x1);
    attribute("y1", y1);
    attribute("x2", x2);
    attribute("y2", y2);
    attribute("stroke", colour);
    attribute("stroke-width", width);
    if (is_dashed) {
      attribute("stroke-dasharray", "5 4");
    }
    svg_ += "/>\n";
  }

  void circle(double x, double y, double radius, std::string_view colour) override {
    svg_ += "<circle";
    attribute("cx", x);
    attribute("cy", y);
    attribute("r", radius);
    attribute("fill", colour);
    svg_ += "/>\n";
  }

  void text(double x, double y, std::string_view text, Anchor anchor, double size, std::string_view colour) override {
    svg_ += "<text";
    attribute("x", x);
    attribute("y", y);
    attribute("font-size", size);
    attribute("fill", colour);
    if (anchor != Anchor::start) {
      attribute("text-anchor", anchor == Anchor::middle ? "middle" : "end");
    }
    svg_ += '>';
    base::append_xml(svg_, text);
    svg_ += "</text>\n";
  }

  [[nodiscard]] std::string finish() { return svg_ + "</svg>\n"; }

 private:
  /// Hundredths of a pixel suffice.
  static std::string number(double value) {
    std::array<char, 32> buffer{};
    const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::round(value * 100) / 100);
    return {buffer.data(), written.ptr};
  }
  void attribute(std::string_view name, double value) { attribute(name, number(value)); }
  void attribute(std::string_view name, std::string_view value) {
    svg_ += ' ';
    svg_ += name;
    svg_ += "=\"";
    svg_ += value;
    svg_ += '"';
  }

  std::string svg_;
};

}  // namespace

std::string to_svg(const Figure& figure) {
  SvgCanvas canvas(size_of(figure));
  draw(figure, canvas);
  return canvas.finish();
}

}  // namespace kymo::bench
