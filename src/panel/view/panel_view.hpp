// The panel: draws a provider's data and handles all gestures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/colours.hpp"
#include "panel/draw/names.hpp"
#include "panel/layout/view_state.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/filter.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/view/pointer.hpp"

namespace kymo::panel {

struct ViewOptions {
  FrameTargets targets;
  /// Draws the first menu, of what is around the panel; none if empty.
  std::function<void()> draw_file_menu;
  /// Notes::format() of before; called once. And what to do with it after each change.
  std::function<std::string()> load_notes;
  std::function<void(const std::string& notes)> save_notes;
  /// The text of a source file of the recorded program; empty if it is not there. No button for it if empty.
  std::function<std::string(const std::string& file)> read_source;
  /// Opens a source file in the user's editor, likewise.
  std::function<void(const std::string& file, std::uint32_t line)> open_source;
};

/// The positions of the parts on the screen in the last frame.
struct LayoutMarks {
  Area bars;
  Area rows;
  Area flame;
  Area titles;            ///< of tracks, left of the flame chart
  float rows_scroll = 0;  ///< of the metric rows, in pixels
  Area row_titles;        ///< of the metric rows
  Area metric_filter;
  Area constants;  ///< the line of constant metrics
  Area pause;      ///< the header's buttons
  Area follow;
  Area back;
  Area forward;
  Area everything;
  Area search;
  Area help;
  std::vector<Area> tabs;  ///< their titles
  Area dock;               ///< the open tab
  Area copy;
  std::vector<Area> menus;         ///< their titles
  std::vector<Area> menu_lines;    ///< of the open one
  std::vector<Area> row_menu;      ///< the lines of a row's menu
  std::vector<Area> span_buttons;  ///< of the selected span, behind Copy
};

/// The energy of a span and its reliability.
[[nodiscard]] std::string joules_text(const SpanEnergyFacts& facts, std::int64_t duration_ns);

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
  /// Opens a tab by its title in lower case. Returns false if there is none.
  bool open_tab(std::string_view word);
  void close_tab() { is_tab_open_ = false; }
  /// The open tab, likewise; empty: none.
  [[nodiscard]] std::string tab() const;
  /// The open tab's shown rows as CSV.
  [[nodiscard]] std::string tab_csv();
  [[nodiscard]] bool is_searching() const;
  /// What the last frame said where there was nothing to draw, a line each.
  [[nodiscard]] const std::string& hints() const { return hints_; }
  /// The header's text in the last frame, line by line.
  [[nodiscard]] const std::string& header() const { return header_; }
  /// The tooltip in the last frame; empty: none.
  [[nodiscard]] const std::string& tip() const { return tip_; }
  /// The facts of the selected span or message in the last frame.
  [[nodiscard]] const std::string& facts() const { return facts_; }

 private:
  /// A metric's row in this frame.
  struct MetricRow {
    const MetricSteps* steps = nullptr;
    const MetricDeclaration* declared = nullptr;
    std::string title;
    float height = 0;
    std::uint64_t place = 0;  // among others
    float top = 0;            // from the top of all rows
  };

  /// What the choice of metric rows depends on.
  struct MetricRowsKey {
    std::uint64_t layout = 0;
    std::uint64_t filter = 0;
    std::uint32_t order = 0;
    float font = 0;
    [[nodiscard]] bool operator==(const MetricRowsKey& other) const {
      return layout == other.layout && filter == other.filter && order == other.order && font == other.font;
    }
  };

  /// A track or a metric.
  struct RowPlace {
    bool is_track = false;
    std::uint32_t id = 0;
  };

  /// A line of a menu; without a label it separates others.
  struct MenuLine {
    const char* label;
    const char* key;
    unsigned character;  ///< what the key types
    bool is_on = false;
    bool is_enabled = true;
  };

