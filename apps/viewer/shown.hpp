// What the window shows: captures, or a word on how to get some.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "panel/panel_view.hpp"

namespace kymo::viewer {

/// The captures that are open and what there is to say about them. For the thread that draws.
class Shown {
 public:
  /// Shows these instead. CaptureError where they cannot be opened; what was shown stays.
  void open(const std::vector<std::string>& paths);
  /// The same for files that were dropped: trouble is told in the window.
  void open_dropped(const std::vector<std::string>& paths);
  /// Pins, zooms and chooses the tab as the command line says.
  void go_to(const Options& options);

  /// Takes over what was read and what grew; whether there is something new to draw.
  bool poll();
  /// Whether something is being read or worked out.
  [[nodiscard]] bool is_busy() const;
  /// Whether captures may still grow.
  [[nodiscard]] bool is_live() const;
  /// Returns when something that is being read is there.
  void wait() const;

  /// "run.kymo", "run.kymo and 3 more"; empty where nothing is open.
  [[nodiscard]] const std::string& title() const { return title_; }

  /// Fills the screen.
  void draw();

 private:
  /// What is said above the panel until it is put away.
  struct Notice {
    std::string text;
    std::vector<std::string> together;  ///< what a button opens on one axis; empty: no button
  };

  void draw_notice();
  static void draw_invitation();

  std::unique_ptr<panel::PanelView> view_;
  std::vector<std::string> paths_;
  std::string title_;
  Notice notice_;
};

}  // namespace kymo::viewer
