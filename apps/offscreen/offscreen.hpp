// Draws a picture with OpenGL without a display: EGL without a surface, a framebuffer object, PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kymo::offscreen {

/// An OpenGL 3 context that draws into memory. Loads EGL on demand. For the thread that creates it, one at a time.
class Offscreen {
 public:
  static constexpr int most_pixels = 16384;  ///< per side

  /// Makes the context current and its picture the render target. Throws std::runtime_error if this machine has no EGL,
  /// no driver for it, or does not support pictures of this size.
  Offscreen(int width, int height);
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;
  ~Offscreen();

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }

  /// Waits for earlier drawing and fills the picture with a colour, each component from 0 to 1.
  void clear(float red, float green, float blue);
  /// The picture as a PNG file's bytes.
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
