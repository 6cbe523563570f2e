// The window's content: captures, or instructions on how to get some.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::viewer {

/// The open captures and messages about them. For the drawing thread.
class Shown {
 public:
  /// Replaces the captures. Throws CaptureError if they cannot be opened, and keeps the current ones.
  void open(const std::vector<std::string>& paths);
  /// The same for dropped files. Errors are shown in the window.
  void open_dropped(const std::vector<std::string>& paths);
  /// Applies the command line's pin, zoom and tab.
  void go_to(const Options& options);

  /// Takes the data read and appended. Returns whether there is something new to draw.
  bool poll();
  /// Whether data is being read or computed.
  [[nodiscard]] bool is_busy() const;
  /// Whether captures may still grow.
  [[nodiscard]] bool is_live() const;
  /// Waits for the arrival of data being read.
  void wait() const;

  /// "run.kymo", "run.kymo and 3 more"; empty if nothing is open.
  [[nodiscard]] const std::string& title() const { return title_; }

  /// Fills the screen.
  void draw();

 private:
  /// A message above the panel that the user can dismiss.
  struct Notice {
    std::string text;
    std::vector<std::string> together;  ///< captures that a button opens on one axis; empty: no button
  };

  void draw_notice();
  static void draw_invitation();

  std::unique_ptr<panel::PanelView> view_;
  std::vector<std::string> paths_;
  std::string title_;
  Notice notice_;
};

}  // namespace kymo::viewer
