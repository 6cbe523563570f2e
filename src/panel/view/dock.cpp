// The dock below the flame chart: the tabs' titles, and the open one.
#include <algorithm>
#include <optional>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

bool PanelView::open_tab(std::string_view word) {
  for (std::size_t i = 0; i < tabs_.size(); ++i) {
    if (word_of(*tabs_[i]) == word) {
      last_tab_ = i;
      is_tab_open_ = true;
      return true;
    }
  }
  return false;
}

std::string PanelView::tab() const {
  return is_tab_open_ ? word_of(*tabs_[last_tab_]) : std::string();
}

float PanelView::dock_height(float room) const {
  const float titles =
      ImGui::GetFrameHeightWithSpacing() + static_cast<float>(title_lines_ - 1) * ImGui::GetTextLineHeightWithSpacing();
  return is_tab_open_ ? std::max(room * dock_share_, titles + ImGui::GetTextLineHeight() * 5) : titles;
}

void PanelView::draw_splitter(const char* id, float room, float& share, bool is_above) {
  const float height = ImGui::GetStyle().ItemSpacing.y + 3;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(id, ImVec2(std::max(ImGui::GetContentRegionAvail().x, 1.0F), height));
  const bool is_used = ImGui::IsItemActive() || ImGui::IsItemHovered();
  if (is_used) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeNS);
  }
  if (ImGui::IsItemActive() && room > 0) {
    const float moved = ImGui::GetIO().MouseDelta.y / room;
    share = std::clamp(share + (is_above ? moved : -moved), 0.15F, 0.85F);
  }
  Canvas(ImGui::GetWindowDrawList())
      .fill(at.x, at.y + height / 2 - 1, at.x + ImGui::GetItemRectSize().x, at.y + height / 2 + (is_used ? 1.0F : 0.0F),
            theme_.ruler);
}

std::optional<CopyAs> PanelView::draw_tab_titles() {
  marks_.tabs.resize(tabs_.size());
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  int lines = 0;
  for (std::size_t i = 0; i < tabs_.size(); ++i) {
    const float gap = ImGui::GetFontSize() * 0.4F;
    const float width = ImGui::CalcTextSize(tabs_[i]->title()).x + 2 * ImGui::GetStyle().FramePadding.x;
    if (i != 0 && ImGui::GetItemRectMax().x + gap + width <= right) {
      ImGui::SameLine(0, gap);
    } else {
      ++lines;
    }
    const bool is_open = is_tab_open_ && last_tab_ == i;
    ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetColorU32(is_open ? ImGuiCol_ButtonActive : ImGuiCol_Button));
    if (ImGui::SmallButton(tabs_[i]->title())) {
      is_tab_open_ = !is_open;
      last_tab_ = i;
    }
    ImGui::PopStyleColor();
    marks_.tabs[i] = last_item();
  }
  title_lines_ = lines;
  if (!is_tab_open_) {
    return std::nullopt;
  }
  const auto& measured = state_.measured();
  const bool is_measured = measured && measured->end_ns > measured->start_ns;
  range_text_ = is_measured ? "of the measured " + duration_text(length_between(measured->start_ns, measured->end_ns))
                : state_.pinned() ? "of the pinned frame"
                                  : "of everything";
  put_word(range_text_);
  ImGui::SameLine(0, ImGui::GetFontSize());
  return draw_copy_buttons(marks_.copy);
}

void PanelView::draw_dock(float room) {
  if (is_tab_open_) {
    draw_splitter("splitter", room, dock_share_, false);
  }
  const std::optional<CopyAs> copies = draw_tab_titles();
  if (is_tab_open_) {
    marks_.dock = rest_of_window();
    ImGui::BeginChild("tab", ImVec2(0, 0), false, ImGuiWindowFlags_NoScrollbar);
    TabContext context = tab_context();
    tabs_[last_tab_]->draw(context);
    ImGui::EndChild();
    if (copies) {
      // After draw(), which takes what arrived since the last frame: what is shown now is copied.
      ImGui::SetClipboardText(tabs_[last_tab_]->copied(context, *copies).c_str());
    }
    if (!context.tip.empty()) {
      show_tip(context.tip);
    }
  } else {
    marks_.dock = {};
  }
}

}  // namespace kymo::panel
