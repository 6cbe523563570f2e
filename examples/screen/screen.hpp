// The screen of the examples: a GLFW window with OpenGL 3, or a picture in memory if there is no display.
#pragma once

#include <memory>
#include <string>

namespace example {

/// Owns Dear ImGui's context. One at a time.
class Screen {
 public:
  /// Opens a window, or creates a picture without a title. Throws std::runtime_error on failure.
  Screen(const std::string& title, int width, int height);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  /// Begins an ImGui frame. Returns false after the window was closed.
  bool begin_frame();
  /// Shows the frame. A window waits for the monitor.
  void end_frame();
  /// Writes the last picture. Only without a window.
  void save_png(const std::string& path) const;

 private:
  class Window;
  class Picture;

  std::unique_ptr<Window> window_;
  std::unique_ptr<Picture> picture_;
};

}  // namespace example
