// The tabs below the flame chart. A new one is a file with a class and a row in make_tabs().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panel/draw/names.hpp"
#include "panel/layout/view_state.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

/// How long frames may take.
struct FrameTargets {
  double good_ms = 16.7;  ///< frames up to this are good
  double slow_ms = 33.4;  ///< frames up to this are slow, longer ones bad

  /// Frames up to this time are good, up to twice of it slow.
  void set(double ms) {
    good_ms = ms;
    slow_ms = 2 * ms;
  }
};

/// The panel's parts that a tab uses.
struct TabContext {
  ViewState& state;
  Names& names;
  const Theme& theme;
  FrameTargets& targets;
  bool notes_are_kept = false;  ///< beside the capture
  std::string tip;              ///< what draw() wants told at the pointer
};

/// A tab. All functions are for the drawing thread. Keys may come before the first draw().
class Tab {
 public:
  explicit Tab(const char* title) : title_(title) {}
  Tab(const Tab&) = delete;
  Tab& operator=(const Tab&) = delete;
  virtual ~Tab() = default;

  /// Its title; in lower case the word that `kymo view --tab` takes.
  [[nodiscard]] const char* title() const { return title_; }
  /// Fills the rest of the current window. Everything it shows is of ViewState::table_range().
  virtual void draw(TabContext& context) = 0;
  /// Chooses the next row, or the previous one.
  virtual void choose_row(TabContext& context, bool down) = 0;
  /// Sorts by a column, counted from 0; again: the other way.
  virtual void sort_by(std::size_t column) = 0;
  /// Whether it is the one that `/` opens, whose text the chart highlights.
  [[nodiscard]] virtual bool is_search() const { return false; }
  /// Of a search: whether the row chosen last is no scope, so that its own kind is gone on with.
  [[nodiscard]] virtual bool chose_no_site(TabContext& /*context*/) const { return false; }
  /// Lights what the next bar of its histogram counts, if it has one; after the last bar nothing.
  virtual void light_next_bar(TabContext& /*context*/) {}
  /// Puts the cursor into the filter, if there is one.
  virtual void focus_filter() {}
  /// The shown rows for the clipboard.
  [[nodiscard]] virtual std::string copied(TabContext& context, CopyAs as) const = 0;

 private:
  const char* title_;
};

/// All tabs, from left to right.
[[nodiscard]] std::vector<std::unique_ptr<Tab>> make_tabs();
/// A tab's title in lower case, with '-' for blanks.
[[nodiscard]] std::string word_of(const Tab& tab);

[[nodiscard]] std::unique_ptr<Tab> make_statistics_tab();
[[nodiscard]] std::unique_ptr<Tab> make_explain_tab();
[[nodiscard]] std::unique_ptr<Tab> make_tree_tab();
[[nodiscard]] std::unique_ptr<Tab> make_flame_graph_tab();
[[nodiscard]] std::unique_ptr<Tab> make_functions_tab();
[[nodiscard]] std::unique_ptr<Tab> make_frames_tab();
[[nodiscard]] std::unique_ptr<Tab> make_spans_tab();
[[nodiscard]] std::unique_ptr<Tab> make_metrics_tab();
[[nodiscard]] std::unique_ptr<Tab> make_messages_tab();
[[nodiscard]] std::unique_ptr<Tab> make_locks_tab();
[[nodiscard]] std::unique_ptr<Tab> make_search_tab();
[[nodiscard]] std::unique_ptr<Tab> make_notes_tab();

}  // namespace kymo::panel
