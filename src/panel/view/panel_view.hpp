// The panel: draws a provider's data and handles all gestures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/colours.hpp"
#include "panel/draw/filter.hpp"
#include "panel/draw/names.hpp"
#include "panel/layout/arrangement.hpp"
#include "panel/layout/metric_heat.hpp"
#include "panel/layout/view_state.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/view/pointer.hpp"
#include "timeline/metric_families.hpp"

namespace kymo::panel {

/// For a view that is one side of a comparison: it has no menus and no tables, and what is around it hands it keys.
struct SideOptions {
  std::string title;
  std::shared_ptr<base::NamePalette> palette;  ///< of both sides
};

struct ViewOptions {
  FrameTargets targets;
  std::optional<SideOptions> side;
  /// Draws the first menu, of what is around the panel; none if empty.
  std::function<void()> draw_file_menu;
  /// Notes::format() of before; called once. And what to do with it after each change.
  std::function<std::string()> load_notes;
  std::function<void(const std::string& notes)> save_notes;
  /// Likewise Arrangement::format().
  std::function<std::string()> load_arrangement;
  std::function<void(const std::string& arrangement)> save_arrangement;
  /// The text of a source file of the recorded program; empty if it is not there. No button for it if empty.
  std::function<std::string(const std::string& file)> read_source;
  /// Opens a source file in the user's editor, likewise.
  std::function<void(const std::string& file, std::uint32_t line)> open_source;
};

/// The positions of the parts on the screen in the last frame.
struct LayoutMarks {
  Area bars;
  double bars_ms = 0;  ///< the duration of a frame whose bar is as high as the area
  Area rows;
  Area chart_frames;  ///< the frames above the flame chart
  Area flame;
  Area measured;          ///< the length of the measured range, in the flame chart
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
  std::vector<Area> tabs;          ///< their titles
  Area dock;                       ///< the open tab
  std::array<Area, 2> copy;        ///< by CopyAs
  std::vector<Area> menus;         ///< their titles
  std::vector<Area> palette;       ///< the lines of the palette; none if it is closed
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
  /// Adds the menus to the menu bar of the current window. draw() does so itself, except on one side of a comparison.
  void draw_menus();
  /// Applies the keys of this frame; likewise.
  void use_keys();

  /// Lets the frame bars have at least the scale of a longest frame elsewhere: of the other side of a comparison.
  void share_scale(std::int64_t longest_ns) { shared_longest_ns_ = longest_ns; }

  [[nodiscard]] ViewState& state() { return state_; }
  [[nodiscard]] const ViewState& state() const { return state_; }
  [[nodiscard]] const LayoutMarks& marks() const { return marks_; }
  [[nodiscard]] bool shows_help() const { return shows_help_; }
  /// Opens a tab by its title in lower case. Returns false if there is none.
  bool open_tab(std::string_view word);
  /// The open tab, likewise; empty: none.
  [[nodiscard]] std::string tab() const;
  /// The open tab's shown rows.
  [[nodiscard]] std::string copied_tab(CopyAs as);
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
  /// Metrics that share a row until it is opened.
  struct FamilyRow {
    timeline::MetricFamily family;
    std::string title;
    std::vector<const MetricSteps*> members;  // those with values in the overview, by ascending number
    bool is_open = false;
    MetricHeat heat;
    std::array<std::uint64_t, 2> heat_of{};  // the layout of metrics and the lanes that it was made for
  };

  /// The row of a metric or a family in this frame.
  struct MetricRow {
    std::uint32_t id = 0;
    const MetricSteps* steps = nullptr;           // of a metric
    FamilyRow* family = nullptr;                  // instead
    const MetricDeclaration* declared = nullptr;  // of a family: the first one's
    std::string title;
    float height = 0;
    std::uint64_t place = 0;  // among others
    std::size_t within = 0;   // among rows of one place: the family, then its members
    float top = 0;            // from the top of all rows
  };

  /// What stands beside a row's plot.
  struct RowFigures {
    std::string title;
    std::string latest;
    std::string unit;
    bool has_range = false;  // of the values below
    double min = 0;
    double max = 0;
    bool is_integer = false;
  };

  /// What the choice of metric rows depends on.
  struct MetricRowsKey {
    std::uint64_t layout = 0;
    std::uint64_t filter = 0;
    std::uint32_t order = 0;
    std::uint32_t families = 0;  // how often one was opened or folded
    float font = 0;
    [[nodiscard]] bool operator==(const MetricRowsKey&) const = default;
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

  /// What a line of a menu does.
  struct Command {
    std::string label;
    std::string key;
    unsigned character = 0;
  };

