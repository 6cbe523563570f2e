// What the panel shows and what can be done to it. Nothing is drawn here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panel/flame_layout.hpp"
#include "panel/frame_layout.hpp"
#include "panel/mark_layout.hpp"
#include "panel/panel_data.hpp"
#include "panel/time_axis.hpp"

namespace kymo::panel {

/// A message that was chosen.
struct ChosenMessage {
  std::int64_t time_ns = 0;
  TrackId track = 0;
  std::uint64_t count = 1;  ///< it stands for so many
  std::string text;
  bool is_cut = false;
};

/// Two time axes, what is pinned, selected, searched for and measured; and the layouts of what both axes show, which
/// are worked out again only when something they depend on changed.
class ViewState {
 public:
  /// Narrower frames and samples are drawn together.
  static constexpr double least_bar_pixels = 3;

  ViewState(std::shared_ptr<BlockProvider> provider, const DataOptions& options);

  /// Once a frame, before anything is drawn: takes over new data, follows it, and what the worker has found.
  void begin_frame();
  /// Once a frame, after everything was drawn.
  void end_frame() { data_.request_missing(); }

  [[nodiscard]] PanelData& data() { return data_; }
  [[nodiscard]] const PanelData& data() const { return data_; }
  /// The axis that frame bars and metric rows share, and the flame chart's.
  [[nodiscard]] TimeAxis& overview() { return overview_; }
  [[nodiscard]] TimeAxis& flame() { return flame_; }

  /// Paused, nothing moves: neither new data nor what is shown.
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  void pause();
  /// Unpins, goes on where it was paused, and shows the newest as it comes.
  void follow_newest();
  /// Unpins and, where data still comes, shows the latest again.
  void resume();
  void toggle_pause() { is_paused_ ? resume() : pause(); }
  /// Whether the newest data is shown as it comes.
  [[nodiscard]] bool follows() const { return follows_ && !is_paused_; }

  /// The frame stream that is shown: the first one's, until another is chosen.
  [[nodiscard]] FrameStreamId stream() const;
  void choose_stream(FrameStreamId stream) { stream_ = stream; }
  /// The next stream after the one that is shown.
  void choose_next_stream();
  [[nodiscard]] const std::optional<Frame>& pinned() const { return pinned_; }
  /// Pauses and shows a frame in the flame chart.
  void pin(const Frame& frame);
  /// Pins the longest frame of a range, as soon as it is known exactly.
  void pin_longest(TimeRange range);
  /// Pins the frame at a time and shows it, as soon as it is known exactly; where there is none, the time alone.
  void pin_at(std::int64_t time_ns);
  /// Pins the next frame, or the previous one.
  void step_frame(bool forward);
  /// Zooms both axes to a range and pins the longest frame in it.
  void zoom_to(TimeRange range);
  /// The same to what is measured, where anything is.
  void zoom_to_measured();
  /// Shows the pinned frame, or everything, in the flame chart.
  void reset_flame();
  /// Shows everything above it.
  void reset_overview() { overview_.fit(); }
  /// A hand on an axis: what is shown stays where it was put.
  void hold() { follows_ = false; }

  [[nodiscard]] const std::optional<SpanKey>& selected() const { return selected_; }
  /// Selects a span and looks up its facts.
  void select(const SpanKey& key);
  void deselect();
  /// Selects what is next to the selected span in what the flame chart shows, else the span in its middle.
  void select_neighbour(Neighbour which);
  [[nodiscard]] const std::optional<ChosenMessage>& message() const { return message_; }
  void choose_message(const MessageMark& mark);
  /// The next message (or the previous one) of what the flame chart shows.
  void step_message(bool forward);
  /// The site that is stood out and jumped between; 0: none.
  [[nodiscard]] SiteId marked_site() const { return marked_site_; }
  void mark_site(SiteId site) { marked_site_ = site; }
  /// Selects the next (previous) scope of the marked site and brings it into view, some frames later.
  void jump(bool forward);
  [[nodiscard]] bool is_jumping() const { return is_jumping_; }
  /// The last jump found nothing.
  [[nodiscard]] bool has_jumped_in_vain() const { return has_jumped_in_vain_; }

  /// What is measured: from where to where.
  [[nodiscard]] const std::optional<TimeRange>& measured() const { return measured_; }
  void measure(std::optional<TimeRange> range) { measured_ = range; }

  [[nodiscard]] const FrameBars& frame_bars(double least_pixels);
  [[nodiscard]] const std::vector<MetricSteps>& metrics(double least_pixels);
  [[nodiscard]] const FlameLayout& flame_layout(const FlameOptions& options);
  /// Of what flame_layout() was asked for last.
  [[nodiscard]] const MarkLayout& marks() const { return mark_layout_; }
  /// What the overview shows of them.
  [[nodiscard]] const std::vector<SyncMark>& overview_sync_points();
  /// How often a layout was worked out: an idle view works out none.
  [[nodiscard]] std::uint64_t layouts_made() const { return layouts_made_; }

 private:
  /// What a layout depends on.
  struct LayoutKey {
    std::uint64_t revision = 0;
    TimeRange range;
    double width = 0;
    double least_pixels = 0;
    std::uint32_t detail = 0;      // the stream, or the first line
    std::uint32_t end_detail = 0;  // the line after the last
    [[nodiscard]] bool operator==(const LayoutKey& other) const;
  };

  [[nodiscard]] bool is_new(LayoutKey& known, const LayoutKey& now);
  [[nodiscard]] LayoutKey key_of(const TimeAxis& axis, double least_pixels) const;
  const std::vector<Piece>& overview_pieces();
  void resolve_pin();
  void follow();
  void take_found();

  PanelData data_;
  TimeAxis overview_;
  TimeAxis flame_;
  bool is_paused_ = false;
  bool follows_ = false;
  FrameStreamId stream_ = 0;
  std::optional<Frame> pinned_;
  std::optional<TimeRange> pin_range_;  // the longest frame of it is still looked for
  bool shows_pin_ = false;              // and is shown when it is found
  std::optional<SpanKey> selected_;
  std::optional<ChosenMessage> message_;
  SiteId marked_site_ = 0;
  bool is_jumping_ = false;
  bool has_jumped_in_vain_ = false;
  std::optional<TimeRange> measured_;

  LayoutKey pieces_key_;
  std::vector<Piece> overview_pieces_;
  LayoutKey bars_key_;
  FrameBars bars_;
  LayoutKey metrics_key_;
  std::vector<MetricSteps> metrics_;
  LayoutKey sync_key_;
  std::vector<SyncMark> sync_points_;
  LayoutKey flame_key_;
  FlameLayout flame_layout_;
  MarkLayout mark_layout_;
  std::uint64_t layouts_made_ = 0;
};

}  // namespace kymo::panel
