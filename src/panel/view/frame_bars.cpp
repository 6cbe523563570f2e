// Frame bars, and the area that they share with metric rows.
#include <algorithm>
#include <optional>
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
    if (bars_height > 3 * ImGui::GetTextLineHeight() + field + 4) {
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
  const float width = text_width(text) + 3;
  canvas.text(area.right - width, y - line, width, theme_.faint_text, text);
  return y;
}

ImU32 PanelView::colour_of(const Frame& frame) const {
  const double ms = static_cast<double>(frame.duration_ns) / 1e6;
  return ms > options_.targets.slow_ms ? theme_.bad : ms > options_.targets.good_ms ? theme_.slow : theme_.good;
}

std::string PanelView::frame_text(const Frame& frame, Asker asker) {
  const auto number = state_.frame_number(frame, asker);
  return (number ? "frame " + count_text(*number) + ", " : "frame of ") + duration_text(frame.duration_ns);
}

std::string PanelView::bar_text(const FrameBar& bar) {
  const Frame& longest = bar.longest.frame;
  const ImU32 colour = colour_of(longest);
  return (bar.count == 1 && bar.longest.is_known
              ? frame_text(longest, Asker::tip_number)
              : count_text(bar.count) + " frames, the longest " + duration_text(longest.duration_ns)) +
         (colour == theme_.good   ? ", good"
          : colour == theme_.slow ? ", slow"
                                  : ", bad");
}

void PanelView::draw_chart_frames(const Area& area) {
  const Pointer pointer = use_pointer("frames", area, state_.flame(), state_, chart_frames_gesture_);
  const FrameBars& frames = state_.chart_frames();
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(area.left, area.top, area.right, area.bottom, theme_.back);
  std::optional<FrameNumber> number;  // of the next frame
  bool is_counted = false;
  float end = 0;
  for (const FrameBar& bar : frames.bars) {
    const bool is_one = bar.count == 1 && bar.longest.is_known;
    const float left = area.left + std::max(bar.left, 0.0F);
    const float right = area.left + std::min(bar.right, area.width());
    const float gap = bar.right - bar.left > 3 ? 1.0F : 0.0F;
    if (is_one && !is_counted) {
      number = state_.frame_number(bar.longest.frame, Asker::chart_number);
      is_counted = true;
    } else if (number && bar.left > end + 1.5F) {
      number.reset();  // what lies between is not known
    }
    end = bar.right;
    canvas.fill(left, area.top, right - gap, area.bottom, theme_.band);
    canvas.fill(left, area.bottom - 3, right - gap, area.bottom, colour_of(bar.longest.frame));
    if (is_one && number) {
      const std::string shortest = count_text(*number);
      const std::string longest = "frame " + shortest + "   " + duration_text(bar.longest.frame.duration_ns);
      const float room = right - left - 8;
      for (const std::string& text : {longest, shortest}) {
        if (text_width(text) <= room) {
          canvas.text(left + 4, area.top - 1, room + 4, theme_.text, text);
          break;
        }
      }
    }
    number = number ? std::optional(*number + bar.count) : std::nullopt;
  }
  if (const FrameBar* bar = pointer.is_over ? find_bar(frames, pointer.pixel) : nullptr; bar != nullptr) {
    if (pointer.is_clicked) {
      state_.pin_bar(*bar);
    }
    show_tip(bar_text(*bar));
  }
  if (pointer.is_doubly_clicked) {
    state_.reset_flame();
  }
}

void PanelView::draw_bars(const Area& area) {
  const Area plot{area.left + gutter(), area.top, area.right, area.bottom - 2};
  marks_.bars = plot;
  const Pointer pointer = use_pointer("bars", plot, state_.overview(), state_, bars_gesture_);
  const FrameBars& bars = state_.frame_bars(least_bar_pixels);
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(plot.left, plot.top, plot.right, plot.bottom, theme_.back);
  // The scale ends slightly above the longest frame, but at most at four times the second threshold.
  const auto longest_ns = static_cast<double>(std::max(bars.longest_ns, shared_longest_ns_));
  const double longest_ms = std::max(std::min(longest_ns / 1e6, options_.targets.slow_ms * 4), 1e-6) * 1.08;
  marks_.bars_ms = longest_ms;
  for (const FrameBar& bar : bars.bars) {
    const double ms = static_cast<double>(bar.longest.frame.duration_ns) / 1e6;
    const bool is_bad = ms > options_.targets.slow_ms;
    const ImU32 colour = colour_of(bar.longest.frame);
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
    if (ms > longest_ms) {
      canvas.fill(left, plot.top + 6, right, plot.top + 9, theme_.back);  // it is higher than there is room for
    }
  }
  const float labels_from = draw_threshold(plot, options_.targets.slow_ms, longest_ms, plot.top);
  static_cast<void>(draw_threshold(plot, options_.targets.good_ms, longest_ms, labels_from));
  const float line = ImGui::GetTextLineHeight();
  canvas.text(area.left, area.top, gutter() - 4, theme_.text, stream_text());
  if (bars.count != 0 && area.height() >= 2 * line) {
    canvas.text(area.left, area.top + line, gutter() - 4, theme_.faint_text,
                "longest " + duration_text(bars.longest_ns));
  }
  if (bars.latest && area.height() >= 3 * line) {
    canvas.text(area.left, area.top + 2 * line, gutter() - 4, theme_.faint_text,
                "latest " + duration_text(bars.latest->duration_ns));
  }
  if (bars.count == 0 && !state_.data().is_busy()) {
    const Declarations& declared = state_.data().provider().declarations();
    // A program that was only watched may not be the user's to change.
    const bool is_watched = declared.sites.empty() && !declared.threads.empty();
    draw_hint(plot, !declared.frame_streams.empty() ? "no frames here: 0 shows everything"
                    : is_watched                    ? "no frames"
                                                    : "no frames: mark them in the main loop with kymo::frame_mark()");
  }
  draw_cover(plot, state_.overview(), state_.flame().range(), theme_.selection);
  draw_sync_points(plot, state_.overview_sync_points());
  draw_measured(plot, state_.overview());
  draw_lit_bars(plot);
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
    show_tip(bar_text(*bar));
  }
  if (pointer.is_doubly_clicked) {
    state_.reset_overview();
  }
}

}  // namespace kymo::panel
