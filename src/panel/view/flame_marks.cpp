// Marks at points in time: messages, flows, sync points, and the measured range.
#include <algorithm>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

float text_width(const std::string& text) {
  return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
}

}  // namespace

void PanelView::show_tip(const std::string& lines) {
  tip_ = lines;
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 40);
  say(lines);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

std::vector<std::uint64_t> PanelView::flows_in_focus() const {
  std::vector<std::uint64_t> flows;
  const auto touches = [](const std::optional<SpanKey>& span, TrackId track, std::int64_t time_ns) {
    return span && span->track == track && span->start_ns <= time_ns && time_ns <= span->end_ns;
  };
  for (const FlowArrow& arrow : state_.marks().arrows) {
    for (const auto* const span : {&state_.selected(), &hovered_}) {
      if (touches(*span, arrow.from_track, arrow.from_ns) || touches(*span, arrow.to_track, arrow.to_ns)) {
        flows.push_back(arrow.flow_id);
      }
    }
  }
  return flows;
}

void PanelView::draw_marks(const Area& area, float line_height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const MarkLayout& marks = state_.marks();
  const auto middle_of = [&](std::uint32_t line) {
    return area.top + (static_cast<float>(line) + 0.5F) * line_height - flame_scroll_;
  };
  constexpr std::size_t few_arrows = 16;  // these bury nothing
  const bool shows_all = shows_flows_ || marks.arrows.size() <= few_arrows;
  const std::vector<std::uint64_t> flows = flows_in_focus();
  for (const FlowArrow& arrow : marks.arrows) {
    if (!shows_all && std::find(flows.begin(), flows.end(), arrow.flow_id) == flows.end()) {
      continue;
    }
    // Clamped outside the chart because far ends may be anywhere.
    const auto x_of = [&](float pixel) { return area.left + std::clamp(pixel, -20.0F, area.width() + 20); };
    canvas.arrow(ImVec2(x_of(arrow.from), middle_of(arrow.from_line)), ImVec2(x_of(arrow.to), middle_of(arrow.to_line)),
                 line_height * 0.35F, theme_.flow);
  }
  const float radius = line_height * 0.28F;
  for (const MessageMark& mark : marks.messages) {
    const float y = middle_of(mark.line);
    if (y + radius < area.top || y - radius > area.bottom) {
      continue;
    }
    const float x = area.left + mark.pixel;
    canvas.diamond(x, y, radius, theme_.metric);
    if (mark.count > 1) {  // a different shape for several messages
      canvas.fill(x - radius, y + radius - 1, x + radius, y + radius + 1, theme_.text);
    }
    if (state_.message() && state_.message()->time_ns == mark.first->time_ns &&
        state_.message()->track == mark.first->track) {
      canvas.outline(x - radius - 2, y - radius - 2, x + radius + 2, y + radius + 2, theme_.chosen, 1);
    }
  }
  draw_sync_points(area, marks.sync_points);
}

void PanelView::draw_sync_points(const Area& area, const std::vector<SyncMark>& marks) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const float line = ImGui::GetTextLineHeight();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const float x = area.left + marks[i].pixel;
    const float room = (i + 1 < marks.size() ? area.left + marks[i + 1].pixel : area.right) - x - 6;
    // Dashed, to distinguish it from the ruler's lines.
    for (float y = area.top; y < area.bottom; y += line) {
      canvas.fill(x, y, x + 1, std::min(y + line / 2, area.bottom), theme_.faint_text);
    }
    if (room > line * 3) {
      canvas.text(x + 3, area.bottom - line - 2, std::min(room, line * 8), theme_.faint_text,
                  "phase " + std::to_string(marks[i].number));
    }
  }
}

void PanelView::draw_measured(const Area& area, const TimeAxis& axis) {
  const auto& measured = state_.measured();
  if (!measured) {
    return;
  }
  Canvas canvas(ImGui::GetWindowDrawList());
  draw_cover(area, axis, *measured, theme_.selection);
  const auto left = static_cast<float>(axis.to_pixel(measured->start_ns));
  const auto right = static_cast<float>(axis.to_pixel(measured->end_ns));
  for (const float x : {left, right}) {
    if (x >= 0 && x <= area.width()) {
      canvas.fill(area.left + x, area.top, area.left + x + 1, area.bottom, theme_.chosen);
    }
  }
  const float x = area.left + std::clamp(left, 0.0F, area.width());
  if (right >= 0 && left <= area.width()) {
    canvas.text(x + 4, area.top + 2, area.right - x, theme_.text,
                duration_text(length_between(measured->start_ns, measured->end_ns)));
  }
}

void PanelView::draw_notes(const Area& area, const TimeAxis& axis) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const std::int64_t origin_ns = state_.data().range().start_ns;
  const float line = ImGui::GetTextLineHeight();
  float free_from = area.left;  // texts do not cover each other
  for (const Note& note : state_.notes().all()) {
    const double from = axis.to_pixel(add_length(origin_ns, std::max<std::int64_t>(note.start_ns, 0)));
    const double to = axis.to_pixel(add_length(origin_ns, std::max<std::int64_t>(note.end_ns, 0)));
    if (to < 0 || from > axis.width()) {
      continue;
    }
    const float left = area.left + static_cast<float>(std::max(from, 0.0));
    const float right = area.left + static_cast<float>(std::min(to, axis.width()));
    canvas.fill(left, area.bottom - 3, std::max(right, left + 3), area.bottom, theme_.chosen);
    if (from >= 0) {
      canvas.fill(left, area.top, left + 1, area.bottom, theme_.chosen);
    }
    if (left >= free_from) {
      const float width = std::min(area.right - left, line * 14);
      canvas.fill(left + 1, area.top, left + std::min(width, text_width(note.text) + 6), area.bottom - 3,
                  window_colour());
      canvas.text(left + 4, area.top, width - 4, theme_.text, note.text);
      free_from = left + std::min(width, text_width(note.text) + 10);
    }
  }
}

bool PanelView::use_messages(const Pointer& pointer, std::uint32_t line) {
  const double reach = double{ImGui::GetTextLineHeight()} * 0.5;
  const MessageMark* const mark = find_message(state_.marks(), line, pointer.pixel, reach);
  if (mark == nullptr) {
    return false;
  }
  if (pointer.is_clicked) {
    state_.choose_message(*mark);
  }
  const std::string more = mark->count > 1 ? "\nand " + count_text(mark->count - 1) + " more close by" : "";
  show_tip(clean_text(mark->first->text, 400) + more);
  return true;
}

}  // namespace kymo::panel
