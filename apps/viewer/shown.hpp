// The window's content: captures, or instructions on how to get some.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "file_menu.hpp"
#include "options.hpp"
#include "panel/compare/compare_view.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::viewer {

/// The open captures and messages about them. For the drawing thread.
class Shown {
 public:
  /// Replaces the captures. Throws CaptureError if they cannot be opened, and keeps the current ones.
  void open(const std::vector<std::string>& paths);
  /// Shows captures beside those of before a change. Throws likewise.
  void compare(const std::vector<std::string>& base, const std::vector<std::string>& changed);
  /// open() for dropped files. Errors are shown in the window.
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

  /// Where arrangements of rows are kept between sessions; empty, as at first: nowhere.
  void set_config_folder(const std::string& folder) { config_folder_ = folder; }
  [[nodiscard]] FileMenu& file_menu() { return file_menu_; }
  /// The theme, which the user may change. The caller applies it.
  [[nodiscard]] Theme theme() const { return theme_; }
  void set_theme(Theme theme) { theme_ = theme; }
  [[nodiscard]] bool wants_to_quit() const { return wants_to_quit_; }

  /// "run.kymo", "run.kymo and 3 more"; empty if nothing is open.
  [[nodiscard]] const std::string& title() const { return title_; }

  /// Fills the screen.
  void draw();

 private:
  /// A message above the panel that the user can dismiss.
  struct Notice {
    std::string text;
    std::vector<std::string> together;  ///< captures that a button opens on one axis; empty: no button
    std::vector<std::string> before;    ///< captures that a button compares with those shown; empty: no button
  };

  [[nodiscard]] panel::ViewOptions view_options(const std::vector<std::string>& paths);
  /// Lets rows be arranged as in earlier sessions with the program.
  void keep_arrangement(const Declarations& declarations, panel::ViewOptions& options);
  /// Does something with captures. An error is shown in the window.
  template <typename Action>
  void attempt(Action&& action);
  void remember(const std::vector<std::string>& paths);
  void take_choice();
  void draw_notice();
  void draw_invitation();

  std::unique_ptr<panel::PanelView> view_;  // one of these two, or none
  std::unique_ptr<panel::CompareView> compared_;
  std::vector<std::string> paths_;
  std::string title_;
  std::string config_folder_;
  Notice notice_;
  FileMenu file_menu_;
  FileChoice choice_;  // in this frame
  Theme theme_ = Theme::dark;
  bool wants_to_quit_ = false;
};

}  // namespace kymo::viewer
