#include "panel/draw/box_graph.hpp"

#include <algorithm>
#include <utility>

namespace kymo::panel {

namespace {

float box_height() {
  return ImGui::GetTextLineHeight() * 1.25F;
}

}  // namespace

void BoxGraph::take(std::vector<Box> boxes) {
  boxes_ = std::move(boxes);
  inside_.assign(boxes_.size(), {});
  depth_ = 0;
  for (std::uint32_t i = 1; i < boxes_.size(); ++i) {
    inside_[boxes_[i].parent].push_back(i);
    depth_ = std::max<std::size_t>(depth_, boxes_[i].depth);
  }
  for (std::vector<std::uint32_t>& children : inside_) {
    std::sort(children.begin(), children.end(), [this](std::uint32_t a, std::uint32_t b) {
      return boxes_[a].size != boxes_[b].size ? boxes_[a].size > boxes_[b].size : a < b;
    });
  }
  chosen_ = chosen_ < boxes_.size() ? chosen_ : 0;
  root_ = 0;
  for (std::size_t i = root_path_.size(); i-- > 0 && !is_empty();) {
    const std::vector<std::uint32_t>& children = inside_[root_];
    const auto next = std::find_if(children.begin(), children.end(),
                                   [&](std::uint32_t child) { return boxes_[child].key == root_path_[i]; });
    if (next == children.end()) {
      root_ = 0;
      root_path_.clear();
      break;
    }
    root_ = *next;
  }
}

std::vector<std::uint32_t> BoxGraph::path_of(std::uint32_t box) const {
  std::vector<std::uint32_t> path;
  for (; box != 0; box = boxes_[box].parent) {
    path.push_back(boxes_[box].key);
  }
  return path;
}

std::uint32_t BoxGraph::step(bool down) {
  if (is_empty()) {
    return 0;
  }
  const std::uint32_t next = !down                      ? boxes_[chosen_].parent
                             : inside_[chosen_].empty() ? chosen_
                                                        : inside_[chosen_].front();
  chosen_ = next != 0 ? next : chosen_;
  return next;
}

void BoxGraph::draw_whole_button() {
  if (root_ == 0) {
    return;
  }
  if (ImGui::SmallButton("Whole")) {
    root_ = 0;
    root_path_.clear();
  }
  ImGui::SameLine(0, ImGui::GetFontSize());
}

std::uint32_t BoxGraph::draw(const Theme& theme, const std::function<Look(std::uint32_t)>& look_of) {
  is_clicked_ = false;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  ImGui::BeginChild("boxes", ImVec2(0, 0));
  ImGui::InvisibleButton("graph",
                         ImVec2(std::max(room.x, 1.0F), std::max(box_height() * static_cast<float>(depth_ + 1), 1.0F)));
  const bool is_over = ImGui::IsItemHovered();
  const std::uint32_t under = draw_boxes(theme, look_of, {at.x, at.y - ImGui::GetScrollY()}, room.x, is_over);
  if (under != 0) {
    use(under);
  }
  ImGui::EndChild();
  return under;
}

std::uint32_t BoxGraph::draw_boxes(const Theme& theme, const std::function<Look(std::uint32_t)>& look_of, ImVec2 at,
                                   float width, bool is_over) {
  struct Waiting {
    std::uint32_t box;
    float left;
    float right;
    std::size_t row;
  };
  const float line = box_height();
  const auto all = static_cast<float>(std::max<std::uint64_t>(boxes_[root_].size, 1));
  Canvas canvas(ImGui::GetWindowDrawList());
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  std::uint32_t under = 0;
  std::vector<Waiting> waiting = {{root_, at.x, at.x + width, 0}};
  while (!waiting.empty()) {
    const Waiting place = waiting.back();
    waiting.pop_back();
    const float top = at.y + line * static_cast<float>(place.row);
    if (place.box != 0) {
      const Look look = look_of(place.box);
      const float gap = place.right - place.left > 3 ? 1.0F : 0.0F;
      canvas.fill(place.left, top, place.right - gap, top + line - 1, look.colour);
      if (look.is_marked) {
        canvas.outline(place.left, top, place.right - gap, top + line - 1, theme.chosen,
                       place.box == chosen_ ? 2.0F : 1.0F);
      }
      if (place.right - place.left > ImGui::GetFontSize() * 1.5F) {
        canvas.text(place.left + 3, top + 1, place.right - place.left - 6, theme.box_text, look.text);
      }
      const bool is_in =
          pointer.x >= place.left && pointer.x < place.right && pointer.y >= top && pointer.y < top + line;
      under = is_over && is_in ? place.box : under;
    }
    float left = place.left;
    for (const std::uint32_t child : inside_[place.box]) {
      const float right = left + width * static_cast<float>(boxes_[child].size) / all;
      if (right - left < 1) {
        break;  // the others are narrower
      }
      waiting.push_back({child, left, std::min(right, place.right), place.row + (place.box == 0 ? 0 : 1)});
      left = right;
    }
  }
  return under;
}

void BoxGraph::use(std::uint32_t box) {
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    root_ = box;
    root_path_ = path_of(box);
  } else if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    chosen_ = box;
    is_clicked_ = true;
  }
}

}  // namespace kymo::panel
