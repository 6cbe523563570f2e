// Metric rows: one per metric, on the axis of the frame bars.
#include <algorithm>
#include <cmath>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

std::string metric_title(const MetricDeclaration& metric) {
  std::string title = metric.name;
  for (const auto& [key, value] : metric.labels) {
    title += ' ' + value;
  }
  return clean_text(title, 60);
}

/// The meaning and origin of a metric, a line each.
std::string provenance_of(const MetricDeclaration& metric) {
  std::string text = "from " + (metric.source.empty() ? std::string("the program") : clean_text(metric.source));
  if (metric.kind != MetricKind::gauge) {
    text += "\na total that grows";
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
  const auto after = std::upper_bound(steps.steps.begin(), steps.steps.end(), pixel,
                                      [](double x, const MetricStep& step) { return x < double{step.left}; });
  if (after == steps.steps.begin()) {
    return {};
  }
  const MetricStep& step = *std::prev(after);
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

}  // namespace

void PanelView::draw_metric_rows(const Area& area) {
  const float row_height = ImGui::GetTextLineHeight() * 2.2F;
  ImGui::SetCursorScreenPos(ImVec2(area.left, area.top));
  ImGui::BeginChild("metrics", ImVec2(area.width(), area.height()), false, ImGuiWindowFlags_NoScrollWithMouse);
  const auto& metrics = state_.metrics(least_bar_pixels);
  const float all = row_height * static_cast<float>(metrics.size());
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const Area plot{area.left + gutter(), area.top, area.right, area.bottom};
  marks_.rows = plot;
  ImGui::Dummy(ImVec2(1, all));
  const Pointer pointer = use_pointer("rows", plot, state_.overview(), state_, rows_gesture_);
  const float by = rows_scroll_by_ * row_height - pointer.dragged_y - pointer.scrolled * row_height;
  rows_scroll_by_ = 0;
  if (by != 0) {
    ImGui::SetScrollY(std::max(ImGui::GetScrollY() + by, 0.0F));
  }
  marks_.rows_scroll = ImGui::GetScrollY();
  if (pointer.is_doubly_clicked) {
    state_.reset_overview();
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const float y = top.y + static_cast<float>(i) * row_height;
    if (y < area.bottom && y + row_height > area.top) {
      draw_metric_row(metrics[i], {plot.left, y, plot.right, y + row_height - 3}, gutter());
      if (ImGui::IsMouseHoveringRect(ImVec2(area.left, y), ImVec2(plot.right, y + row_height)) &&
          ImGui::IsWindowHovered() && rows_gesture_.kind == Gesture::Kind::none) {
        show_metric_facts(metrics[i], pointer.pixel);
      }
    }
  }
  draw_cover(plot, state_.overview(), state_.flame().range(), fade(theme_.selection, 0.6F));
  draw_measured(plot, state_.overview());
  ImGui::EndChild();
}

void PanelView::draw_metric_row(const MetricSteps& metric, const Area& area, float gutter_width) {
  Canvas canvas(ImGui::GetWindowDrawList());
  const MetricDeclaration* declared = find_metric(state_.data().provider().declarations(), metric.metric);
  const std::string unit = declared != nullptr ? declared->unit : std::string();
  const float line = ImGui::GetTextLineHeight();
  const float label = area.left - gutter_width;
  canvas.text(label, area.top, gutter_width - 4, theme_.text,
              declared != nullptr ? metric_title(*declared) : "(undeclared)");
  const bool is_integer = declared != nullptr && declared->step == 1;
  const auto text_of = [is_integer](double value, const std::string& of_unit) {
    return is_integer && std::abs(value) < 1e15 ? integer_text(value, of_unit) : value_text(value, of_unit);
  };
  // If the unit takes a prefix, each number has its own.
  const std::string of_range = is_integer || value_text(1e6, unit) == value_text(1e6, "") + ' ' + unit ? "" : unit;
  const std::string values = !metric.has_values ? "no values"
                                                : text_of(metric.latest, unit) + "  [" + text_of(metric.min, of_range) +
                                                      ", " + text_of(metric.max, of_range) + "]";
  canvas.text(label, area.top + line, gutter_width - 4, theme_.faint_text, values);
  canvas.fill(area.left, area.top, area.right, area.bottom, theme_.back);
  if (!metric.has_values) {
    return;
  }
  const double low = metric.min;
  const double height = metric.max - low > 0 ? metric.max - low : 1;
  const auto y_of = [&](double value) {
    const double share = std::clamp((value - low) / height, 0.0, 1.0);
    return area.bottom - 2 - static_cast<float>(share) * (area.height() - 4);
  };
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
      canvas.fill(left, top, left + 1.5F, bottom + 1, step.is_stale ? theme_.stale : theme_.metric);
    }
    // Stale stretches are thin and dashed in any colour.
    const float thickness = step.is_stale ? 1.0F : 2.0F;
    const float end = step.is_stale ? left + (right - left) * 0.6F : right;
    canvas.fill(left, last - thickness / 2, std::max(end, left + 1), last + thickness / 2,
                step.is_stale ? theme_.stale : theme_.metric);
    before = last;
    has_before = i + 1 < metric.steps.size() && metric.steps[i + 1].left <= step.right + 0.5F;
  }
}

void PanelView::show_metric_facts(const MetricSteps& steps, double pixel) {
  const MetricDeclaration* const metric = find_metric(state_.data().provider().declarations(), steps.metric);
  if (metric == nullptr) {
    return;
  }
  std::string text = metric_title(*metric) + (metric->unit.empty() ? "" : " in " + clean_text(metric->unit, 16));
  text += pixel >= 0 ? value_at(steps, pixel, metric->unit) : "";
  show_tip(text + "\n" + provenance_of(*metric));
}

}  // namespace kymo::panel
