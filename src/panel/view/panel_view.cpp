// The whole panel: its header, its parts from top to bottom, and the facts of the selected span.
#include "panel/view/panel_view.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/help.hpp"

namespace kymo::panel {

PanelView::PanelView(std::shared_ptr<BlockProvider> provider, const ViewOptions& options, const DataOptions& data)
    : options_(options),
      state_(std::move(provider), data),
      names_(state_.data().provider(), options.side ? options.side->palette : std::make_shared<base::NamePalette>()),
      tabs_(options.side ? std::vector<std::unique_ptr<Tab>>() : make_tabs()) {
  if (options_.load_notes) {
    state_.notes() = Notes::parse(options_.load_notes());
  }
  saved_notes_ = state_.notes().version();
  if (options_.load_arrangement) {
    arrangement_ = Arrangement::parse(options_.load_arrangement());
  }
  if (const std::int64_t target_ns = arrangement_.target_ns(); target_ns != 0) {
    options_.targets.set(static_cast<double>(target_ns) / 1e6);
  }
  set_target_ms_ = options_.targets.good_ms;
}

void PanelView::arrange() {
  is_arranged_anew_ =
      arrangement_.keep(state_.data().provider().declarations(), state_.metric_order(), state_.tracks().order()) ||
      is_arranged_anew_;
}

void PanelView::save() {
  if (saved_notes_ != state_.notes().version()) {
    saved_notes_ = state_.notes().version();
    if (options_.save_notes) {
      options_.save_notes(state_.notes().format());
    }
  }
  arrange();
  if (set_target_ms_ != options_.targets.good_ms) {
    set_target_ms_ = options_.targets.good_ms;
    arrangement_.set_target_ns(static_cast<std::int64_t>(set_target_ms_ * 1e6));
    is_arranged_anew_ = true;
  }
  if (std::exchange(is_arranged_anew_, false) && options_.save_arrangement) {
    options_.save_arrangement(arrangement_.format());
  }
}

void PanelView::draw() {
  const auto started = std::chrono::steady_clock::now();
  ImGui::PushID(this);
  theme_ = current_theme();
  tip_.clear();
  hints_.clear();
  state_.begin_frame();
  arrange();
  // A child window, so that the wheel does not scroll the window around it.
  ImGui::BeginChild("panel", ImVec2(0, 0), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar |
                        (options_.side ? ImGuiWindowFlags_None : ImGuiWindowFlags_MenuBar));
  if (const ImVec2 moved = ImGui::GetIO().MouseDelta; moved.x != 0 || moved.y != 0) {
    moved_row_.reset();
  }
  if (!options_.side) {
    use_keyboard();
  }
  hovered_row_.reset();
  if (!options_.side) {
    draw_menus();
  }
  draw_header();
  const float width = ImGui::GetContentRegionAvail().x;
  gutter_ = std::clamp(width * 0.3F, ImGui::GetFontSize() * 7, ImGui::GetFontSize() * 13);
  const float height = ImGui::GetContentRegionAvail().y;
  draw_overview(std::max(height * overview_share_, ImGui::GetTextLineHeight() * 4));
  draw_splitter("overview splitter", height, overview_share_, true);
  const bool has_facts = state_.selected() || state_.message();
  const float facts_height = has_facts ? ImGui::GetTextLineHeightWithSpacing() * (shows_source_ ? 14.5F : 7.5F) : 0.0F;
  const float room = ImGui::GetContentRegionAvail().y;
  const float dock = options_.side ? 0 : dock_height(room);
  ImGui::BeginChild("chart", ImVec2(0, std::max(room - facts_height - dock, 1.0F)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  draw_flame_chart();
  ImGui::EndChild();
  if (has_facts) {
    draw_facts(facts_height - ImGui::GetStyle().ItemSpacing.y);  // the chart may have cleared the selection
  } else {
    facts_.clear();
  }
  if (!options_.side) {
    draw_dock(room);
  }
  draw_row_menu();
  draw_palette();
  if (shows_help_) {
    draw_help(theme_);
  }
  ImGui::EndChild();
  remember_view();
  save();
  state_.end_frame();
  ImGui::PopID();
  // The mean of about the last 30 frames.
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  draw_ms_ += draw_ms_ == 0 ? ms : (ms - draw_ms_) / 30;
}

void PanelView::draw_hint(const Area& area, const std::string& text) {
  hints_ += text + "\n";
  const float width = std::min(text_width(text) + 1, area.width());
  const float top = (area.top + area.bottom - ImGui::GetTextLineHeight()) / 2;
  Canvas(ImGui::GetWindowDrawList())
      .text(area.left + (area.width() - width) / 2, std::max(top, area.top), width, theme_.faint_text, text);
}

void PanelView::remember_view() {
  constexpr double pause_s = 0.4;  // between two notches of a wheel is less
  const TimeRange now = state_.flame().range();
  if (is_same(now, last_view_)) {
    last_overview_ = state_.overview().range();
    return;
  }
  if (ImGui::GetTime() - moved_at_s_ > pause_s && !state_.follows()) {
    state_.remember_view(last_view_, last_overview_);
  }
  moved_at_s_ = ImGui::GetTime();
  last_view_ = now;
  last_overview_ = state_.overview().range();
}

bool PanelView::is_found(const NameLook& look) const {
  return is_searching() && !state_.search().empty() && contains_text(look.text, state_.search());
}

std::string PanelView::copied_tab(CopyAs as) {
  TabContext context = tab_context();
  return is_tab_open_ ? tabs_[last_tab_]->copied(context, as) : std::string();
}

bool PanelView::is_searching() const {
  return is_tab_open_ && tabs_[last_tab_]->is_search();
}

void PanelView::start_search() {
  const auto before = is_tab_open_ && !is_searching() ? std::optional(last_tab_) : std::nullopt;
  if (open_tab("search")) {
    tab_before_ = before;
    tabs_[last_tab_]->focus_filter();
  }
}

void PanelView::start_note() {
  if (open_tab("notes")) {
    tabs_[last_tab_]->focus_filter();
  }
}

void PanelView::end_search() {
  is_tab_open_ = tab_before_.has_value();
  last_tab_ = tab_before_.value_or(0);
}

}  // namespace kymo::panel