  void draw_header();
  void draw_buttons();
  void put_word(const std::string& text);
  bool draw_button(const char* label, Area& mark);
  void draw_overview(float height);
  void draw_bars(const Area& area);
  /// Says what to do about an empty part, in its middle.
  void draw_hint(const Area& area, const std::string& text);
  /// Labels it if that fits below `labels_from`. Returns from where on there is room for another label.
  float draw_threshold(const Area& area, double ms, double longest_ms, float labels_from);
  /// Chooses and orders the rows of metrics: those that are pinned, the others, then constant_rows_.
  void choose_metric_rows();
  void draw_metric_filter(const Area& area);
  void draw_metric_rows(const Area& area);
  /// `first`: the first constant row.
  void draw_constants(const Area& area, std::size_t first);
  void draw_metric_title(const MetricRow& row, const Area& area);
  void draw_metric_row(const MetricRow& row, const Area& area, float gutter);
  void use_metric_row(const MetricRow& row, double pixel);
  void show_metric_facts(const MetricRow& row, double pixel);
  [[nodiscard]] RowOrder& order_of(const RowPlace& row);
  void use_row(RowAction action, const RowPlace& row);
  /// Applies a key to the row under the pointer. Returns whether it is one for rows.
  bool use_row_character(unsigned character);
  void show_hidden_rows();
  [[nodiscard]] std::size_t hidden_rows();
  void open_row_menu(const RowPlace& row);
  void draw_row_menu();
  void draw_menus();
  void draw_menu(const char* title, const std::vector<MenuLine>& lines);
  void draw_ruler(const Area& area, const TimeAxis& axis);
  void draw_flame_chart();
  /// Takes the order of the tracks, and whether they are of several processes.
  void note_tracks(const FlameLayout& layout);
  void draw_flame_rows(const Area& area, float scroll, const FlameLayout& layout, float line_height);
  void draw_marks(const Area& area, float line_height);
  /// The flows that touch the selected span or the one under the pointer.
  [[nodiscard]] std::vector<std::uint64_t> flows_in_focus() const;
  void draw_measured(const Area& area, const TimeAxis& axis);
  void draw_sync_points(const Area& area, const std::vector<SyncMark>& marks);
  [[nodiscard]] bool use_messages(const Pointer& pointer, std::uint32_t line);
  void draw_track_titles(const Area& area, const FlameLayout& layout, float line_height);
  void show_track_facts(const TrackDeclaration& track, bool is_collapsed);
  void use_flame_pointer(const Area& area, const FlameLayout& layout, float line_height);
  /// `thread`: the thread that ran the fiber at the pointer; empty if unknown or not visible.
  void show_box_facts(const FlameRow& row, const FlameBox& box, const std::string& thread);
  /// The title of the thread in the layout that ran the fiber at a time; empty if there is none.
  [[nodiscard]] std::string thread_of_fiber(const FlameLayout& layout, TrackId fiber, std::int64_t time_ns) const;
  [[nodiscard]] TabContext tab_context() {
    return {state_, names_, theme_, options_.targets, options_.save_notes != nullptr};
  }
  [[nodiscard]] float dock_height(float room) const;
  void draw_splitter(float room);
  void draw_tab_titles();
  void draw_dock(float room);
  void remember_view();
  void draw_facts(float height);
  void draw_span_buttons();
  /// The lines around a site.
  [[nodiscard]] std::string source_text(const SiteDeclaration& site);
  /// What lies directly inside a scope; empty while it is not known.
  [[nodiscard]] std::string inner_text(const SpanFacts& facts);
  /// How a span stands to the pinned frame and to the others of its site; empty if neither is known.
  [[nodiscard]] std::string standing_text(const Span& span);
  void tell_span(const std::function<void(const std::string&)>& tell);
  void show_tip(const std::string& lines);
  void start_search();
  void start_note();
  /// Passages of notes at the top of the flame chart.
  void draw_notes(const Area& area, const TimeAxis& axis);
  /// Opens the tab of before the search again, or none.
  void end_search();
  void draw_help();
  void use_keyboard();
  void use_character(unsigned character);
  /// Moves the flame chart. Returns false for other characters.
  bool use_flame_character(unsigned character);
  void use_overview_character(unsigned character);
  void use_arrows(bool shift);
  void jump_to_search(bool forward);
  void draw_cover(const Area& area, const TimeAxis& axis, TimeRange range, ImU32 colour);
  [[nodiscard]] std::string title_of(const TrackDeclaration& track) const { return names_.title(track); }
  [[nodiscard]] const NameLook& look_of(std::uint32_t name, bool named) { return names_.look(name, named, theme_); }
  /// Whether a name is among those searched for.
  [[nodiscard]] bool is_found(const NameLook& look) const;
  static constexpr double least_bar_pixels = ViewState::least_bar_pixels;
  /// What menus use for keys that type nothing: from the private use area of Unicode, which keyboards do not type.
  static constexpr unsigned next_frame_character = 0xE000;
  static constexpr unsigned previous_frame_character = 0xE001;
  static constexpr unsigned first_tab_character = 0xE100;
  /// The width of the names left of plots and tracks.
  [[nodiscard]] float gutter() const { return gutter_; }

  ViewOptions options_;
  ViewState state_;
  Theme theme_;
  LayoutMarks marks_;
  Gesture bars_gesture_;
  Gesture rows_gesture_;
  Gesture flame_gesture_;
  float flame_scroll_ = 0;
  float rows_scroll_by_ = 0;        // requested by a key
  std::optional<SpanKey> hovered_;  // in the last frame
  bool shows_flows_ = false;        // all, however many
  bool unfolds_constants_ = false;
  Filter metric_filter_{"##metrics", "filter metrics"};
  MetricRowsKey metric_rows_key_;
  std::vector<MetricRow> metric_rows_;
  std::size_t constant_rows_ = 0;             // the last ones
  std::vector<std::uint32_t> shown_metrics_;  // from top to bottom
  std::vector<std::uint32_t> shown_tracks_;
  std::uint64_t tracks_layout_ = 0;      // the layout that shown_tracks_ are of
  std::optional<RowPlace> hovered_row_;  // in the last frame
  std::optional<RowPlace> moved_row_;    // the one that a key acted on, until the pointer moves
  RowPlace menu_row_;
  bool opens_row_menu_ = false;
  bool shows_help_ = false;
  Names names_;
  std::vector<std::unique_ptr<Tab>> tabs_ = make_tabs();
  std::size_t last_tab_ = 0;
  std::optional<std::size_t> tab_before_;  // the search
  bool is_tab_open_ = false;
  float dock_share_ = 0.45F;
  std::string range_text_;
  TimeRange last_view_;     // of the flame chart
  double moved_at_s_ = -1;  // when it moved
  double draw_ms_ = 0;      // what draw() takes
  std::string draw_text_;   // that in words
  float gutter_ = 0;
  int title_lines_ = 1;  // of the tabs' titles
  std::string hints_;
  std::string header_;
  std::string tip_;
  std::string facts_;
  bool copies_facts_ = false;
  std::uint64_t saved_notes_ = 0;  // their version
  bool shows_source_ = false;
  std::string source_file_;  // the one that was read last
  std::string source_;
  KeptList<InnerList> inner_;
};

}  // namespace kymo::panel
