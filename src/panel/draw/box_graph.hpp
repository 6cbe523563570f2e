// A tree as boxes, as wide as their share: what the flame graph tabs draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/colours.hpp"

namespace kymo::panel {

/// For the drawing thread.
class BoxGraph {
 public:
  struct Box {
    std::uint32_t key = 0;  ///< what it is of; the same in the next tree
    std::uint32_t parent = 0;
    std::uint16_t depth = 0;
    std::uint64_t size = 0;
  };
  struct Look {
    std::string text;
    ImU32 colour = 0;
    bool is_marked = false;
  };

  /// Takes a new tree: parents stand before what is inside, and box 0 is around all others. What was widened stays.
  void take(std::vector<Box> boxes);
  [[nodiscard]] bool is_empty() const { return boxes_.size() < 2; }
  /// The box that fills the width; 0: all.
  [[nodiscard]] std::uint32_t root() const { return root_; }
  /// The box that was clicked last; 0: none.
  [[nodiscard]] std::uint32_t chosen() const { return chosen_; }
  /// Goes to the widest box inside the chosen one, or out again. Returns the new one; 0: there is none.
  std::uint32_t step(bool down);

  /// What leads back from a widened box; nothing where all is shown.
  void draw_whole_button();
  /// Fills the rest of the window. A click chooses a box, a double click widens it. Boxes narrower than a pixel are
  /// left out. Returns the box under the pointer; 0: none.
  std::uint32_t draw(const Theme& theme, const std::function<Look(std::uint32_t box)>& look_of);
  /// Whether the last draw() chose a box.
  [[nodiscard]] bool is_clicked() const { return is_clicked_; }

 private:
  [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t box) const;
  std::uint32_t draw_boxes(const Theme& theme, const std::function<Look(std::uint32_t)>& look_of, ImVec2 at,
                           float width, bool is_over);
  void use(std::uint32_t box);

  std::vector<Box> boxes_;
  std::vector<std::vector<std::uint32_t>> inside_;  // by box, by falling size
  std::size_t depth_ = 0;                           // of the deepest one
  std::uint32_t root_ = 0;
  std::vector<std::uint32_t> root_path_;  // keys, from the root outwards
  std::uint32_t chosen_ = 0;
  bool is_clicked_ = false;
};

}  // namespace kymo::panel
