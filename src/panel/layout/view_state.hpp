// The state of the panel and the actions on it. Draws nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"
#include "panel/layout/flame_layout.hpp"
#include "panel/layout/frame_layout.hpp"
#include "panel/layout/mark_layout.hpp"
#include "panel/layout/metric_layout.hpp"
#include "panel/layout/state_layout.hpp"
#include "panel/layout/time_axis.hpp"
#include "panel/lists/notes.hpp"

namespace kymo::panel {

/// A selected message.
struct ChosenMessage {
  std::int64_t time_ns = 0;
  TrackId track;
  std::uint64_t count = 1;  ///< the number of messages it represents
  std::string text;
  bool is_cut = false;
};

/// Two time axes; the pinned, selected, searched and measured items; and the layouts for both axes, recomputed only
/// when an input changes.
class ViewState {
 public:
  /// Narrower frames and samples are joined.
  static constexpr double least_bar_pixels = 3;

  ViewState(std::shared_ptr<BlockProvider> provider, const DataOptions& options);

  /// Call once a frame before drawing: takes and follows new data, and takes the worker's results.
  void begin_frame();
  /// Call once a frame after drawing.
  void end_frame() { data_.request_missing(); }

  [[nodiscard]] PanelData& data() { return data_; }
  [[nodiscard]] const PanelData& data() const { return data_; }
  /// The axis of frame bars and metric rows, and the axis of the flame chart.
  [[nodiscard]] TimeAxis& overview() { return overview_; }
  [[nodiscard]] TimeAxis& flame() { return flame_; }

  /// Lets both axes go beyond the data, as far as another capture beside it goes.
  void set_room(const std::optional<TimeRange>& room);

  /// While paused, neither new data nor the view moves.
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  void pause();
  /// Unpins, continues if paused, and follows the newest data.
  void follow_newest();
  /// Unpins and, if data is still arriving, shows the latest again.
  void resume();
  void toggle_pause() { is_paused_ ? resume() : pause(); }
  /// Whether the view follows the newest data.
  [[nodiscard]] bool follows() const { return follows_ && !is_paused_ && data_.provider().is_live(); }

  /// The selected frame stream; the first one by default.
  [[nodiscard]] FrameStreamId stream() const;
  void choose_stream(FrameStreamId stream) { stream_ = stream; }
  /// Selects the next stream.
  void choose_next_stream();
  [[nodiscard]] const std::optional<Frame>& pinned() const { return pinned_; }
  /// Pauses and shows a frame in the flame chart.
  void pin(const Frame& frame);
  /// Pauses and pins a frame, or none, where the flame chart is.
  void pin_out_of_view(const std::optional<Frame>& frame);
  /// Pins the longest frame of a range once it is known exactly.
  void pin_longest(TimeRange range);
  /// Pins and shows the longest frame of a bar.
  void pin_bar(const FrameBar& bar);
  /// Pins and shows the frame at a time once it is known exactly; shows only the time if there is none.
  void pin_at(std::int64_t time_ns);
  /// Pins and shows the frame of this number, from 1 on, once it is found; none if there is no such frame.
  void pin_number(FrameNumber number);
  /// Pins the next frame, or the previous one.
  void step_frame(bool forward);
  /// Zooms both axes to a range and pins the longest frame in it.
  void zoom_to(TimeRange range);
  /// Does the same with the measured range, if any.
  void zoom_to_measured();
  /// Resets the flame chart to the pinned frame, or to everything.
  void reset_flame();
  /// Shows everything in the overview above it.
  void reset_overview() { overview_.fit(); }
  /// Shows both axes' ranges of before (or after) the last change of the flame chart's, as often as there are any.
  void go_back();
  void go_forward();
  /// Remembers a range at which the flame chart rested, if it differs from the last one remembered, with the
  /// overview's.
  void remember_view(TimeRange flame, TimeRange overview);
  /// Stops following after the user moved an axis.
  void hold() { follows_ = false; }

