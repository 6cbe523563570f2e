// Which metrics have rows, and families of metrics that share one: the loads of all cores as lanes below each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

/// The places of neighbouring rows differ by this; between them is room for the members of a family.
constexpr std::uint64_t place_step = 1U << 12U;

/// The height of a metric's row in lines of text, by its steps.
float lines_of(int height) {
  constexpr std::array<float, RowOrder::most_steps + 2> lines = {1.25F, 2.3F, 4, 7, 11};
  const int place = std::clamp(height, -1, RowOrder::most_steps) + 1;
  return lines[static_cast<std::size_t>(place)];
}

/// "core 17".
std::string member_text(const MetricDeclaration& metric) {
  return metric.labels.empty() ? clean_text(metric.name)
                               : clean_text(metric.labels.front().first + ' ' + metric.labels.front().second, 40);
}

}  // namespace

PanelView::FamilyRow* PanelView::family_of(std::uint32_t row) {
  const auto place = family_places_.find(row & ~family_bit);
  return place != family_places_.end() ? &families_[place->second.first] : nullptr;
}

void PanelView::toggle_family(FamilyRow& family) {
  family.is_open = !family.is_open;
  ++families_toggled_;
}

std::string PanelView::title_of_row(std::uint32_t row) {
  if (const FamilyRow* const family = family_of(row); family != nullptr && (row & family_bit) != 0) {
    return family->title;
  }
  const MetricDeclaration* const metric = find_metric(state_.data().provider().declarations(), MetricId{row});
  return metric != nullptr ? metric_title(*metric) : std::string();
}

void PanelView::find_families() {
  const Declarations& declarations = state_.data().provider().declarations();
  if (families_declared_ != declarations.metrics.size()) {
    families_declared_ = declarations.metrics.size();
    const std::vector<FamilyRow> before = std::exchange(families_, {});
    for (timeline::MetricFamily& family : timeline::metric_families(declarations.metrics)) {
      const std::uint32_t id = row_of(family);
      const bool is_open = std::any_of(before.begin(), before.end(), [id](const FamilyRow& known) {
        return row_of(known.family) == id && known.is_open;
      });
      families_.push_back({std::move(family), {}, {}, is_open, {}, {}});
      families_.back().title = clean_text(timeline::title_of(families_.back().family), 60);
    }
    family_places_.clear();
    for (std::size_t i = 0; i < families_.size(); ++i) {
      const std::vector<MetricId>& members = families_[i].family.members;
      for (std::size_t place = 0; place < members.size(); ++place) {
        family_places_[members[place].value()] = {i, place};
      }
    }
  }
  for (FamilyRow& family : families_) {
    family.members.assign(family.family.members.size(), nullptr);
  }
  for (const MetricSteps& steps : state_.metrics(least_bar_pixels)) {
    if (const auto place = family_places_.find(steps.metric.value()); place != family_places_.end()) {
      families_[place->second.first].members[place->second.second] = &steps;
    }
  }
  for (FamilyRow& family : families_) {
    std::erase(family.members, nullptr);
    family.heat = lay_out_heat(family.members, 1, 0, 1);
    family.heat_of = {};
  }
}

bool PanelView::is_apart(const FamilyRow& family, std::uint32_t member) const {
  const std::string_view filter = metric_filter_.text();
  return state_.metric_order().is_pinned(member) || !contains_text(family.title, filter);
}

void PanelView::add_family_rows(std::vector<MetricRow>& constant) {
  const Declarations& declarations = state_.data().provider().declarations();
  const RowOrder& order = state_.metric_order();
  const std::vector<MetricSteps>& all = state_.metrics(least_bar_pixels);
  for (FamilyRow& family : families_) {
    const std::uint32_t id = row_of(family.family);
    if (family.members.empty() || order.is_hidden(id) || !contains_text(family.title, metric_filter_.text())) {
      continue;
    }
    const auto is_still = [&declarations](const MetricSteps* member) {
      return is_constant(find_metric(declarations, member->metric), *member);
    };
    const bool is_folded = metric_filter_.text()[0] == 0 && !order.is_pinned(id) &&
                           std::all_of(family.members.begin(), family.members.end(), is_still);
    std::vector<MetricRow>& rows = is_folded ? constant : metric_rows_;
    const auto first =
        static_cast<std::uint64_t>(*std::min_element(family.members.begin(), family.members.end()) - all.data());
    MetricRow row;
    row.id = id;
    row.family = &family;
    row.declared = find_metric(declarations, family.members.front()->metric);
    row.title = family.title;
    row.height = lines_of(order.height_of(id)) * ImGui::GetTextLineHeight();
    row.place = order.place_of(id, first * place_step);
    rows.push_back(row);
    row.family = nullptr;
    for (const MetricSteps* const member : family.members) {
      const std::uint32_t own = member->metric.value();
      if (!family.is_open || order.is_hidden(own) || is_apart(family, own)) {
        continue;
      }
      ++row.within;
      row.id = own;
      row.steps = member;
      row.declared = find_metric(declarations, member->metric);
      row.title = title_of_row(own);
      row.height = lines_of(order.height_of(own)) * ImGui::GetTextLineHeight();
      rows.push_back(row);
    }
  }
}

