// What the examples draw on: a window of GLFW with OpenGL 3, or a picture in memory where there is no display.
#pragma once

#include <memory>
#include <string>

namespace example {

/// Holds Dear ImGui's context. One at a time.
class Screen {
 public:
  /// A window, or a picture if it has no title. std::runtime_error where that cannot be had.
  Screen(const std::string& title, int width, int height);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  /// Begins a frame of ImGui. False when the window was closed.
  bool begin_frame();
  /// Shows it; a window waits for the monitor.
  void end_frame();
  /// Writes the picture that was drawn last. Without a window only.
  void save_png(const std::string& path) const;

 private:
  class Window;
  class Picture;

  std::unique_ptr<Window> window_;
  std::unique_ptr<Picture> picture_;
};

}  // namespace example
