// The menus at the top, and the palette. Each line does what a key does, and names it.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "panel/draw/text.hpp"
#include "panel/view/keys.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

void PanelView::draw_menu(const char* title, const std::vector<MenuLine>& lines) {
  for (const MenuLine& line : lines) {
    if (line.label[0] != 0 && line.is_enabled) {
      commands_.push_back({line.label, line.key, line.character});
    }
  }
  if (!ImGui::BeginMenu(title)) {
    marks_.menus.push_back(last_item());
    return;
  }
  marks_.menus.emplace_back();  // not the last item while it is open
  marks_.menu_lines.clear();
  close_by_escape();
  for (const MenuLine& line : lines) {
    if (line.label[0] == 0) {
      ImGui::Separator();
      continue;
    }
    const bool is_taken = ImGui::MenuItem(line.label, line.key, line.is_on, line.is_enabled);
    marks_.menu_lines.push_back(last_item());
    if (is_taken) {
      use_character(line.character);
    }
  }
  ImGui::EndMenu();
}

void PanelView::draw_menus() {
  marks_.menus.clear();
  commands_.clear();
  if (!ImGui::BeginMenuBar()) {
    return;
  }
  if (options_.draw_file_menu) {
    options_.draw_file_menu();
  }
  const bool is_live = state_.data().provider().is_live();
  const bool has_streams = state_.data().provider().declarations().frame_streams.size() > 1;
  const bool is_selected = state_.selected().has_value();
  const auto& measured = state_.measured();
  const bool has_tabs = !tabs_.empty();
  const bool is_measured = measured && measured->end_ns > measured->start_ns;
  draw_menu("View", {{state_.is_paused() ? "Resume" : "Pause", "space", ' '},
                     {"Follow the newest", "f", 'f', state_.follows(), is_live},
                     {"", "", 0},
                     {"Back", "u", 'u'},
                     {"Forward", "U", 'U'},
                     {"Everything", "0", '0'},
                     {"Zoom in", "w", 'w'},
                     {"Zoom out", "s", 's'},
                     {"Zoom to the measured range", "z", 'z', false, is_measured},
                     {"", "", 0},
                     {"All arrows of flows", "x", 'x', shows_flows_},
                     {"Show hidden rows", "H", 'H', false, hidden_rows() != 0},
                     {"Filter metrics", "F", 'F', false, !is_tab_open_}});
  draw_menu("Go", {{"Next frame", "right", next_frame_character},
                   {"Previous frame", "left", previous_frame_character},
                   {"Next frame stream", "c", 'c', false, has_streams},
                   {"", "", 0},
                   {"Next of the marked site", "n", 'n', false, state_.marked_site() != SiteId{}},
                   {"Previous of the marked site", "p", 'p', false, state_.marked_site() != SiteId{}},
                   {"Measure the selected span", "M", 'M', false, is_selected},
                   {"Fold the selected span's track", "k", 'k', false, is_selected},
                   {"", "", 0},
                   {"Next message", "i", 'i'},
                   {"Previous message", "I", 'I'},
                   {"Search", "/", '/', is_searching(), has_tabs},
                   {"", "", 0},
                   {"Write a note", "N", 'N', false, has_tabs},
                   {"Bookmark this view", "B", 'B', false, has_tabs}});
  std::vector<MenuLine> tables = {{"Open and close", "t", 't', is_tab_open_}, {"Next table", "T", 'T'}, {"", "", 0}};
  for (std::size_t i = 0; i < tabs_.size(); ++i) {
    tables.push_back(
        {tabs_[i]->title(), "", first_tab_character + static_cast<unsigned>(i), is_tab_open_ && last_tab_ == i});
  }
  const bool is_focused{state_.focused_site()};
  tables.push_back({"", "", 0});
  tables.push_back(
      {"Tables only inside the marked site", "o", 'o', is_focused, is_focused || bool{state_.marked_site()}});
  if (has_tabs) {
    draw_menu("Tables", tables);
  }
  draw_menu("Help", {{"Mouse and keys", "?", '?', shows_help_}, {"Find a command", ":", ':', false, has_tabs}});
  ImGui::EndMenuBar();
}

void PanelView::draw_palette() {
  const float font = ImGui::GetFontSize();
  if (opens_palette_) {
    opens_palette_ = false;
    palette_place_ = 0;
    palette_text_.clear();
    palette_text_.focus();
    ImGui::OpenPopup("commands");
  }
  const ImVec2 window = ImGui::GetWindowPos();
  const float width = std::min(font * 30, ImGui::GetWindowSize().x - font);
  ImGui::SetNextWindowPos(ImVec2(window.x + (ImGui::GetWindowSize().x - width) / 2, window.y + font * 3));
  ImGui::SetNextWindowSize(ImVec2(width, 0));
  marks_.palette.clear();
  if (!ImGui::BeginPopup("commands")) {
    return;
  }
  close_by_escape();
  const std::string before = palette_text_.text();
  const bool is_entered = palette_text_.draw_entry(ImGui::GetContentRegionAvail().x);
  std::vector<const Command*> found;
  for (const Command& command : commands_) {
    if (contains_text(command.label, palette_text_.text())) {
      found.push_back(&command);
    }
  }
  palette_place_ = before == palette_text_.text() ? palette_place_ : 0;
  palette_place_ += is_pressed(ImGuiKey_DownArrow) ? 1U : 0U;
  palette_place_ -= is_pressed(ImGuiKey_UpArrow) && palette_place_ > 0 ? 1U : 0U;
  palette_place_ = found.empty() ? 0 : std::min(palette_place_, found.size() - 1);
  const Command* taken = is_entered && !found.empty() ? found[palette_place_] : nullptr;
  constexpr std::size_t most_shown = 14;
  const std::size_t first = palette_place_ < most_shown ? 0 : palette_place_ + 1 - most_shown;
  for (std::size_t i = first; i < std::min(found.size(), first + most_shown); ++i) {
    const bool is_clicked = ImGui::Selectable(found[i]->label.c_str(), i == palette_place_);
    taken = is_clicked ? found[i] : taken;
    marks_.palette.push_back(last_item());
    ImGui::SameLine(width - font * 4);
    ImGui::TextDisabled("%s", found[i]->key.c_str());
  }
  if (found.empty()) {
    say("no command has this text");
  }
  const unsigned character = taken != nullptr ? taken->character : 0;
  if (character != 0) {
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
  if (character != 0) {
    use_character(character);
  }
}

}  // namespace kymo::panel
