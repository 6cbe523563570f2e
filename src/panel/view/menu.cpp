// The menus at the top. Each line does what a key does, and names it.
#include <string>
#include <vector>

#include "panel/view/keys.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

void PanelView::draw_menu(const char* title, const std::vector<MenuLine>& lines) {
  const bool is_open = ImGui::BeginMenu(title);
  const auto place = [] {
    const ImVec2 least = ImGui::GetItemRectMin();
    const ImVec2 most = ImGui::GetItemRectMax();
    return Area{least.x, least.y, most.x, most.y};
  };
  if (!is_open) {
    marks_.menus.push_back(place());
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
    marks_.menu_lines.push_back(place());
    if (is_taken) {
      use_character(line.character);
    }
  }
  ImGui::EndMenu();
}

void PanelView::draw_menus() {
  marks_.menus.clear();
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
                   {"Next of the marked site", "n", 'n', false, state_.marked_site() != 0},
                   {"Previous of the marked site", "p", 'p', false, state_.marked_site() != 0},
                   {"Measure the selected span", "M", 'M', false, is_selected},
                   {"Fold the selected span's track", "k", 'k', false, is_selected},
                   {"", "", 0},
                   {"Next message", "i", 'i'},
                   {"Previous message", "I", 'I'},
                   {"Search", "/", '/', is_searching()},
                   {"", "", 0},
                   {"Write a note", "N", 'N'},
                   {"Bookmark this view", "B", 'B'}});
  std::vector<MenuLine> tables = {{"Open and close", "t", 't', is_tab_open_}, {"Next table", "T", 'T'}, {"", "", 0}};
  for (std::size_t i = 0; i < tabs_.size(); ++i) {
    tables.push_back(
        {tabs_[i]->title(), "", first_tab_character + static_cast<unsigned>(i), is_tab_open_ && last_tab_ == i});
  }
  draw_menu("Tables", tables);
  draw_menu("Help", {{"Mouse and keys", "?", '?', shows_help_}});
  ImGui::EndMenuBar();
}

}  // namespace kymo::panel