  void draw_header();
  void draw_buttons();
  void put_word(const std::string& text);
  bool draw_button(const char* label, Area& mark);
  void draw_overview(float height);
  void draw_bars(const Area& area);
  /// The frames above the flame chart, with their numbers.
  void draw_chart_frames(const Area& area);
  /// By the thresholds.
  [[nodiscard]] ImU32 colour_of(const Frame& frame) const;
  /// "frame 38, 45 ms".
  [[nodiscard]] std::string frame_text(const Frame& frame, Asker asker);
  [[nodiscard]] std::string bar_text(const FrameBar& bar);
  /// Says what to do about an empty part, in its middle.
  void draw_hint(const Area& area, const std::string& text);
  /// Labels it if that fits below `labels_from`. Returns from where on there is room for another label.
  float draw_threshold(const Area& area, double ms, double longest_ms, float labels_from);
  /// Chooses and orders the rows of metrics: those that are pinned, the others, then constant_rows_.
  void choose_metric_rows();
  /// Adds the rows of metrics and families in their usual order, those that do not change to `constant`.
  void add_metric_rows(std::vector<MetricRow>& constant);
  void add_family_rows(std::vector<MetricRow>& constant);
  /// Finds the families of what was declared, and the members of each in the overview.
  void find_families();
  /// The family of a metric or of a family's row; nullptr: none.
  [[nodiscard]] FamilyRow* family_of(std::uint32_t row);
  void toggle_family(FamilyRow& family);
  /// Whether a member has a row of its own.
  [[nodiscard]] bool is_apart(const FamilyRow& family, std::uint32_t member) const;
  [[nodiscard]] std::string title_of_row(std::uint32_t row);
  void draw_family_row(const MetricRow& row, const Area& area);
  [[nodiscard]] std::string family_text(const MetricRow& row, double pixel, float share_down);
  void draw_metric_filter(const Area& area);
  void draw_metric_rows(const Area& area);
  /// `first`: the first constant row.
  void draw_constants(const Area& area, std::size_t first);
  [[nodiscard]] RowFigures figures_of(const MetricRow& row) const;
  void draw_metric_title(const RowFigures& figures, const Area& area);
  void draw_metric_row(const MetricRow& row, const Area& area, float gutter);
  /// `share_down`: where the pointer is, from 0 at the row's top to 1.
  void use_metric_row(const MetricRow& row, double pixel, float share_down);
  void show_metric_facts(const MetricRow& row, double pixel);
  [[nodiscard]] RowOrder& order_of(const RowPlace& row);
  void use_row(RowAction action, const RowPlace& row);
  /// Applies a key to the row under the pointer. Returns whether it is one for rows.
  bool use_row_character(unsigned character);
  void show_hidden_rows();
  [[nodiscard]] std::size_t hidden_rows();
  void open_row_menu(const RowPlace& row);
  void draw_row_menu();
  void draw_menu(const char* title, const std::vector<MenuLine>& lines);
  /// A list of what menus do, found by a few letters.
  void draw_palette();
  void draw_ruler(const Area& area, const TimeAxis& axis);
  /// A narrow bar at the right edge that shows which part of a height is visible, where it is not all.
  void draw_scroll_place(const Area& area, float scroll, float all);
  void draw_flame_chart();
  /// Takes the order of the tracks, and whether they are of several processes.
  void note_tracks(const FlameLayout& layout);
  void draw_flame_rows(const Area& area, float scroll, const FlameLayout& layout, float line_height);
  void draw_boxes(const Area& area, float scroll, const FlameLayout& layout, float line_height);
  /// The names of boxes, and the outlines of those that are selected or marked.
  void draw_box_names(const Area& area, float scroll, const FlameLayout& layout, float line_height);
  void draw_marks(const Area& area, float line_height);
  /// The flows that touch the selected span or the one under the pointer.
  [[nodiscard]] std::vector<std::uint64_t> flows_in_focus() const;
  void draw_measured(const Area& area, const TimeAxis& axis);
  /// Where the length of what is measured stands; empty if it is not in view.
  [[nodiscard]] Area measured_label(const Area& area, const TimeAxis& axis) const;
  /// Lines at the bottom of the bars, under the frames or scopes that are lit.
  void draw_lit_bars(const Area& area);
  /// The lit ones in the flame chart, over the rows of their tracks.
  void draw_lit(const Area& area, const FlameLayout& layout, float line_height);
  void draw_sync_points(const Area& area, const std::vector<SyncMark>& marks);
  [[nodiscard]] bool use_messages(const Pointer& pointer, std::uint32_t line);
  void draw_samples(const Area& area, float line_height);
  /// Shows the stack of the sample under the pointer. Returns whether there is one.
  [[nodiscard]] bool use_samples(const Pointer& pointer, std::uint32_t line);
  /// The lines below those of tracks: lanes of CPUs and of threads without tracks, and their titles.
  [[nodiscard]] std::uint32_t lane_lines() const;
  [[nodiscard]] const ThreadDeclaration* find_thread(ThreadId id) const;
  [[nodiscard]] std::string thread_title(ThreadId id) const;
  void draw_states(const Area& area, float line_height);
  void draw_cpus(const Area& area, float line_height);
  void draw_lane(const Area& area, const StateLane& lane, float top, float height);
  void draw_lane_titles(const Area& area, float line_height, const Pointer& pointer);
  /// Returns whether the title of the group was clicked.
  [[nodiscard]] bool draw_group_titles(const Area& area, const LaneGroup& group, float line_height,
                                       const Pointer& pointer, const char* tip,
                                       const std::function<std::string(std::size_t)>& title_of_lane);
  /// Shows the run state under the pointer. Returns whether there is one.
  [[nodiscard]] bool use_states(const Pointer& pointer, std::uint32_t line, float line_height);
  [[nodiscard]] std::string state_text(const StateBox& box, const StateLane& lane, std::int64_t time_ns);
  /// What a track's thread waited for at a time, as far as its scopes tell.
  [[nodiscard]] std::string blocked_text(TrackId track, std::int64_t time_ns);
  void draw_track_titles(const Area& area, const FlameLayout& layout, float line_height);
  void show_track_facts(const TrackDeclaration& track, bool is_collapsed);
  void use_flame_pointer(const Area& area, const FlameLayout& layout, float line_height);
  /// `thread`: the thread that ran the fiber at the pointer; empty if unknown or not visible.
  void show_box_facts(const FlameRow& row, const FlameBox& box, const std::string& thread);
  /// The title of the thread in the layout that ran the fiber at a time; empty if there is none.
  [[nodiscard]] std::string thread_of_fiber(const FlameLayout& layout, TrackId fiber, std::int64_t time_ns) const;
  [[nodiscard]] TabContext tab_context() {
    return {state_, names_, theme_, options_.targets, options_.save_notes != nullptr, {}};
  }
  [[nodiscard]] float dock_height(float room) const;
  /// A line that is dragged to change the share of the room that what is above (or below) it has.
  void draw_splitter(const char* id, float room, float& share, bool is_above);
  /// Returns how the open tab is to be copied, if that was clicked.
  [[nodiscard]] std::optional<CopyAs> draw_tab_titles();
  void draw_dock(float room);
  void remember_view();
  void draw_streams();
  [[nodiscard]] std::string stream_text() const;
  /// Arranges new rows as they were before.
  void arrange();
  /// Hands over notes, and how rows are arranged, if they changed.
  void save();
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
  void use_keyboard();
  void use_character(unsigned character);
  /// Moves the flame chart, or by capitals the overview. Returns false for other characters.
  bool use_axis_character(unsigned character);
  void use_arrows(bool shift);
  void jump_to_search(bool forward);
  void draw_cover(const Area& area, const TimeAxis& axis, TimeRange range, ImU32 colour);
  [[nodiscard]] std::string title_of(const TrackDeclaration& track) const { return names_.title(track); }
  [[nodiscard]] const NameLook& look_of(base::SiteOrName what) { return names_.look(what, theme_); }
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
  Gesture chart_frames_gesture_;
  float flame_scroll_ = 0;
  float rows_scroll_by_ = 0;        // requested by a key
  std::optional<SpanKey> hovered_;  // in the last frame
  bool shows_flows_ = false;        // all, however many
  bool unfolds_constants_ = false;
  Filter metric_filter_{"##metrics", "filter metrics"};
  MetricRowsKey metric_rows_key_;
  std::vector<MetricRow> metric_rows_;
  std::vector<FamilyRow> families_;
  std::unordered_map<std::uint32_t, std::pair<std::size_t, std::size_t>> family_places_;  // by metric: which, and where
  std::size_t families_declared_ = 0;  // the number of declared metrics that families_ are of
  std::uint32_t families_toggled_ = 0;
  std::size_t constant_rows_ = 0;             // the last ones
  std::vector<std::uint32_t> shown_metrics_;  // from top to bottom
  std::vector<std::uint32_t> shown_tracks_;
  std::uint64_t tracks_layout_ = 0;      // the layout that shown_tracks_ are of
  std::optional<RowPlace> hovered_row_;  // in the last frame
  std::optional<RowPlace> moved_row_;    // the one that a key acted on, until the pointer moves
  RowPlace menu_row_;
  bool opens_row_menu_ = false;
  bool shows_help_ = false;
  std::vector<Command> commands_;  // of all menus in this frame, those that can be taken
  bool opens_palette_ = false;
  Filter palette_text_{"##command", "a few letters of a command"};
  std::size_t palette_place_ = 0;  // among those found
  Names names_;
  std::vector<std::unique_ptr<Tab>> tabs_;  // none on one side of a comparison
  std::size_t last_tab_ = 0;
  std::optional<std::size_t> tab_before_;  // the search
  bool is_tab_open_ = false;
  float dock_share_ = 0.45F;
  float overview_share_ = 0.36F;
  std::string range_text_;
  TimeRange last_view_;      // of the flame chart
  TimeRange last_overview_;  // the last one while it was
  std::int64_t shared_longest_ns_ = 0;
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
  Arrangement arrangement_;
  bool is_arranged_anew_ = false;  // since it was saved
  double set_target_ms_ = 0;       // the target that arrangement_ knows of
  bool shows_source_ = false;
  std::string source_file_;  // the one that was read last
  std::string source_;
  KeptList<InnerList> inner_;
};

}  // namespace kymo::panel
