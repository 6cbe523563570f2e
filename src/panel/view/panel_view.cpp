// The whole panel: its header, its parts from top to bottom, and the facts of the selected span.
#include "panel/view/panel_view.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"

namespace kymo::panel {

PanelView::PanelView(std::shared_ptr<BlockProvider> provider, const ViewOptions& options, const DataOptions& data)
    : options_(options), state_(std::move(provider), data) {}

void PanelView::draw() {
  ImGui::PushID(this);
  theme_ = current_theme();
  tip_.clear();
  state_.begin_frame();
  // A child window, so that the wheel does not scroll the window around it.
  ImGui::BeginChild("panel", ImVec2(0, 0), false, ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  use_keyboard();
  draw_header();
  if (is_searching_) {
    draw_search();
  }
  draw_overview(std::max(ImGui::GetContentRegionAvail().y * 0.36F, ImGui::GetTextLineHeight() * 4));
  const bool has_facts = state_.selected() || state_.message();
  const float facts_height = has_facts ? ImGui::GetTextLineHeightWithSpacing() * 4.5F : 0.0F;
  ImGui::BeginChild("chart", ImVec2(0, std::max(ImGui::GetContentRegionAvail().y - facts_height, 1.0F)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  if (shows_help_) {
    draw_help();
  } else if (shows_statistics_) {
    draw_statistics();
  } else {
    draw_flame_chart();
  }
  ImGui::EndChild();
  if (has_facts) {
    draw_facts();  // the chart may have cleared the selection
  } else {
    facts_.clear();
  }
  ImGui::EndChild();
  state_.end_frame();
  ImGui::PopID();
}

void PanelView::draw_search() {
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 16);
  if (focuses_search_) {
    ImGui::SetKeyboardFocusHere();
    focuses_search_ = false;
  }
  ImGui::InputText("search", search_, sizeof search_);
  if (search_[0] == 0) {
    return;
  }
  constexpr int most_shown = 8;
  int shown = 0;
  std::size_t found = 0;
  for (const SiteDeclaration& site : state_.data().provider().declarations().sites) {
    if (!contains_text(site.name, search_)) {
      continue;
    }
    ++found;
    if (shown >= most_shown) {
      continue;
    }
    ++shown;
    ImGui::SameLine(0, ImGui::GetFontSize());
    ImGui::PushID(static_cast<int>(site.id));
    const std::string name = clean_text(site.name, 24);
    const ImVec2 size(ImGui::CalcTextSize(name.data(), name.data() + name.size()).x + 8, ImGui::GetFrameHeight());
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ImGui::InvisibleButton("site", size)) {
      state_.mark_site(site.id);
      state_.jump(true);
    }
    Canvas canvas(ImGui::GetWindowDrawList());
    canvas.fill(at.x, at.y, at.x + size.x, at.y + size.y, theme_.band);
    canvas.text(at.x + 4, at.y + 3, size.x, theme_.text, name);
    if (site.id == state_.marked_site()) {
      canvas.outline(at.x, at.y, at.x + size.x, at.y + size.y, theme_.chosen, 1);
    }
    ImGui::PopID();
  }
  ImGui::SameLine(0, ImGui::GetFontSize());
  say(count_text(found) + (found == 1 ? " site" : " sites"));
}

}  // namespace kymo::panel
