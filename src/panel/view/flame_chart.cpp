// The flame chart: draws its boxes and handles the pointer.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

/// Narrower spans are joined.
constexpr double least_box_pixels = 2;

/// The wider part of an area beside what covers it.
Area beside(const Area& area, const Area& cover) {
  const bool is_covered =
      area.top < cover.bottom && area.bottom > cover.top && area.left < cover.right && area.right > cover.left;
  if (!is_covered) {
    return area;
  }
  const float gap = ImGui::GetFontSize() / 4;
  const Area before{area.left, area.top, cover.left - gap, area.bottom};
  const Area behind{cover.right + gap, area.top, area.right, area.bottom};
  return before.width() > behind.width() ? before : behind;
}

bool is_unbalanced(const FlameBox& box) {
  return (box.flags & timeline::DetailSpan::unbalanced) != 0;
}

}  // namespace

void PanelView::draw_ruler(const Area& area, const TimeAxis& axis) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const float font = ImGui::GetFontSize();
  constexpr float gap = 3;
  const std::int64_t distance = roomy_tick_distance_ns(
      axis, double{font} * 7,
      [&](std::int64_t tick, std::int64_t step) { return double{text_width(tick_text(tick, step))} + 2 * gap; });
  const std::int64_t origin = axis.data().start_ns;
  std::int64_t tick = std::max<std::int64_t>(axis.range().start_ns - origin, 0) / distance * distance;
  for (int i = 0; i < 200 && origin + tick <= axis.range().end_ns; ++i, tick += distance) {
    const auto x = area.left + static_cast<float>(axis.to_pixel(origin + tick));
    if (x < area.left) {
      continue;
    }
    canvas.fill(x, area.top, x + 1, area.bottom, theme_.ruler);
    const std::string text = tick == 0 ? std::string("0") : tick_text(tick, distance);
    if (const float width = text_width(text); x + gap + width <= area.right) {
      canvas.text(x + gap, area.top, width + 1, theme_.faint_text, text);
    }
  }
}

void PanelView::draw_cover(const Area& area, const TimeAxis& axis, TimeRange range, ImU32 colour) {
  if (&axis == &state_.overview() && range.start_ns <= axis.range().start_ns && range.end_ns >= axis.range().end_ns) {
    return;  // fully covered, so the share carries no information
  }
  const float left = area.left + static_cast<float>(std::max(axis.to_pixel(range.start_ns), 0.0));
  const float right = area.left + static_cast<float>(std::min(axis.to_pixel(range.end_ns), axis.width()));
  if (right >= left) {
    Canvas(ImGui::GetWindowDrawList()).fill(left, area.top, std::max(right, left + 2), area.bottom, colour);
  }
}

void PanelView::draw_scroll_place(const Area& area, float scroll, float all) {
  if (all > area.height() + 1) {
    const float size = std::max(area.height() * area.height() / all, ImGui::GetTextLineHeight());
    const float top = area.top + (area.height() - size) * std::min(scroll / (all - area.height()), 1.0F);
    Canvas(ImGui::GetWindowDrawList()).fill(area.right - 4, top, area.right, top + size, theme_.ruler);
  }
}

