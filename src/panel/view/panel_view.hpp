// The panel: draws a provider's data and handles all gestures.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "panel/data/site_table.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/colours.hpp"
#include "panel/layout/view_state.hpp"
#include "panel/view/pointer.hpp"

namespace kymo::panel {

struct ViewOptions {
  double good_frame_ms = 16.7;  ///< frames up to this are good
  double slow_frame_ms = 33.4;  ///< frames up to this are slow, longer ones bad
};

/// The positions of the parts on the screen in the last frame.
struct LayoutMarks {
  Area bars;
  Area rows;
  Area flame;
  float rows_scroll = 0;  ///< of the metric rows, in pixels
  Area pause;             ///< the header's buttons
  Area follow;
  Area statistics;
  Area help;
};

/// How a name is drawn.
struct NameLook {
  std::string text;  ///< after clean_text
  ImU32 colour = 0;
  bool is_marked = false;
  bool is_unresolved = false;  ///< marks unknown GPU times
  bool is_wait = false;        ///< a wait for a lock
};

/// The energy of a span and its reliability.
[[nodiscard]] std::string joules_text(const SpanEnergyFacts& facts, std::int64_t duration_ns);

/// The holder of a lock that was waited for.
[[nodiscard]] std::string holder_text(std::string_view holder);

/// Draws the panel into the current window of the current ImGui context. For the drawing thread only.
class PanelView {
 public:
  PanelView(std::shared_ptr<BlockProvider> provider, const ViewOptions& options, const DataOptions& data);

  /// Fills the rest of the current window.
  void draw();

  [[nodiscard]] ViewState& state() { return state_; }
  [[nodiscard]] const ViewState& state() const { return state_; }
  [[nodiscard]] const LayoutMarks& marks() const { return marks_; }
  [[nodiscard]] bool shows_help() const { return shows_help_; }
  [[nodiscard]] bool shows_statistics() const { return shows_statistics_; }
  void show_statistics(bool are_shown) { shows_statistics_ = are_shown; }
  /// The rows of the statistics tab.
  [[nodiscard]] const SiteTable& sites() const { return sites_; }
  [[nodiscard]] bool is_searching() const { return is_searching_; }
  /// The header's text in the last frame, line by line.
  [[nodiscard]] const std::string& header() const { return header_; }
  /// The tooltip in the last frame; empty: none.
  [[nodiscard]] const std::string& tip() const { return tip_; }
  /// The facts of the selected span or message in the last frame.
  [[nodiscard]] const std::string& facts() const { return facts_; }

 private:
  void draw_header();
  void draw_buttons();
  void put_word(const std::string& text);
  bool draw_button(const char* label, Area& mark);
  void draw_overview(float height);
  void draw_bars(const Area& area);
  void draw_threshold(const Area& area, double ms, double longest_ms);
  void draw_metric_rows(const Area& area);
  void draw_metric_row(const MetricSteps& metric, const Area& area, float gutter);
  void show_metric_facts(const MetricSteps& steps, double pixel);
  void draw_ruler(const Area& area, const TimeAxis& axis);
  void draw_flame_chart();
  void draw_flame_rows(const Area& area, float scroll, const FlameLayout& layout, float line_height);
  void draw_marks(const Area& area, float line_height);
  void draw_measured(const Area& area, const TimeAxis& axis);
  void draw_sync_points(const Area& area, const std::vector<SyncMark>& marks);
  [[nodiscard]] bool use_messages(const Pointer& pointer, std::uint32_t line);
  [[nodiscard]] bool use_titles(const Pointer& pointer, const FlameLayout& layout, std::uint32_t line);
  void use_flame_pointer(const Area& area, const FlameLayout& layout, float line_height);
  /// `thread`: the thread that ran the fiber at the pointer; empty if unknown or not visible.
  void show_box_facts(const FlameRow& row, const FlameBox& box, const std::string& thread);
  /// The title of the thread in the layout that ran the fiber at a time; empty if there is none.
  [[nodiscard]] std::string thread_of_fiber(const FlameLayout& layout, TrackId fiber, std::int64_t time_ns) const;
  void draw_statistics();
  void draw_site_rows(const std::vector<stats::SiteFigures>& figures);
  void draw_histogram(const stats::SiteFigures& site);
  void draw_facts();
  void tell_span(const std::function<void(const std::string&)>& tell);
  void show_tip(const std::string& lines);
  void draw_search();
  void draw_help();
  void use_keyboard();
  void use_character(unsigned character);
  void use_overview_character(unsigned character);
  void use_arrows(bool shift);
  void choose_row(bool down);
  void choose_found(bool down);
  void jump_to_search(bool forward);
  void draw_cover(const Area& area, const TimeAxis& axis, TimeRange range, ImU32 colour);
  [[nodiscard]] std::string title_of(const TrackDeclaration& track) const;
  [[nodiscard]] const NameLook& look_of(std::uint32_t name, bool named);
  static constexpr double least_bar_pixels = ViewState::least_bar_pixels;
  [[nodiscard]] float gutter() const { return ImGui::GetFontSize() * 13; }

  ViewOptions options_;
  ViewState state_;
  Theme theme_;
  LayoutMarks marks_;
  Gesture bars_gesture_;
  Gesture rows_gesture_;
  Gesture flame_gesture_;
  float flame_scroll_ = 0;
  float rows_scroll_by_ = 0;  // requested by a key
  bool shows_help_ = false;
  bool shows_statistics_ = false;
  SiteTable sites_;
  int sort_column_ = -1;  // requested by a key
  char filter_[128] = {};
  bool is_searching_ = false;
  bool focuses_search_ = false;
  char search_[128] = {};
  std::string header_;
  std::string tip_;
  std::string facts_;
  bool focuses_filter_ = false;
  bool was_light_ = false;
  std::unordered_map<std::uint64_t, NameLook> looks_;
};

}  // namespace kymo::panel
