// A picture drawn by OpenGL without a display: EGL without a surface, a framebuffer object, PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kymo::offscreen {

/// An OpenGL 3 context that draws into memory. EGL is loaded when it is needed. For the thread that makes it, one at a
/// time.
class Offscreen {
 public:
  static constexpr int most_pixels = 16384;  ///< of a side

  /// Makes the context current and its picture what is drawn on. std::runtime_error where this machine has no EGL, no
  /// driver for it, or cannot draw pictures so large.
  Offscreen(int width, int height);
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;
  ~Offscreen();

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

  /// Waits for what was drawn before, and fills the picture with a colour, each part from 0 to 1.
  void clear(float red, float green, float blue);
  /// What was drawn, as a PNG file's bytes.
  [[nodiscard]] std::string to_png() const;

 private:
  struct Calls;

  void make_context();
  void make_picture();

  int width_;
  int height_;
  std::unique_ptr<Calls> calls_;
  void* display_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace kymo::offscreen