void PanelView::add_metric_rows(std::vector<MetricRow>& constant) {
  const Declarations& declarations = state_.data().provider().declarations();
  const RowOrder& order = state_.metric_order();
  const std::string_view filter = metric_filter_.text();
  const std::vector<MetricSteps>& all = state_.metrics(least_bar_pixels);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t id = all[i].metric.value();
    const FamilyRow* const family = family_of(id);
    if (order.is_hidden(id) || (family != nullptr && !is_apart(*family, id))) {
      continue;
    }
    const MetricDeclaration* const declared = find_metric(declarations, all[i].metric);
    MetricRow row;
    row.title = declared != nullptr ? metric_title(*declared) : "(undeclared)";
    if (!contains_text(row.title, filter)) {
      continue;
    }
    row.id = id;
    row.steps = &all[i];
    row.declared = declared;
    row.height = lines_of(order.height_of(id)) * ImGui::GetTextLineHeight();
    row.place = order.place_of(id, i * place_step);
    const bool is_folded = filter.empty() && !order.is_pinned(id) && is_constant(declared, all[i]);
    (is_folded ? constant : metric_rows_).push_back(std::move(row));
  }
}

void PanelView::choose_metric_rows() {
  static_cast<void>(state_.metrics(least_bar_pixels));
  const MetricRowsKey key{state_.metrics_made(), metric_filter_.version(), state_.metric_order().version(),
                          families_toggled_, ImGui::GetFontSize()};
  if (key == metric_rows_key_) {
    return;
  }
  if (key.layout != metric_rows_key_.layout) {
    find_families();
  }
  metric_rows_key_ = key;
  metric_rows_.clear();
  std::vector<MetricRow> constant;
  add_metric_rows(constant);
  add_family_rows(constant);
  const auto by_place = [](const MetricRow& a, const MetricRow& b) {
    return a.place != b.place ? a.place < b.place : a.within < b.within;
  };
  std::sort(metric_rows_.begin(), metric_rows_.end(), by_place);
  std::sort(constant.begin(), constant.end(), by_place);
  constant_rows_ = constant.size();
  std::move(constant.begin(), constant.end(), std::back_inserter(metric_rows_));
  shown_metrics_.clear();
  for (const MetricRow& row : metric_rows_) {
    shown_metrics_.push_back(row.id);
  }
}

void PanelView::draw_family_row(const MetricRow& row, const Area& area) {
  constexpr float least_lane = 2;
  constexpr float column = 4;
  FamilyRow& family = *row.family;
  const float unit = std::max(std::floor(ImGui::GetFontSize() / 13), 1.0F);
  const auto most_lanes = static_cast<std::size_t>(std::max(area.height() / (least_lane * unit), 1.0F));
  const std::array<std::uint64_t, 2> now = {state_.metrics_made(), most_lanes};
  if (family.heat_of != now) {
    family.heat_of = now;
    family.heat = lay_out_heat(family.members, most_lanes, double{area.width()}, double{column * unit});
  }
  Canvas canvas(ImGui::GetWindowDrawList());
  const float lane = area.height() / static_cast<float>(family.heat.lanes);
  // Lanes begin and end at whole pixels: without that, some would be brighter than others.
  const auto y_of = [&](std::uint32_t number) { return std::round(area.top + static_cast<float>(number) * lane); };
  constexpr float least_share = 0.1F;  // what is lowest still differs from what has no sample
  for (const HeatCell& cell : family.heat.cells) {
    const ImU32 colour =
        fade(cell.is_stale ? theme_.stale : theme_.metric, least_share + cell.share * (1 - least_share));
    canvas.fill(area.left + cell.left, y_of(cell.lane), std::min(area.left + cell.right, area.right),
                y_of(cell.lane + 1), colour);
  }
}

std::string PanelView::family_text(const MetricRow& row, double pixel, float share_down) {
  const FamilyRow& family = *row.family;
  const Declarations& declarations = state_.data().provider().declarations();
  const std::string unit = row.declared != nullptr ? unit_of(*row.declared, *family.members.front()) : std::string();
  std::string text = family.title + (unit.empty() ? "" : " in " + clean_text(unit, 16));
  if (pixel < 0) {
    return text +
           "\nbright where a value is high; click: " + (family.is_open ? "all in one row again" : "a row for each") +
           "; right click: what can be done with it";
  }
  const auto lane =
      static_cast<std::size_t>(std::clamp(share_down, 0.0F, 0.999F) * static_cast<float>(family.heat.lanes));
  const LaneMembers inside = members_of_lane(lane, family.heat.lanes, family.members.size());
  constexpr std::size_t most_named = 8;
  for (std::size_t i = inside.first; i < std::min(inside.end, inside.first + most_named); ++i) {
    const MetricSteps& member = *family.members[i];
    const MetricDeclaration* const declared = find_metric(declarations, member.metric);
    const MetricStep* const step = step_at(member, pixel);
    const bool has_value = step != nullptr && pixel <= double{step->right} + 1 && step->min <= step->max;
    text += '\n' + (declared != nullptr ? member_text(*declared) : std::string()) + ": " +
            (has_value ? value_text(step->max, unit) + (step->is_stale ? ", stale" : "") : "no sample");
  }
  return text;
}

}  // namespace kymo::panel
