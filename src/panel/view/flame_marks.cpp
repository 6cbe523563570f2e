// Marks at points in time: messages, flows, sync points, samples of stacks, and the measured range.
#include <algorithm>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::panel {

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
  draw_samples(area, line_height);
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

void PanelView::draw_samples(const Area& area, float line_height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const stats::StackTree tree(state_.data().provider().declarations());
  const auto& marked = state_.marked_functions();
  const auto is_marked = [&](const StackSample& sample) {
    std::uint32_t at = marked.empty() ? 0 : tree.index_of(sample.stack);
    while (at != 0 && marked.count(tree.function_of(at)) == 0) {
      at = tree.caller_of(at);
    }
    return at != 0;
  };
  for (const SampleMark& mark : state_.marks().samples) {
    const float bottom = area.top + static_cast<float>(mark.line + 1) * line_height - flame_scroll_ - 1;
    if (bottom < area.top || bottom - line_height > area.bottom) {
      continue;
    }
    const float pixel = area.left + mark.pixel;
    const bool is_lit = is_marked(*mark.first);
    const ImU32 colour = is_lit ? theme_.chosen : theme_.faint_text;
    // A moment on the CPU stands upright, a wait lies.
    if (mark.first->is_wait()) {
      canvas.fill(area.left + std::max(mark.from, 0.0F), bottom - (is_lit ? 3.0F : 2.0F), std::min(pixel, area.right),
                  bottom, colour);
    } else if (pixel >= area.left && pixel <= area.right) {
      canvas.fill(pixel, bottom - line_height * (is_lit ? 0.7F : 0.4F), pixel + 1, bottom, colour);
    }
  }
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

Area PanelView::measured_label(const Area& area, const TimeAxis& axis) const {
  const auto& measured = state_.measured();
  if (!measured || axis.to_pixel(measured->end_ns) < 0 || axis.to_pixel(measured->start_ns) > axis.width()) {
    return {};
  }
  const auto left = static_cast<float>(std::clamp(axis.to_pixel(measured->start_ns), 0.0, axis.width()));
  const std::string text = duration_text(length_between(measured->start_ns, measured->end_ns));
  const float width = text_width(text) + 1;
  const float top = area.top + 2;
  return {area.left + left + 4, top, std::min(area.left + left + 4 + width, area.right),
          top + ImGui::GetTextLineHeight()};
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
  const Area label = measured_label(area, axis);
  canvas.text(label.left, label.top, label.width(), theme_.text,
              duration_text(length_between(measured->start_ns, measured->end_ns)));
}

void PanelView::draw_lit_bars(const Area& area) {
  Canvas canvas(ImGui::GetWindowDrawList());
  for (const Instance& one : state_.lit()) {
    const auto left = static_cast<float>(state_.overview().to_pixel(one.start_ns));
    const auto right = static_cast<float>(state_.overview().to_pixel(one.end_ns()));
    if (right >= 0 && left <= area.width()) {
      const float from = area.left + std::max(left, 0.0F);
      canvas.fill(from, area.bottom - 4, std::clamp(area.left + right, from + 2, area.right), area.bottom,
                  theme_.chosen);
    }
  }
}

void PanelView::draw_lit(const Area& area, const FlameLayout& layout, float line_height) {
  for (const FlameTrack& track : layout.tracks) {
    const float top = area.top + static_cast<float>(track.line) * line_height - flame_scroll_;
    const Area rows{area.left, top, area.right, top + static_cast<float>(track.lines) * line_height};
    for (const Instance& one : state_.lit()) {
      const auto left = static_cast<float>(state_.flame().to_pixel(one.start_ns));
      const auto right = static_cast<float>(state_.flame().to_pixel(one.end_ns()));
      if (one.track == track.track && right >= 0 && left <= area.width()) {
        Canvas canvas(ImGui::GetWindowDrawList());
        const float from = area.left + std::max(left, 0.0F);
        const float to = std::clamp(area.left + right, from + 2, area.right);
        canvas.fill(from, rows.top, to, rows.bottom, theme_.selection);
        canvas.outline(from, rows.top, to, rows.bottom, theme_.chosen, 1);
      }
    }
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

bool PanelView::use_samples(const Pointer& pointer, std::uint32_t line) {
  constexpr double reach = 3;
  constexpr std::size_t most_functions = 24;
  const SampleMark* const mark = find_sample(state_.marks(), line, pointer.pixel, reach);
  if (mark == nullptr) {
    return false;
  }
  const stats::StackTree tree(state_.data().provider().declarations());
  std::string text =
      mark->first->is_wait() ? "waited " + duration_text(mark->first->blocked_ns) + " in" : "on the CPU in";
  std::size_t functions = 0;
  std::uint32_t at = tree.index_of(mark->first->stack);
  text += at == 0 ? "\n[unknown]" : "";
  for (; at != 0; at = tree.caller_of(at)) {
    if (functions++ < most_functions) {
      const std::string place = clean_text(tree.place_of(at));
      text += "\n" + clean_text(tree.name_of(tree.function_of(at)), 120) + (place.empty() ? "" : "  " + place);
    }
  }
  text += functions > most_functions ? "\nand " + count_text(functions - most_functions) + " callers" : "";
  text += mark->count > 1 ? "\nand " + count_text(mark->count - 1) + " more samples close by" : "";
  show_tip(text);
  return true;
}

}  // namespace kymo::panel
