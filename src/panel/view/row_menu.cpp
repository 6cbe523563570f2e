// The menu of a track or a metric row, and the same actions by keys for the row under the pointer.
#include <algorithm>
#include <array>

#include "panel/draw/text.hpp"
#include "panel/view/keys.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

struct RowCommand {
  RowAction action;
  const char* label;
  const char* key;
};

constexpr std::array<RowCommand, 6> row_commands = {{{RowAction::pin, "Pin to the top", "P"},
                                                     {RowAction::up, "Move up", "["},
                                                     {RowAction::down, "Move down", "]"},
                                                     {RowAction::higher, "Higher", ")"},
                                                     {RowAction::lower, "Lower", "("},
                                                     {RowAction::hide, "Hide", "h"}}};

}  // namespace

RowOrder& PanelView::order_of(const RowPlace& row) {
  return row.is_track ? state_.tracks().order() : state_.metric_order();
}

void PanelView::use_row(RowAction action, const RowPlace& row) {
  std::vector<std::uint32_t>& shown = row.is_track ? shown_tracks_ : shown_metrics_;
  RowOrder& order = order_of(row);
  apply(action, row.id, shown, order);
  // Several keys may come within a frame.
  std::stable_sort(shown.begin(), shown.end(),
                   [&order](std::uint32_t a, std::uint32_t b) { return order.place_of(a, 0) < order.place_of(b, 0); });
}

bool PanelView::use_row_character(unsigned character) {
  if (character == 'H') {
    show_hidden_rows();
    return true;
  }
  if (character == 'e') {
    FamilyRow* const family = hovered_row_ && !hovered_row_->is_track ? family_of(hovered_row_->id) : nullptr;
    if (family != nullptr) {
      toggle_family(*family);
    }
    return true;
  }
  const auto command = std::find_if(row_commands.begin(), row_commands.end(), [character](const RowCommand& one) {
    return static_cast<unsigned char>(one.key[0]) == character;
  });
  if (command == row_commands.end()) {
    return false;
  }
  // A row that was moved away from under the pointer is still the one that is meant, until the pointer moves.
  moved_row_ = moved_row_ ? moved_row_ : hovered_row_;
  if (moved_row_) {
    use_row(command->action, *moved_row_);
    moved_row_ = command->action == RowAction::hide ? std::nullopt : moved_row_;
  }
  return true;
}

void PanelView::show_hidden_rows() {
  state_.tracks().order().show_all();
  state_.metric_order().show_all();
}

std::size_t PanelView::hidden_rows() {
  return state_.tracks().order().hidden() + state_.metric_order().hidden();
}

void PanelView::open_row_menu(const RowPlace& row) {
  menu_row_ = row;
  opens_row_menu_ = true;
}

void PanelView::draw_row_menu() {
  if (opens_row_menu_) {
    ImGui::OpenPopup("row");
    opens_row_menu_ = false;
  }
  if (!ImGui::BeginPopup("row")) {
    return;
  }
  say(menu_row_.is_track ? title_of(state_.data().provider().track(TrackId{menu_row_.id}))
                         : title_of_row(menu_row_.id));
  ImGui::Separator();
  marks_.row_menu.clear();
  close_by_escape();
  for (const RowCommand& command : row_commands) {
    const bool is_on = command.action == RowAction::pin && order_of(menu_row_).is_pinned(menu_row_.id);
    const bool is_taken = ImGui::MenuItem(command.label, command.key, is_on);
    marks_.row_menu.push_back(last_item());
    if (is_taken) {
      use_row(command.action, menu_row_);
    }
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Show hidden rows", "H", false, hidden_rows() != 0)) {
    show_hidden_rows();
  }
  marks_.row_menu.push_back(last_item());
  ImGui::EndPopup();
}

}  // namespace kymo::panel
