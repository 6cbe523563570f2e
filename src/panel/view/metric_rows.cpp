// Metric rows: one per metric or family, on the axis of the frame bars.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

/// The meaning and origin of a metric, a line each.
std::string provenance_of(const MetricDeclaration& metric) {
  std::string text = "from " + (metric.source.empty() ? std::string("the program") : clean_text(metric.source));
  if (metric.kind != MetricKind::gauge) {
    text += "\na total that grows; shown is its growth per second";
  }
  if (metric.renewal_ns > 0) {
    text += "\na new value every " + duration_text(metric.renewal_ns);
    text += (metric.traits & MetricDeclaration::renewal_measured) != 0 ? ", as measured" : ", as the source states";
  }
  if (metric.window_ns > 0) {
    text += "\ntaken over " + duration_text(metric.window_ns);
  }
  if (metric.step > 0) {
    text += "\nin steps of " + value_text(metric.step, metric.unit);
  }
  if ((metric.traits & MetricDeclaration::estimated) != 0) {
    text += "\nestimated";
  }
  if ((metric.traits & MetricDeclaration::total) != 0) {
    text += "\ncontains other metrics of its source";
  }
  return text;
}

/// The value at a pixel.
std::string value_at(const MetricSteps& steps, double pixel, const std::string& unit) {
  const MetricStep* const found = step_at(steps, pixel);
  if (found == nullptr) {
    return {};
  }
  const MetricStep& step = *found;
  if (pixel > double{step.right} + 1) {
    return "\nhere: no sample";
  }
  if (!(step.min <= step.max)) {
    return "\nhere: could not be read";
  }
  std::string text = "\nhere: " + value_text(std::isfinite(step.last) ? step.last : step.max, unit);
  if (step.min < step.max) {
    text += ", from " + value_text(step.min, unit) + " to " + value_text(step.max, unit);
  }
  return text + (step.is_stale ? ", stale: its source had no new value" : "");
}

std::string figure_text(double value, const std::string& unit, bool is_integer) {
  return is_integer && std::abs(value) < 1e15 ? integer_text(value, unit) : value_text(value, unit);
}

}  // namespace

void PanelView::draw_metric_filter(const Area& area) {
  ImGui::SetCursorScreenPos(ImVec2(area.left, area.top));
  metric_filter_.draw(area.width() - ImGui::GetFontSize() * 0.5F);
  marks_.metric_filter = last_item();
}

void PanelView::draw_metric_rows(const Area& area) {
  const std::optional<MetricId> wanted = state_.take_wanted_metric();
  if (FamilyRow* const family = wanted ? family_of(wanted->value()) : nullptr; family != nullptr && !family->is_open) {
    toggle_family(*family);
  }
  choose_metric_rows();
  ImGui::SetCursorScreenPos(ImVec2(area.left, area.top));
  // Dear ImGui's own scroll bar would cover the ends of the plots.
  ImGui::BeginChild("metrics", ImVec2(area.width(), area.height()), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  const std::size_t changing = metric_rows_.size() - constant_rows_;
  const float fold_height = constant_rows_ == 0 ? 0 : ImGui::GetTextLineHeightWithSpacing() * 1.2F;
  if (metric_rows_.empty()) {
    draw_hint(area, metric_filter_.text()[0] != 0 ? "no metric's name has this text"
                                                  : "all metrics are hidden: H shows them");
  }
  const auto is_wanted = [&wanted](const MetricRow& row) { return wanted && row.id == wanted->value(); };
  const auto wanted_row = std::find_if(metric_rows_.begin(), metric_rows_.end(), is_wanted);
  unfolds_constants_ = unfolds_constants_ || (wanted_row != metric_rows_.end() &&
                                              static_cast<std::size_t>(wanted_row - metric_rows_.begin()) >= changing);
  const std::size_t shown = unfolds_constants_ ? metric_rows_.size() : changing;
  float all = 0;
  float pinned_height = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    metric_rows_[i].top = all + (i < changing ? 0 : fold_height);
    all += metric_rows_[i].height;
    pinned_height = state_.metric_order().is_pinned(metric_rows_[i].id) ? all : pinned_height;
  }
  const float changing_height = changing < shown ? metric_rows_[changing].top - fold_height : all;
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const Area plot{area.left + gutter(), area.top, area.right, area.bottom};
  marks_.rows = plot;
  marks_.row_titles = {area.left, area.top, plot.left, area.bottom};
  ImGui::Dummy(ImVec2(1, all + fold_height));
  const Pointer pointer = use_pointer("rows", plot, state_.overview(), state_, rows_gesture_);
  if (wanted_row != metric_rows_.end()) {
    ImGui::SetScrollY(wanted_row->top - pinned_height);
  }
  const float page = ImGui::GetTextLineHeight() * 2.3F;
  const float by = (rows_scroll_by_ - pointer.scrolled) * page - pointer.dragged_y;
  rows_scroll_by_ = 0;
  if (by != 0) {
    ImGui::SetScrollY(std::max(ImGui::GetScrollY() + by, 0.0F));
  }
  marks_.rows_scroll = ImGui::GetScrollY();
  if (pointer.is_doubly_clicked) {
    state_.reset_overview();
  }
  if (constant_rows_ != 0) {
    draw_constants({area.left, top.y + changing_height, plot.right, area.bottom}, changing);
  }
  // Pinned rows stay in view; they are drawn last, over those that are scrolled behind them.
  for (std::size_t i = shown; i-- > 0;) {
    const MetricRow& row = metric_rows_[i];
    const bool is_pinned = row.top < pinned_height;
    const float y = is_pinned ? area.top + row.top : top.y + row.top;
    if (y >= area.bottom || y + row.height <= area.top + (is_pinned ? 0 : pinned_height)) {
      continue;
    }
    if (is_pinned) {
      Canvas(ImGui::GetWindowDrawList()).fill(area.left, y, plot.right, y + row.height, window_colour());
    }
    draw_metric_row(row, {plot.left, y, plot.right, y + row.height - 3}, gutter());
    const float seen_from = is_pinned ? y : std::max(y, area.top + pinned_height);
    if (ImGui::IsWindowHovered() && rows_gesture_.kind == Gesture::Kind::none &&
        ImGui::IsMouseHoveringRect(ImVec2(area.left, seen_from), ImVec2(plot.right, y + row.height))) {
      use_metric_row(row, pointer.pixel, (ImGui::GetIO().MousePos.y - y) / (row.height - 3));
    }
  }
  draw_cover(plot, state_.overview(), state_.flame().range(), fade(theme_.selection, 0.6F));
  draw_measured(plot, state_.overview());
  draw_scroll_place(area, ImGui::GetScrollY(), all + fold_height);
  ImGui::EndChild();
}