  [[nodiscard]] const std::optional<SpanKey>& selected() const { return selected_; }
  /// Selects a span and looks up its facts.
  void select(const SpanKey& key);
  /// Selects a span and shows it in the flame chart with its surroundings.
  void go_to(const SpanKey& key);
  /// Shows a time in the middle of the flame chart.
  void go_to(std::int64_t time_ns);
  void deselect();
  /// Selects the selected span's neighbour in the visible flame chart, or the span in its middle if none is selected.
  void select_neighbour(Neighbour which);
  [[nodiscard]] const std::optional<ChosenMessage>& message() const { return message_; }
  void choose_message(const MessageMark& mark);
  void choose_message(ChosenMessage message);
  /// Selects the next (or previous) message in the visible flame chart.
  void step_message(bool forward);
  /// The site that is highlighted and that jumps visit; 0: none.
  [[nodiscard]] SiteId marked_site() const { return marked_site_; }
  void mark_site(SiteId site) {
    marked_lengths_ = site == marked_site_ ? marked_lengths_ : LengthRange{};
    marked_site_ = site;
  }
  /// The site whose inside trees are of; 0: all.
  [[nodiscard]] SiteId focused_site() const { return focused_site_; }
  /// Focuses the marked site; if there is a focus already, ends it.
  void focus_marked_site() { focused_site_ = focused_site_ ? SiteId{} : marked_site_; }
  /// The functions whose samples are highlighted.
  [[nodiscard]] const std::unordered_set<FunctionId>& marked_functions() const { return marked_functions_; }
  void mark_functions(std::unordered_set<FunctionId> functions) { marked_functions_ = std::move(functions); }
  /// The frames or scopes that are lit as evidence, and a way there if none of them is in the flame chart.
  [[nodiscard]] const std::vector<Instance>& lit() const { return lit_; }
  void light(std::vector<Instance> instances);
  /// The lengths of the marked site's scopes that are highlighted, and those of frames.
  [[nodiscard]] LengthRange marked_lengths() const { return marked_lengths_; }
  void mark_lengths(LengthRange lengths) { marked_lengths_ = lengths; }
  [[nodiscard]] LengthRange marked_frames() const { return marked_frames_; }
  void mark_frames(LengthRange lengths) { marked_frames_ = lengths; }
  /// Selects the next (previous) scope of the marked site and scrolls to it, some frames later.
  void jump(bool forward);
  /// Whether the last jump found nothing.
  [[nodiscard]] bool has_jumped_in_vain() const { return has_jumped_in_vain_; }

  /// The measured range.
  [[nodiscard]] const std::optional<TimeRange>& measured() const { return measured_; }
  void measure(std::optional<TimeRange> range) { measured_ = range; }
  /// Measures the selected span, so that tables cover it.
  void measure_selected();
  /// The text that is searched for; empty: none.
  void search_for(const std::string& text) { search_ = text; }
  [[nodiscard]] const std::string& search() const { return search_; }
  /// Asks for a track or a metric to be scrolled to. The views take this once.
  void show_track(TrackId track) {
    wanted_track_ = track;
    tracks_.show_title(track);
  }
  void show_metric(MetricId metric) { wanted_metric_ = metric; }
  [[nodiscard]] std::optional<TrackId> take_wanted_track() { return std::exchange(wanted_track_, std::nullopt); }
  [[nodiscard]] std::optional<MetricId> take_wanted_metric() { return std::exchange(wanted_metric_, std::nullopt); }

  [[nodiscard]] Notes& notes() { return notes_; }
  /// Notes the flame chart's range, so that it can be gone back to.
  void bookmark();

  /// The range that tables cover: what is measured, else the pinned frame, else all time.
  [[nodiscard]] TimeRange table_range() const;

  [[nodiscard]] const FrameBars& frame_bars(double least_pixels);
  [[nodiscard]] const std::vector<MetricSteps>& metrics(double least_pixels);
  /// `options.tracks` is the view's own.
  [[nodiscard]] const FlameLayout& flame_layout(const FlameOptions& options);
  /// The last one.
  [[nodiscard]] const FlameLayout& flame_layout() const { return flame_layout_; }
  /// Whether the next frame may differ though nothing moves: data are being read, or the flame chart may have room for
  /// more.
  [[nodiscard]] bool is_busy() const { return data_.is_busy() || flame_is_draft_ || number_wish_; }
  /// The arrangement of tracks: threads, the main one first, then fibers, locks, queues and async lanes.
  [[nodiscard]] TrackView& tracks() { return tracks_; }
  /// The user's arrangement of metric rows.
  [[nodiscard]] RowOrder& metric_order() { return metric_order_; }
  [[nodiscard]] const RowOrder& metric_order() const { return metric_order_; }
  /// The marks for the last flame_layout().
  [[nodiscard]] const MarkLayout& marks() const { return mark_layout_; }
  /// The run states for the last flame_layout(). Below its lines, CPUs have lanes, and threads without tracks.
  [[nodiscard]] const StateLayout& states() const { return state_layout_; }
  [[nodiscard]] const LaneGroup& cpu_group() const { return cpu_group_; }
  [[nodiscard]] const LaneGroup& scopeless_group() const { return scopeless_group_; }
  void fold_cpus(bool is_folded) { cpu_group_.is_folded = is_folded; }
  void fold_scopeless(bool is_folded) { folds_scopeless_ = is_folded; }
  /// Those that a track recorded.
  [[nodiscard]] const std::vector<ThreadId>& threads_of(TrackId track) { return thread_tracks_[track]; }
  /// The track of an observed thread; 0: none.
  [[nodiscard]] TrackId track_of(ThreadId thread) const {
    const auto track = threads_.find(thread);
    return track == threads_.end() ? TrackId{} : track->second;
  }
  [[nodiscard]] const std::vector<std::uint32_t>& cpus() const { return cpus_; }
  /// The observed threads without tracks in the chart: those of a process follow its main thread.
  [[nodiscard]] const std::vector<ThreadId>& scopeless_threads() const { return scopeless_threads_; }
  /// The frames of the flame chart's range. Those narrower than 3 pixels are joined.
  [[nodiscard]] const FrameBars& chart_frames();
  /// The number of a frame, from 1 on; nothing while it is being counted, or if earlier frames are gone. `asker`: one
  /// of the askers for numbers, which asks for one frame at a time.
  [[nodiscard]] std::optional<FrameNumber> frame_number(const Frame& frame, Asker asker);
  /// The sync points in the overview.
  [[nodiscard]] const std::vector<SyncMark>& overview_sync_points();
  /// Number of layouts computed. An idle view computes none.
  [[nodiscard]] std::uint64_t layouts_made() const { return layouts_made_; }
  /// The number of those that were of metrics: what metrics() returned is valid until it increases.
  [[nodiscard]] std::uint64_t metrics_made() const { return metrics_made_; }

