#include "figure_png.hpp"

#include <array>
#include <charconv>
#include <memory>

#include <dlfcn.h>

#include "command.hpp"

namespace kymo::command {
namespace {

// What is used of cairo, as cairo.h has it since 1.2.
struct Surface;
struct Context;
struct TextExtents {
  double x_bearing, y_bearing, width, height, x_advance, y_advance;
};
using WriteFunction = int (*)(void* closure, const unsigned char* data, unsigned length);
constexpr int format_rgb24 = 1;

struct Calls {
  Surface* (*image_surface_create)(int format, int width, int height);
  void (*surface_destroy)(Surface*);
  int (*surface_write_to_png_stream)(Surface*, WriteFunction, void* closure);
  Context* (*create)(Surface*);
  void (*destroy)(Context*);
  int (*status)(Context*);
  void (*scale)(Context*, double x, double y);
  void (*set_source_rgb)(Context*, double red, double green, double blue);
  void (*rectangle)(Context*, double x, double y, double width, double height);
  void (*fill)(Context*);
  void (*stroke)(Context*);
  void (*set_line_width)(Context*, double width);
  void (*set_dash)(Context*, const double* dashes, int count, double offset);
  void (*move_to)(Context*, double x, double y);
  void (*line_to)(Context*, double x, double y);
  void (*arc)(Context*, double x, double y, double radius, double from, double to);
  void (*select_font_face)(Context*, const char* family, int slant, int weight);
  void (*set_font_size)(Context*, double size);
  void (*show_text)(Context*, const char* text);
  void (*text_extents)(Context*, const char* text, TextExtents*);
};

/// False where a function is missing.
template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Calls& calls) {
  return find(library, "cairo_image_surface_create", calls.image_surface_create) &&
         find(library, "cairo_surface_destroy", calls.surface_destroy) &&
         find(library, "cairo_surface_write_to_png_stream", calls.surface_write_to_png_stream) &&
         find(library, "cairo_create", calls.create) && find(library, "cairo_destroy", calls.destroy) &&
         find(library, "cairo_status", calls.status) && find(library, "cairo_scale", calls.scale) &&
         find(library, "cairo_set_source_rgb", calls.set_source_rgb) &&
         find(library, "cairo_rectangle", calls.rectangle) && find(library, "cairo_fill", calls.fill) &&
         find(library, "cairo_stroke", calls.stroke) && find(library, "cairo_set_line_width", calls.set_line_width) &&
         find(library, "cairo_set_dash", calls.set_dash) && find(library, "cairo_move_to", calls.move_to) &&
         find(library, "cairo_line_to", calls.line_to) && find(library, "cairo_arc", calls.arc) &&
         find(library, "cairo_select_font_face", calls.select_font_face) &&
         find(library, "cairo_set_font_size", calls.set_font_size) &&
         find(library, "cairo_show_text", calls.show_text) && find(library, "cairo_text_extents", calls.text_extents);
}

class CairoCanvas final : public bench::Canvas {
 public:
  CairoCanvas(const Calls& calls, Context* context) : calls_(calls), context_(context) {
    calls_.select_font_face(context_, "DejaVu Sans", 0, 0);
  }

  void rectangle(double x, double y, double width, double height, std::string_view colour) override {
    set_colour(colour);
    calls_.rectangle(context_, x, y, width, height);
    calls_.fill(context_);
  }

  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
            bool is_dashed) override {
    constexpr std::array dashes{5.0, 4.0};
    set_colour(colour);
    calls_.set_line_width(context_, width);
    calls_.set_dash(context_, dashes.data(), is_dashed ? 2 : 0, 0);
    calls_.move_to(context_, x1, y1);
    calls_.line_to(context_, x2, y2);
    calls_.stroke(context_);
  }

  void circle(double x, double y, double radius, std::string_view colour) override {
    constexpr double full_turn = 6.283185307179586;
    set_colour(colour);
    calls_.arc(context_, x, y, radius, 0, full_turn);
    calls_.fill(context_);
  }

  void text(double x, double y, std::string_view text, Anchor anchor, double size, std::string_view colour) override {
    const std::string words(text);
    set_colour(colour);
    calls_.set_font_size(context_, size);
    TextExtents extents{};
    calls_.text_extents(context_, words.c_str(), &extents);
    const double share = anchor == Anchor::start ? 0 : anchor == Anchor::middle ? 0.5 : 1;
    calls_.move_to(context_, x - share * extents.x_advance, y);
    calls_.show_text(context_, words.c_str());
  }

 private:
  void set_colour(std::string_view colour) {
    std::array<unsigned, 3> parts{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const char* const digits = colour.data() + 1 + 2 * i;
      std::from_chars(digits, digits + 2, parts[i], 16);
    }
    calls_.set_source_rgb(context_, parts[0] / 255.0, parts[1] / 255.0, parts[2] / 255.0);
  }

  const Calls& calls_;
  Context* context_;
};

int append_bytes(void* closure, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return 0;
}

}  // namespace

// Never unloaded: what the libraries below it found out about fonts is theirs to the end of the process.
PngWriter::PngWriter() : library_(::dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL)) {
  Calls calls{};
  if (library_ == nullptr) {
    problem_ = "there are no PNG figures, only SVG: libcairo.so.2 is not here (Debian: libcairo2)";
  } else if (!find_all(library_, calls)) {
    problem_ = "there are no PNG figures, only SVG: libcairo.so.2 lacks functions of cairo 1.2";
  }
}

std::string PngWriter::to_png(const bench::Figure& figure) const {
  constexpr int scale = 2;
  Calls calls{};
  if (!problem_.empty() || !find_all(library_, calls)) {
    throw Failure(problem_);
  }
  const bench::FigureSize size = bench::size_of(figure);
  const std::unique_ptr<Surface, void (*)(Surface*)> surface(
      calls.image_surface_create(format_rgb24, static_cast<int>(size.width) * scale,
                                 static_cast<int>(size.height) * scale),
      calls.surface_destroy);
  const std::unique_ptr<Context, void (*)(Context*)> context(calls.create(surface.get()), calls.destroy);
  calls.scale(context.get(), scale, scale);
  CairoCanvas canvas(calls, context.get());
  bench::draw(figure, canvas);
  std::string png;
  if (calls.status(context.get()) != 0 || calls.surface_write_to_png_stream(surface.get(), append_bytes, &png) != 0) {
    throw Failure("cairo could not draw the figure \"" + figure.title + "\"");
  }
  return png;
}

}  // namespace kymo::command
