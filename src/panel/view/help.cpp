// The list of mouse and keyboard actions, drawn over the panel.
#include "panel/view/help.hpp"

#include <algorithm>

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

const std::vector<HelpLine>& help_lines() {
  static const std::vector<HelpLine> lines = {
      {"Time", "Pause", "space", "pause and resume everything"},
      {"", "Follow", "f", "follow the newest"},
      {"", "wheel", "w, s", "zoom the chart about the pointer; W, S and the wheel over them: bars and rows"},
      {"", "drag", "a, d", "move the chart; A, D and a drag over them: bars and rows"},
      {"", "shift-drag", "z", "zoom everything to a range and pin its longest frame; z: to what is measured"},
      {"", "<, >", "u, U", "back to the view before, and forward again"},
      {"", "All, double click", "0", "everything, or the pinned frame"},
      {"", "right drag", "m", "measure; tables cover that range; keys: from the pointer, to the pointer, none"},
      {"Frames", "click a frame", "left, right",
       "pin it and pause; tables cover it; keys: the latest at first, then the previous and the next"},
      {"", "frame stream", "c", "choose a frame stream"},
      {"Spans and messages", "click a span", "shift-arrows",
       "its times, arguments and joules; keys: the one around, inside, before, after"},
      {"", "Measure", "M", "measure the selected span: tables cover its time"},
      {"", "", "n, p", "next and previous of its site"},
      {"", "click a diamond", "i, I", "the text of a message; keys: the next and the previous one"},
      {"", "click beside it", "escape", "unselect"},
      {"", "Search, click a site", "/",
       "search scopes, tracks, metrics, messages; up, down: choose; enter, shift-enter: the next, the previous of these"},
      {"", "point at a span", "x", "arrows of its flows, where there are many; x: of all"},
      {"", "click a track", "k", "show only its first row, or all; key: of the selected span's track"},
      {"", "ctrl-wheel, drag", "up, down", "scroll tracks; metrics: page up, page down"},
      {"Rows", "click a name", "P",
       "of metrics; right click: of tracks: what can be done; key: pin what is under the pointer"},
      {"", "click cpu_util, 8 cores", "e", "a row for each of them, or all in one again"},
      {"", "", "[, ]", "move the row under the pointer up, down"},
      {"", "", "(, )", "make it lower, higher; a track then shows fewer rows, more"},
      {"", "", "h, H", "hide it; show all that are hidden"},
      {"Notes", "Notes", "N", "write one: of what is measured, of the selected span, or of the middle of the chart"},
      {"", "", "B", "bookmark the chart's range, among the notes"},
      {"Tables", "click a title", "t, T", "open and close the tab; T: the next one"},
      {"", "click a column", "1 to 9", "sort by it; again: the other way"},
      {"", "Waiting, Callers", "1, 2, 3",
       "of Functions: samples on the CPU, waits; callers below what they called, or above"},
      {"", "click a row", "up, down", "mark its site, or go to its frame, span or message"},
      {"", "filter", "F", "only rows with this text; without a table: only metrics with it"},
      {"", "Only inside", "o",
       "trees, flame graphs, frames, metrics and messages: only inside the marked site's scopes; again: all"},
      {"", "click a bar", "b", "of a distribution: light the spans or frames that it counts; b: the next bar's"},
      {"Comparison", "start, frame, sync point", "y", "what of both captures stands at the same place"},
      {"", "side by side", "Y", "or one above the other"},
      {"", "click a verdict", "up, down", "its distributions over each other, and its site in both; t: the verdicts"},
      {"", "", ":", "any command of the menus by a few letters of it; up, down, enter"},
      {"", "?", "?", "this list"},
  };
  return lines;
}

void draw_help(const Theme& theme) {
  const float font = ImGui::GetFontSize();
  const ImVec2 window = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  const ImVec2 wanted(std::min(size.x - font, font * 64),
                      std::min(size.y - font * 3,
                               ImGui::GetTextLineHeightWithSpacing() * (static_cast<float>(help_lines().size()) + 6)));
  ImGui::SetCursorScreenPos(ImVec2(window.x + (size.x - wanted.x) / 2, window.y + font * 2));
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::BeginChild("help", wanted, true);
  for (const HelpLine& line : help_lines()) {
    if (line.heading[0] != 0) {
      ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(theme.metric), "%s", line.heading);
    }
    ImGui::TextUnformatted(line.mouse);
    ImGui::SameLine(font * 11);
    ImGui::TextUnformatted(line.keys);
    ImGui::SameLine(font * 18);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(line.what);
    ImGui::PopTextWrapPos();
  }
  ImGui::EndChild();
  ImGui::PopStyleColor();
}

}  // namespace kymo::panel