 private:
  /// A place in the history of views.
  struct View {
    TimeRange flame;
    TimeRange overview;
  };

  /// The inputs of a layout.
  struct LayoutKey {
    std::uint64_t revision = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    double width = 0;
    double least_pixels = 0;
    std::uint32_t detail = 0;      // the stream, or the first line
    std::uint32_t end_detail = 0;  // the line after the last
    std::uint32_t tracks = 0;      // version of their arrangement
    std::uint32_t folds = 0;       // of groups of lanes
    [[nodiscard]] bool operator==(const LayoutKey&) const = default;
  };

  /// A frame to pin once it is known: the longest of a range.
  struct PinWish {
    TimeRange range;
    bool is_shown = false;     // the flame chart shows it
    bool is_followed = false;  // the overview moves to it if it does not show it
  };

  void show_view(const View& view);
  [[nodiscard]] bool is_new(LayoutKey& known, const LayoutKey& now);
  [[nodiscard]] LayoutKey key_of(const TimeAxis& axis, double least_pixels) const;
  const std::vector<Piece>& overview_pieces();
  void wish(const PinWish& pin);
  void resolve_pin();
  void resolve_number();
  void follow();
  void take_found();
  void show_span(const SpanKey& key);
  /// Finds the tracks of observed threads, and those threads that no shown track has, if either changed.
  void find_threads();
  void find_scopeless();
  void place_lanes();

  PanelData data_;
  TimeAxis overview_;
  TimeAxis flame_;
  std::optional<TimeRange> room_;
  bool is_paused_ = false;
  bool follows_ = false;
  FrameStreamId stream_;
  std::optional<Frame> pinned_;
  std::optional<PinWish> pin_wish_;  // still being searched for
  /// A frame to pin once its start is found: it is in the range.
  struct NumberWish {
    FrameNumber number = 0;
    TimeRange range;
  };
  std::optional<NumberWish> number_wish_;
  std::optional<SpanKey> selected_;
  std::optional<ChosenMessage> message_;
  SiteId marked_site_;
  SiteId focused_site_;
  LengthRange marked_lengths_;
  LengthRange marked_frames_;
  std::unordered_set<FunctionId> marked_functions_;
  std::vector<Instance> lit_;
  bool has_jumped_in_vain_ = false;
  std::optional<TimeRange> measured_;
  std::string search_;
  Notes notes_;
  std::optional<TrackId> wanted_track_;
  std::optional<MetricId> wanted_metric_;
  std::vector<View> views_;  // the earliest first
  std::size_t view_ = 0;     // the place after the present one

  LayoutKey pieces_key_;
  std::vector<Piece> overview_pieces_;
  std::vector<Piece> past_;      // before the overview
  bool has_new_pieces_ = false;  // from which holds_ has not learned
  LayoutKey bars_key_;
  FrameBars bars_;
  LayoutKey metrics_key_;
  std::vector<MetricSteps> metrics_;
  MetricHolds holds_;
  RowOrder metric_order_{1};
  LayoutKey sync_key_;
  std::vector<SyncMark> sync_points_;
  LayoutKey chart_frames_key_;
  FrameBars chart_frames_;
  /// Of one frame each.
  struct KnownNumber {
    std::uint64_t revision = 0;
    FrameStreamId stream;
    std::int64_t start_ns = 0;
    std::optional<FrameNumber> number;
  };
  std::array<KnownNumber, asker_count> numbers_;
  TrackView tracks_;
  LayoutKey flame_key_;
  FlameLayout flame_layout_;
  bool flame_is_draft_ = false;
  MarkLayout mark_layout_;
  StateLayout state_layout_;
  LaneGroup cpu_group_;
  LaneGroup scopeless_group_;
  std::optional<bool> folds_scopeless_;                               // else many are
  std::vector<std::uint32_t> cpus_;                                   // seen so far
  std::vector<ThreadId> scopeless_threads_;                           // those observed that no shown track has
  std::unordered_map<ThreadId, TrackId> threads_;                     // those observed
  std::unordered_map<TrackId, std::vector<ThreadId>> thread_tracks_;  // likewise
  /// The numbers of threads and tracks declared then, and a hash of the tracks shown.
  std::tuple<std::size_t, std::size_t, std::uint64_t> threads_of_;
  std::uint64_t layouts_made_ = 0;
  std::uint64_t metrics_made_ = 0;
};

}  // namespace kymo::panel