void PanelView::use_metric_row(const MetricRow& row, double pixel, float share_down) {
  hovered_row_ = RowPlace{false, row.id};
  if (row.family != nullptr) {
    show_tip(family_text(row, pixel, share_down));
  } else {
    show_metric_facts(row, pixel);
  }
  const bool is_title = pixel < 0;
  const bool is_clicked = is_title && ImGui::IsMouseClicked(ImGuiMouseButton_Left);
  if (is_clicked && row.family != nullptr) {
    toggle_family(*row.family);
  } else if (is_clicked || (is_title && ImGui::IsMouseClicked(ImGuiMouseButton_Right))) {
    open_row_menu(*hovered_row_);
  }
}

void PanelView::draw_constants(const Area& area, std::size_t first) {
  std::string text = (unfolds_constants_ ? "- " : "+ ") + std::to_string(metric_rows_.size() - first) + " constant: ";
  constexpr std::size_t most_named = 12;
  for (std::size_t i = first; i < std::min(metric_rows_.size(), first + most_named); ++i) {
    const RowFigures figures = figures_of(metric_rows_[i]);
    text += (i == first ? "" : ", ") + metric_rows_[i].title + " " + figures.latest;
  }
  marks_.constants = {area.left, area.top, area.right, area.top + ImGui::GetTextLineHeightWithSpacing() * 1.2F};
  Canvas(ImGui::GetWindowDrawList()).text(area.left, area.top, area.width(), theme_.faint_text, text);
  if (ImGui::IsWindowHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Left) &&
      ImGui::GetIO().MouseDragMaxDistanceSqr[0] < 9 &&
      ImGui::IsMouseHoveringRect(ImVec2(marks_.constants.left, marks_.constants.top),
                                 ImVec2(marks_.constants.right, marks_.constants.bottom))) {
    unfolds_constants_ = !unfolds_constants_;
  }
}

PanelView::RowFigures PanelView::figures_of(const MetricRow& row) const {
  RowFigures figures;
  figures.title = (state_.metric_order().is_pinned(row.id) ? "^ " : "") + row.title;
  const MetricSteps* const steps = row.family != nullptr ? row.family->members.front() : row.steps;
  figures.unit = row.declared != nullptr ? unit_of(*row.declared, *steps) : std::string();
  figures.is_integer = row.declared != nullptr && row.declared->step == 1 && !steps->is_rate;
  if (row.family != nullptr) {
    const MetricHeat& heat = row.family->heat;
    figures.title = (row.family->is_open ? "- " : "+ ") + figures.title;
    figures.has_range = heat.has_values && heat.min < heat.max;
    figures.min = heat.min;
    figures.max = heat.max;
    figures.latest =
        !heat.has_values ? "no values" : (figures.has_range ? "mean " : "") + value_text(heat.mean, figures.unit);
    return figures;
  }
  figures.has_range = steps->has_values && steps->min < steps->max;
  figures.min = steps->min;
  figures.max = steps->max;
  figures.latest = steps->has_values ? figure_text(steps->latest, figures.unit, figures.is_integer) : "no values";
  return figures;
}

