// The list of mouse and keyboard actions, and its drawing.
#include "panel/view/help.hpp"

#include "panel/view/panel_view.hpp"

namespace kymo::panel {

const std::vector<HelpLine>& help_lines() {
  static const std::vector<HelpLine> lines = {
      {"Pause", "space", "pause and resume everything"},
      {"Follow", "f", "follow the newest"},
      {"click a frame", "left, right", "pin it and pause; keys: the latest at first, then the previous and the next"},
      {"frame stream", "c", "choose a frame stream"},
      {"shift-drag", "z", "zoom everything to a range and pin its longest frame; z: to what is measured"},
      {"wheel", "w, s", "zoom the chart about the pointer; W, S and the wheel over them: bars and rows"},
      {"drag", "a, d", "move the chart; A, D and a drag over them: bars and rows"},
      {"ctrl-wheel, drag", "up, down", "scroll tracks; metrics: page up, page down"},
      {"double click", "0", "everything, or the pinned frame"},
      {"click a span", "shift-arrows", "its times, arguments and joules; keys: the one around, inside, before, after"},
      {"", "n, p", "next and previous of its site"},
      {"click a diamond", "i, I", "the text of a message; keys: the next and the previous one"},
      {"click a site", "/", "search sites; up, down: choose; enter, shift-enter: go to the next, to the previous"},
      {"right drag", "m", "measure; keys: from the pointer, to the pointer, none"},
      {"Statistics", "t", "statistics of sites, or the flame chart"},
      {"click a column", "1 to 9", "of statistics: sort by it, again: the other way"},
      {"click a site", "up, down", "of statistics: how its durations are spread; /: filter"},
      {"click beside it", "escape", "unselect"},
      {"?", "?", "this list"},
  };
  return lines;
}

void PanelView::draw_help() {
  for (const HelpLine& line : help_lines()) {
    ImGui::TextUnformatted(line.mouse);
    ImGui::SameLine(ImGui::GetFontSize() * 11);
    ImGui::TextUnformatted(line.keys);
    ImGui::SameLine(ImGui::GetFontSize() * 20);
    ImGui::TextUnformatted(line.what);
  }
}

}  // namespace kymo::panel
