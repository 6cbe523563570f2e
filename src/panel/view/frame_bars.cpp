// Frame bars, and the area that they share with metric rows.
#include <algorithm>
#include <cmath>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

void PanelView::draw_overview(float height) {
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  const bool has_rows = !state_.metrics(least_bar_pixels).empty();
  const float bars_height = has_rows ? std::min(line * 4, height / 2) : height - line;
  state_.overview().set_width(double{right} - at.x - gutter());
  const Area ruler{at.x + gutter(), at.y, right, at.y + line};
  draw_ruler(ruler, state_.overview());
  draw_bars({at.x, at.y + line, right, at.y + line + bars_height});
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + line + bars_height));
  if (has_rows) {
    const float field = ImGui::GetFrameHeight();
    if (bars_height > 3 * ImGui::GetTextLineHeight() + field) {
      draw_metric_filter({at.x, at.y + line + bars_height - field - 2, at.x + gutter(), at.y + line + bars_height});
    }
    draw_metric_rows({at.x, at.y + line + bars_height, right, at.y + height});
  } else {
    marks_.rows = {};
  }
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + height));
}

float PanelView::draw_threshold(const Area& area, double ms, double longest_ms, float labels_from) {
  const float y = area.bottom - static_cast<float>(ms / longest_ms) * area.height();
  if (!(ms > 0 && y > area.top && y < area.bottom)) {
    return labels_from;
  }
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(area.left, y, area.right, y + 1, theme_.ruler);
  const float line = ImGui::GetTextLineHeight();
  if (y - line < labels_from) {
    return labels_from;
  }
  const std::string text = value_text(ms, "ms");
  const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x + 3;
  canvas.text(area.right - width, y - line, width, theme_.faint_text, text);
  return y;
}

void PanelView::draw_bars(const Area& area) {
  const Area plot{area.left + gutter(), area.top, area.right, area.bottom - 2};
  marks_.bars = plot;
  const Pointer pointer = use_pointer("bars", plot, state_.overview(), state_, bars_gesture_);
  const FrameBars& bars = state_.frame_bars(least_bar_pixels);
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(plot.left, plot.top, plot.right, plot.bottom, theme_.back);
  // The scale ends slightly above the longest frame, but at most at four times the second threshold.
  const double longest_ms =
      std::max(std::min(static_cast<double>(bars.longest_ns) / 1e6, options_.targets.slow_ms * 4), 1e-6) * 1.08;
  for (const FrameBar& bar : bars.bars) {
    const double ms = static_cast<double>(bar.longest.frame.duration_ns) / 1e6;
    const bool is_bad = ms > options_.targets.slow_ms;
    const ImU32 colour = is_bad ? theme_.bad : ms > options_.targets.good_ms ? theme_.slow : theme_.good;
    const auto share = static_cast<float>(std::min(ms / longest_ms, 1.0));
    const float left = plot.left + std::max(bar.left, 0.0F);
    const float gap = bar.right - bar.left > 4 ? 1.0F : 0.0F;
    const float right = std::min(plot.left + std::max(bar.right - gap, bar.left + 1), plot.right);
    const float top = plot.bottom - std::max(share * plot.height(), 1.0F);
    canvas.fill(left, top, right, plot.bottom, colour);
    if (!(state_.marked_frames() == LengthRange{}) && state_.marked_frames().holds(bar.longest.frame.duration_ns)) {
      canvas.outline(left, plot.top, std::max(right, left + 2), plot.bottom, theme_.chosen, 1);
    }
    if (is_bad) {
      canvas.fill(left, plot.top, right, plot.top + 3, theme_.chosen);  // a cap marks it independently of colour
    }
  }
  const float labels_from = draw_threshold(plot, options_.targets.slow_ms, longest_ms, plot.top);
  static_cast<void>(draw_threshold(plot, options_.targets.good_ms, longest_ms, labels_from));
  const float line = ImGui::GetTextLineHeight();
  const std::string longest = "longest " + duration_text(bars.longest_ns);
  canvas.text(area.left, area.top, gutter() - 4, theme_.text, "frames");
  canvas.text(area.left, area.top + line, gutter() - 4, theme_.faint_text, longest);
  if (bars.latest) {
    canvas.text(area.left, area.top + 2 * line, gutter() - 4, theme_.faint_text,
                "latest " + duration_text(bars.latest->duration_ns));
  }
  if (bars.count == 0 && !state_.data().is_busy()) {
    draw_hint(plot, state_.data().provider().declarations().frame_streams.empty()
                        ? "no frames: mark them in the main loop with kymo::frame_mark()"
                        : "no frames here: 0 shows everything");
  }
  draw_cover(plot, state_.overview(), state_.flame().range(), theme_.selection);
  draw_sync_points(plot, state_.overview_sync_points());
  draw_measured(plot, state_.overview());
  if (const auto& pinned = state_.pinned()) {
    const auto left = static_cast<float>(std::max(state_.overview().to_pixel(pinned->start_ns), 0.0));
    const auto right =
        static_cast<float>(state_.overview().to_pixel(add_length(pinned->start_ns, pinned->duration_ns)));
    if (right >= 0 && left <= plot.width()) {
      canvas.outline(plot.left + left, plot.top, std::min(plot.left + std::max(right, left + 3), plot.right),
                     plot.bottom, theme_.chosen, 1);
    }
  }
  if (const FrameBar* bar = pointer.is_over ? find_bar(bars, pointer.pixel) : nullptr; bar != nullptr) {
    if (pointer.is_clicked) {
      state_.pin_bar(*bar);
    }
    const std::string text = bar->count == 1 ? "frame of " + duration_text(bar->longest.frame.duration_ns)
                                             : count_text(bar->count) + " frames, the longest " +
                                                   duration_text(bar->longest.frame.duration_ns);
    const char* const judged =
        bar->longest.frame.duration_ns <= static_cast<std::int64_t>(options_.targets.good_ms * 1e6)   ? ", good"
        : bar->longest.frame.duration_ns <= static_cast<std::int64_t>(options_.targets.slow_ms * 1e6) ? ", slow"
                                                                                                      : ", bad";
    show_tip(text + judged);
  }
  if (pointer.is_doubly_clicked) {
    state_.reset_overview();
  }
}

}  // namespace kymo::panel