void PanelView::draw_metric_title(const RowFigures& figures, const Area& area) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const auto text_of = [&figures](double value) { return figure_text(value, figures.unit, figures.is_integer); };
  const float line = ImGui::GetTextLineHeight();
  const bool has_room = area.height() > 1.9F * line;
  const float room = area.width() - 6;
  // Numbers stand at the right, beside the plot. A part of a number would be another one: without room there is none.
  const auto put_right = [&](const std::string& text, float top, float least_beside) {
    const float width = text_width(text) + 1;
    if (width + least_beside > room) {
      return 0.0F;
    }
    canvas.text(area.left + room - width, top, width, theme_.faint_text, text);
    return width + line * 0.4F;
  };
  const float least_name = room * 0.4F;
  if (!has_room) {
    const float taken = put_right(figures.latest, area.top, least_name);
    canvas.text(area.left, area.top, room - taken, theme_.text, figures.title);
    return;
  }
  float taken = 0;
  if (figures.has_range) {
    taken = put_right(text_of(figures.max), area.top - 1, least_name);
    // The lower end may stand on the line of the latest value.
    const bool is_beside = area.bottom - line < area.top + 1.9F * line;
    static_cast<void>(put_right(text_of(figures.min), area.bottom - line,
                                is_beside ? text_width(figures.latest) + 1 + line * 0.4F : 0.0F));
    canvas.fill(area.right - 4, area.top, area.right, area.top + 1, theme_.ruler);
    canvas.fill(area.right - 4, area.bottom - 1, area.right, area.bottom, theme_.ruler);
  }
  canvas.text(area.left, area.top - 1, room - taken, theme_.text, figures.title);
  canvas.text(area.left, area.top - 1 + line, room, theme_.text, figures.latest);
}

void PanelView::draw_metric_row(const MetricRow& row, const Area& area, float gutter_width) {
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(area.left, area.top, area.right, area.bottom, theme_.back);
  if (row.family != nullptr) {
    draw_family_row(row, area);
  }
  draw_metric_title(figures_of(row), {area.left - gutter_width, area.top, area.left, area.bottom});
  if (row.family != nullptr || !row.steps->has_values) {
    return;
  }
  const MetricSteps& metric = *row.steps;
  const auto y_of = [&](double value) {
    const auto share = metric.min < metric.max ? share_between(metric.min, metric.max, value) : 0.0;
    return area.bottom - 2 - static_cast<float>(share) * (area.height() - 4);
  };
  const float unit = std::max(std::floor(ImGui::GetFontSize() / 13), 1.0F);  // lines are thicker on dense screens
  float before = 0;
  bool has_before = false;
  for (std::size_t i = 0; i < metric.steps.size(); ++i) {
    const MetricStep& step = metric.steps[i];
    if (!(step.min <= step.max)) {
      has_before = false;
      continue;
    }
    const float left = area.left + std::max(step.left, 0.0F);
    const float right = std::min(area.left + std::max(step.right, step.left + 1), area.right);
    float top = y_of(step.max);
    float bottom = y_of(step.min);
    const float last = y_of(std::isfinite(step.last) ? step.last : step.max);
    if (has_before) {
      top = std::min(top, before);
      bottom = std::max(bottom, before);
    }
    if (bottom - top > 1.5F) {
      canvas.fill(left, top, left + 1.5F * unit, bottom + 1, step.is_stale ? theme_.stale : theme_.metric);
    }
    // Stale stretches are thin and dashed in any colour.
    const float thickness = step.is_stale ? unit : 2 * unit;
    const float end = step.is_stale ? left + (right - left) * 0.6F : right;
    canvas.fill(left, last - thickness / 2, std::max(end, left + 1), last + thickness / 2,
                step.is_stale ? theme_.stale : theme_.metric);
    before = last;
    has_before = i + 1 < metric.steps.size() && metric.steps[i + 1].left <= step.right + 0.5F;
  }
}

void PanelView::show_metric_facts(const MetricRow& row, double pixel) {
  if (row.declared == nullptr) {
    return;
  }
  const std::string unit = unit_of(*row.declared, *row.steps);
  std::string text = row.title + (unit.empty() ? "" : " in " + clean_text(unit, 16));
  text += pixel >= 0 ? value_at(*row.steps, pixel, unit) : "";
  show_tip(text + "\n" + provenance_of(*row.declared) +
           (pixel < 0 ? "\nclick for what can be done with this row" : ""));
}

}  // namespace kymo::panel
