// What tabs with one table share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "panel/draw/filter.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

/// A tab with a table whose rows can be chosen.
class TableTab : public Tab {
 public:
  TableTab(const char* title, Table table, const char* field_label = "filter")
      : Tab(title), table_(std::move(table)), field_(field_label) {}

  void choose_row(TabContext& context, bool down) override {
    const TableRows shown = rows(context);
    if (const auto next = table_.neighbour(chosen(context), down); next && *next < shown.count) {
      choose(context, *next);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void focus_filter() override { field_.focus(); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(rows(context), as);
  }

 protected:
  /// The columns refer to the context and to the tab's list.
  [[nodiscard]] virtual TableRows rows(TabContext& context) const = 0;
  [[nodiscard]] virtual std::optional<std::size_t> chosen(TabContext& context) const = 0;
  virtual void choose(TabContext& context, std::size_t row) = 0;

  /// Draws the rows of the last update, and chooses the one that was clicked.
  void draw_table(TabContext& context, const TableRows& shown, float height = 0) {
    if (const auto clicked = table_.draw(shown, chosen(context), height, context.theme)) {
      choose(context, *clicked);
    }
  }
  /// Draws the field for a text in rows and the button that looks inside a site, with room for a text behind them.
  void draw_filter(TabContext& context) {
    field_.draw();
    ImGui::SameLine(0, ImGui::GetFontSize());
    draw_focus_button(context);
  }

  /// When something was, since the recording's start.
  [[nodiscard]] static TableColumn time_column(TabContext& context, std::function<std::int64_t(std::size_t row)> time) {
    return duration_column("at", [time = std::move(time), origin_ns = context.state.data().range().start_ns](
                                     std::size_t row) { return static_cast<double>(time(row) - origin_ns); });
  }

  Table table_;
  /// The text that the tab takes: to filter its rows, to search for, or to add. A tab without one never draws it.
  Filter field_;
};

}  // namespace kymo::panel