void PanelView::draw_flame_chart() {
  const float line_height = std::floor(ImGui::GetTextLineHeight() * 1.25F);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float ruler_height = ImGui::GetTextLineHeightWithSpacing();
  const float left = at.x + gutter();
  state_.flame().set_width(std::max(double{at.x + room.x} - left, 1.0));
  draw_ruler({left, at.y, at.x + room.x, at.y + ruler_height}, state_.flame());
  draw_notes({left, at.y, at.x + room.x, at.y + ruler_height}, state_.flame());
  float chart_top = at.y + ruler_height;
  marks_.chart_frames = {};
  if (state_.stream() && room.y > ruler_height + 3 * line_height) {
    marks_.chart_frames = {left, chart_top, at.x + room.x, chart_top + ImGui::GetTextLineHeight() + 2};
    draw_chart_frames(marks_.chart_frames);
    chart_top = marks_.chart_frames.bottom + 1;
  }
  const Area area{left, chart_top, at.x + room.x, std::max(at.y + room.y, chart_top + line_height)};
  marks_.flame = area;
  marks_.titles = {at.x, area.top, left, area.bottom};
  ImGui::SetCursorScreenPos(ImVec2(area.left, area.top));
  ImGui::BeginChild("flame", ImVec2(area.width(), area.height()), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  FlameOptions options;
  options.least_pixels = least_box_pixels;
  options.first_line = static_cast<std::uint32_t>(std::max(flame_scroll_ / line_height, 0.0F));
  options.end_line = options.first_line + static_cast<std::uint32_t>(area.height() / line_height) + 2;
  const FlameLayout& layout = state_.flame_layout(options);
  if (const auto wanted = state_.take_wanted_track()) {
    for (const FlameTrack& track : layout.tracks) {
      flame_scroll_ = track.track == *wanted ? static_cast<float>(track.line) * line_height : flame_scroll_;
    }
  }
  if (tracks_layout_ != state_.layouts_made()) {
    tracks_layout_ = state_.layouts_made();
    note_tracks(layout);
  }
  draw_flame_rows(area, flame_scroll_, layout, line_height);
  if (layout.tracks.empty() && lane_lines() == 0 && !state_.data().is_busy()) {
    draw_hint(area, state_.tracks().order().hidden() != 0
                        ? "all tracks are hidden: H shows them"
                        : "no scopes: put KYMO_FUNCTION() or KYMO_SCOPE(\"name\") into the code");
  }
  use_flame_pointer(area, layout, line_height);
  const float all = static_cast<float>(layout.lines + lane_lines()) * line_height;
  flame_scroll_ = std::clamp(flame_scroll_, 0.0F, std::max(all - area.height() + line_height, 0.0F));
  draw_scroll_place(area, flame_scroll_, all > area.height() ? all + line_height : 0);
  ImGui::EndChild();
  draw_track_titles(marks_.titles, layout, line_height);
}

void PanelView::note_tracks(const FlameLayout& layout) {
  const BlockProvider& provider = state_.data().provider();
  shown_tracks_.clear();
  for (const FlameTrack& track : layout.tracks) {
    shown_tracks_.push_back(track.track.value());
    if (provider.track(track.track).process != provider.track(layout.tracks.front().track).process) {
      names_.name_processes();
    }
  }
}

void PanelView::draw_track_titles(const Area& area, const FlameLayout& layout, float line_height) {
  ImGui::SetCursorScreenPos(ImVec2(area.left, area.top));
  ImGui::BeginChild("titles", ImVec2(area.width(), area.height()), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  ImGui::InvisibleButton("title", ImVec2(std::max(area.width(), 1.0F), std::max(area.height(), 1.0F)));
  const bool is_over = ImGui::IsItemHovered();
  const bool is_clicked = ImGui::IsItemClicked();
  const bool opens_menu = is_over && ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  const float pointer = ImGui::GetIO().MousePos.y;
  Canvas canvas(ImGui::GetWindowDrawList());
  for (const FlameTrack& track : layout.tracks) {
    const float top = area.top + static_cast<float>(track.line) * line_height - flame_scroll_;
    const float bottom = top + static_cast<float>(track.lines) * line_height;
    if (top > area.bottom || bottom < area.top) {
      continue;
    }
    // The title stays in view while any of its rows is.
    const float y = std::min(std::max(top, area.top), bottom - line_height);
    const TrackDeclaration& declared = state_.data().provider().track(track.track);
    const bool is_collapsed = state_.tracks().is_collapsed(track.track);
    canvas.fill(area.left, top, area.right, top + 1, theme_.ruler);
    const bool is_pinned = state_.tracks().order().is_pinned(track.track.value());
    canvas.text(area.left + 2, y + 1, area.width() - 8, theme_.text,
                (is_collapsed ? "+ " : "") + std::string(is_pinned ? "^ " : "") + title_of(declared));
    if (is_over && pointer >= top && pointer < bottom) {
      hovered_row_ = RowPlace{true, track.track.value()};
      if (is_clicked) {
        state_.tracks().toggle(track.track);
      } else if (opens_menu) {
        open_row_menu(*hovered_row_);
      }
      show_track_facts(declared, is_collapsed);
    }
  }
  Pointer over_title;
  over_title.is_over = is_over;
  over_title.is_clicked = is_clicked;
  over_title.y = pointer - area.top;
  draw_lane_titles(area, line_height, over_title);
  ImGui::EndChild();
}

void PanelView::show_track_facts(const TrackDeclaration& track, bool is_collapsed) {
  std::string text = title_of(track);
  text += track.role == TrackRole::fiber    ? "\na fiber: it moves between threads"
          : track.role == TrackRole::lock   ? "\na lock, and when it was held"
          : track.kind == TrackKind::thread ? "\na thread"
          : track.kind == TrackKind::async  ? "\na lane of async spans"
                                            : "\na queue: a GPU's, or spans that were handed in";
  text += track.os_thread_id != 0 ? ", number " + std::to_string(track.os_thread_id) : "";
  show_tip(text + (is_collapsed ? "\nclick to show all its rows" : "\nclick to show only its first row") +
           "\nright click for more");
}

void PanelView::draw_flame_rows(const Area& area, float scroll, const FlameLayout& layout, float line_height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const auto y_of = [&](std::uint32_t line) { return area.top + static_cast<float>(line) * line_height - scroll; };
  for (const FlameTrack& track : layout.tracks) {
    const float y = y_of(track.line);
    if (y > area.bottom || y + line_height < area.top) {
      continue;
    }
    canvas.fill(area.left, y, area.right, y + line_height - 1, theme_.band);
  }
  draw_states(area, line_height);
  draw_cpus(area, line_height);
  constexpr float least_line_pixels = 12;
  for (const FrameBar& bar : state_.chart_frames().bars) {
    if (bar.count == 1 && bar.right - bar.left >= least_line_pixels) {
      for (const float pixel : {bar.left, bar.right}) {
        if (pixel >= 0 && pixel <= area.width()) {
          canvas.fill(area.left + pixel, area.top, area.left + pixel + 1, area.bottom, theme_.ruler);
        }
      }
    }
  }
  marks_.measured = measured_label(area, state_.flame());
  // Boxes first: if vertices run out, names are dropped before boxes.
  draw_boxes(area, scroll, layout, line_height);
  draw_box_names(area, scroll, layout, line_height);
  draw_lit(area, layout, line_height);
  draw_marks(area, line_height);
  draw_measured(area, state_.flame());
}

void PanelView::draw_boxes(const Area& area, float scroll, const FlameLayout& layout, float line_height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const bool is_limited = is_searching() && !state_.search().empty();
  struct Marked {  // no reference to the look: it ends where there are too many names
    const FlameBox& box;
    ImU32 colour;
    bool is_unresolved;
    bool is_wait;
    float share;
  };
  std::vector<Marked> marked;
  // A box for many spans is slightly lower than one for a single span.
  const auto top_of = [&](const FlameBox& box, float y) { return box.is_one ? y : y + line_height * 0.18F; };
  const auto right_of = [&](const FlameBox& box) { return area.left + box.right - (box.right - box.left > 3 ? 1 : 0); };
  for (const FlameRow& row : layout.rows) {
    const float y = area.top + static_cast<float>(row.line) * line_height - scroll;
    marked.clear();
    Canvas::Boxes boxes = canvas.boxes(row.boxes.size());
    for (const FlameBox& box : row.boxes) {
      const NameLook& look = look_of(row.what(box));
      float share = box.is_one ? 1.0F : 0.35F + 0.6F * box.covered;
      share *= is_limited && !is_found(look) ? 0.25F : 1.0F;
      if (look.is_wait || (box.is_one && (look.is_unresolved || is_unbalanced(box)))) {
        marked.push_back({box, look.colour, look.is_unresolved, look.is_wait, share});
      }
      if (!look.is_unresolved || !box.is_one) {
        boxes.fill(area.left + box.left, top_of(box, y), right_of(box), y + line_height - 1, fade(look.colour, share));
      }
    }
    boxes.finish();
    for (const auto& [box, colour, is_unresolved, is_wait, share] : marked) {
      if (is_unresolved && box.is_one) {
        canvas.diamond(area.left + box.left, y + line_height / 2, line_height * 0.28F, fade(colour, share));
        continue;
      }
      if (is_wait) {
        const float gap = box.right - box.left > 3 ? 1.0F : 0.0F;
        canvas.stripes(area.left + std::max(box.left, 0.0F), top_of(box, y),
                       area.left + std::min(box.right, area.width()) - gap, y + line_height - 1,
                       fade(theme_.box_text, share * 0.5F));
      }
      if (is_unbalanced(box) && box.is_one && box.right - box.left > 6) {
        canvas.fill(area.left + box.right - 4, y, right_of(box), y + line_height - 1, theme_.bad);
      }
    }
  }
}

void PanelView::draw_box_names(const Area& area, float scroll, const FlameLayout& layout, float line_height) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const float pad = std::floor(line_height * 0.1F);
  const float least_width = ImGui::GetFontSize() * 1.5F;
  const bool is_limited = is_searching() && !state_.search().empty();
  const bool may_be_marked = is_limited || state_.marked_site();
  const auto& selected = state_.selected();
  for (const FlameRow& row : layout.rows) {
    const float y = area.top + static_cast<float>(row.line) * line_height - scroll;
    for (const FlameBox& box : row.boxes) {
      const float left = std::max(box.left, 0.0F);
      const float width = std::min(box.right, area.width()) - left;
      const bool is_selected = selected && box.is_one && row.track == selected->track && row.depth == selected->depth &&
                               row.named == base::is_name(selected->what) && box.start_ns == selected->start_ns;
      const bool has_name = box.is_one && width > least_width;
      if (!is_selected && !has_name && (!may_be_marked || width <= 3)) {
        continue;
      }
      const NameLook& look = look_of(row.what(box));
      const bool is_hit = is_limited && is_found(look);
      const bool has_length = box.is_one ? state_.marked_lengths().holds(length_between(box.start_ns, box.end_ns))
                                         : state_.marked_lengths() == LengthRange{};
      const bool is_marked =
          (state_.marked_site() && base::site_of(row.what(box)) == state_.marked_site() && has_length) || is_hit;
      if (is_selected || (is_marked && width > 3)) {
        canvas.outline(area.left + left, y, area.left + left + width, y + line_height - 1, theme_.chosen,
                       is_selected ? 2.0F : 1.0F);
      }
      if (has_name) {
        const Area room =
            beside({area.left + left + 3, y, area.left + left + width - 3, y + line_height}, marks_.measured);
        canvas.text(room.left, y + pad, room.width(), is_limited && !is_hit ? theme_.text : theme_.box_text, look.text);
      }
    }
  }
}

void PanelView::use_flame_pointer(const Area& area, const FlameLayout& layout, float line_height) {
  const Pointer pointer = use_pointer("spans", area, state_.flame(), state_, flame_gesture_);
  hovered_.reset();
  flame_scroll_ -= pointer.dragged_y + pointer.scrolled * line_height * 3;
  if (flame_gesture_.kind == Gesture::Kind::select) {
    const std::int64_t now_ns = state_.flame().to_time(pointer.pixel);
    draw_cover(area, state_.flame(),
               {std::min(now_ns, flame_gesture_.from_ns), std::max(now_ns, flame_gesture_.from_ns)}, theme_.selection);
  }
  if (pointer.is_doubly_clicked) {
    state_.reset_flame();
    return;
  }
  if (!pointer.is_over) {
    return;
  }
  const auto line = static_cast<std::uint32_t>(std::max((pointer.y + flame_scroll_) / line_height, 0.0F));
  for (const FlameTrack& track : layout.tracks) {
    if (line >= track.line && line < track.line + track.lines) {
      hovered_row_ = RowPlace{true, track.track.value()};
    }
  }
  if (flame_gesture_.kind == Gesture::Kind::none &&
      (use_states(pointer, line, line_height) || use_messages(pointer, line) || use_samples(pointer, line))) {
    return;
  }
  const FlameRow* row = nullptr;
  const FlameBox* box = find_box(layout, line, pointer.pixel, &row);
  if (box != nullptr && box->is_one) {
    hovered_ = SpanKey{row->track, row->what(*box), row->depth, box->start_ns, box->end_ns};
  }
  if (box == nullptr) {
    if (pointer.is_clicked) {
      state_.deselect();
    }
    return;
  }
  if (pointer.is_clicked && box->is_one) {
    state_.select(*hovered_);
  } else if (pointer.is_clicked) {
    state_.flame().show({box->start_ns, box->end_ns});  // zoom in until they are distinguishable
    state_.hold();
  }
  if (flame_gesture_.kind == Gesture::Kind::none) {
    show_box_facts(*row, *box, thread_of_fiber(layout, row->track, state_.flame().to_time(pointer.pixel)));
  }
}

std::string PanelView::thread_of_fiber(const FlameLayout& layout, TrackId fiber, std::int64_t time_ns) const {
  const BlockProvider& provider = state_.data().provider();
  const TrackDeclaration& declared = provider.track(fiber);
  if (declared.role != TrackRole::fiber) {
    return {};
  }
  for (const FlameRow& row : layout.rows) {
    const bool is_thread = !row.named && provider.track(row.track).process == declared.process;
    for (std::size_t i = 0; is_thread && i < row.boxes.size(); ++i) {
      const FlameBox& box = row.boxes[i];
      if (box.is_one && box.start_ns <= time_ns && time_ns < box.end_ns) {
        const SiteDeclaration& site = provider.site(SiteId{box.name});
        if (site.role == SiteRole::fiber_run && site.name == declared.name) {
          return title_of(provider.track(row.track));
        }
      }
    }
  }
  return {};
}

void PanelView::show_box_facts(const FlameRow& row, const FlameBox& box, const std::string& thread) {
  const std::int64_t length = length_between(box.start_ns, box.end_ns);
  std::string text = duration_text(length);
  if (look_of(row.what(box)).is_unresolved && box.is_one) {
    text = "handed in here; when it ran on the GPU is not known";
  } else if (!box.is_one) {
    text = "mostly, in " + text + " of several spans; click to come closer";
  } else if ((box.flags & timeline::DetailSpan::goes_on) != 0) {
    text = "at least " + text + ", its end is not known here";
  }
  if (is_unbalanced(box) && box.is_one) {
    text += "\ndid not close itself";
  }
  if (!row.named && box.is_one && state_.data().provider().site(SiteId{box.name}).role == SiteRole::wait) {
    text += "\n" + holder_text(state_.data().provider().site(SiteId{box.name}).function);
  }
  if (!thread.empty()) {
    text += "\nthen on " + thread;
  }
  show_tip(look_of(row.what(box)).text + "\n" + text);
}

}  // namespace kymo::panel
