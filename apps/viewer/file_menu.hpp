// The viewer's own menu: files to open, those opened lately, and the theme.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace kymo::viewer {

/// What the user chose in this frame.
struct FileChoice {
  std::vector<std::string> open;  ///< captures; empty: none
  bool changes_theme = false;
  bool quits = false;
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
  void draw_menu(Theme theme, FileChoice& choice);
  /// The dialog, if it is open. Call once a frame, outside of menus.
  void draw_dialog(FileChoice& choice);
  /// Opens the dialog.
  void open_dialog();

 private:
  struct Entry {
    std::string name;
    bool is_directory = false;
  };

  void list(const std::string& directory);

  std::vector<std::string> recent_;
  bool opens_dialog_ = false;
  std::string directory_;
  std::vector<Entry> entries_;
  char path_[4096] = {};
};

}  // namespace kymo::viewer
