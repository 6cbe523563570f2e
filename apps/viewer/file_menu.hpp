// The viewer's own menu: files to open, those opened lately, and the theme.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace kymo::viewer {

/// What the user chose in this frame.
struct FileChoice {
  std::vector<std::string> open;  ///< captures; empty: none
  bool compares = false;          ///< what is shown with these, instead of showing them alone
  bool ends_comparison = false;
  bool changes_theme = false;
  bool quits = false;
};

/// What the menu depends on.
struct FileMenuState {
  Theme theme = Theme::dark;
  bool has_captures = false;
  bool is_comparing = false;
};

/// A directory's captures and directories, and the menu that opens them. For the drawing thread.
class FileMenu {
 public:
  static constexpr std::size_t most_recent = 10;

  /// The paths opened lately, the last one first.
  [[nodiscard]] const std::vector<std::string>& recent() const { return recent_; }
  /// Adds paths that were opened before those known.
  void add_recent(const std::vector<std::string>& paths);
  /// Puts a path first. Relative paths are made absolute.
  void remember(const std::string& path);

  /// A menu of the current menu bar.
  void draw_menu(const FileMenuState& state, FileChoice& choice);
  /// The dialog, if it is open. Call once a frame, outside of menus.
  void draw_dialog(FileChoice& choice);
  /// Opens the dialog, for captures to compare with or to show.
  void open_dialog(bool compares = false);

 private:
  struct Entry {
    std::string name;
    bool is_directory = false;
  };

  void list(const std::string& directory);
  /// A submenu of the captures opened lately.
  void draw_recent(const char* label, bool compares, bool is_enabled, FileChoice& choice) const;

  std::vector<std::string> recent_;
  bool opens_dialog_ = false;
  bool dialog_compares_ = false;
  std::string directory_;
  std::vector<Entry> entries_;
  char path_[4096] = {};
};

}  // namespace kymo::viewer
