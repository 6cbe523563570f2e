// The frames tab: how frame times are spread, and the slowest frames.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/histogram.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::panel {

namespace {

class FrameRows final : public TableRows {
 public:
  enum Column : std::size_t { number_column, start_column, duration_column, target_column };

  FrameRows(TabContext& context, const FrameList& list)
      : list_(list), good_ns_(context.targets.good_ms * 1e6), origin_ns_(context.state.data().range().start_ns) {}

  [[nodiscard]] std::size_t count() const override { return list_.slowest.size(); }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const FrameList::Row& frame = list_.slowest[row];
    switch (column) {
      case number_column:
        return frame.number == 0 ? "-" : count_text(frame.number);
      case target_column:
        return value_text(number(row, column), "x");
      default:
        return duration_text(static_cast<std::int64_t>(number(row, column)));
    }
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const FrameList::Row& frame = list_.slowest[row];
    const auto duration_ns = static_cast<double>(frame.frame.duration_ns);
    switch (column) {
      case number_column:
        return frame.number == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(frame.number);
      case start_column:
        return static_cast<double>(frame.frame.start_ns - origin_ns_);
      case duration_column:
        return duration_ns;
      default:
        return good_ns_ > 0 ? duration_ns / good_ns_ : 0;
    }
  }

 private:
  const FrameList& list_;
  double good_ns_;
  std::int64_t origin_ns_;
};

class FramesTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Frames"; }

  void draw(TabContext& context) override {
    // The pinned frame is one of those listed; it does not limit them.
    const auto& measured = context.state.measured();
    const bool is_measured = measured && measured->end_ns > measured->start_ns;
    focus_.keep_fresh(
        context,
        ListKey(is_measured ? *measured : TimeRange{}, context.state.stream().value(), context.state.marked_frames()),
        list_);
    const bool is_reading = list_.is_reading() || focus_.is_reading();
    const FrameList& frames = list_.list();
    const FrameRows rows(context, frames);
    draw_target(context.targets);
    draw_focus_button(context);
    // The shares of the target change with it.
    version_ += target_ns_ != context.targets.good_ms * 1e6 ? std::uint64_t{1} << 32U : 0;
    target_ns_ = context.targets.good_ms * 1e6;
    table_.update(rows, version_ + list_.version());
    const std::uint64_t count = frames.durations.count;
    say(count == 0
            ? std::string(is_reading                     ? "reading..."
                          : context.state.focused_site() ? "no frames with it"
                                                         : "no frames: mark them with kymo::frame_mark()")
            : count_text(count) + (count == 1 ? " frame" : " frames") + "   p50 " +
                  duration_text(frames.durations.p50_ns) + "   p95 " + duration_text(frames.durations.p95_ns) +
                  "   p99 " + duration_text(frames.durations.p99_ns) + "   longest " +
                  duration_text(frames.durations.max_ns) + focus_.limit_text() + (is_reading ? "   reading..." : ""));
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::BeginChild("slowest", ImVec2(width * 0.45F, 0));
    const TableUse use = table_.draw(rows, chosen(context), 0, context.theme);
    if (use.clicked) {
      context.state.pin(frames.slowest[*use.clicked].frame);
    }
    ImGui::EndChild();
    ImGui::SameLine();
    ImGui::BeginChild("spread", ImVec2(0, 0));
    draw_durations(context, frames);
    ImGui::EndChild();
  }

  void choose_row(TabContext& context, bool down) override {
    const FrameList& frames = list_.list();
    if (const auto next = table_.neighbour(chosen(context), down); next && *next < frames.slowest.size()) {
      context.state.pin(frames.slowest[*next].frame);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void light_next_bar(TabContext& context) override {
    context.state.mark_frames(next_lengths(list_.list().durations, context.state.marked_frames()));
  }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(FrameRows(context, list_.list()), as);
  }

 private:
  /// Sets the thresholds by frames a second: the first one at that rate, the second one at half of it.
  static void draw_target(FrameTargets& targets) {
    float rate = targets.good_ms > 0 ? static_cast<float>(1000 / targets.good_ms) : 0;
    ImGui::SetNextItemWidth(ImGui::GetFontSize() * 4);
    if (ImGui::InputFloat("target fps", &rate, 0, 0, "%.3g", ImGuiInputTextFlags_EnterReturnsTrue) && rate > 0.01F &&
        rate < 100'000) {
      targets.set(1000 / double{rate});
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
  }

  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const {
    const auto& pinned = context.state.pinned();
    const auto& rows = list_.list().slowest;
    const auto found = std::find_if(rows.begin(), rows.end(), [&pinned](const FrameList::Row& row) {
      return pinned && row.frame.start_ns == pinned->start_ns;
    });
    return found == rows.end() ? std::nullopt
                               : std::optional<std::size_t>(static_cast<std::size_t>(found - rows.begin()));
  }

  static void draw_durations(TabContext& context, const FrameList& frames) {
    HistogramBars bars = bars_of(frames.durations);
    bars.targets_ns = {context.targets.good_ms * 1e6, context.targets.slow_ms * 1e6};
    bars.title = "frame times, on a logarithmic scale";
    const LengthRange marked = context.state.marked_frames();
    bars.marked = marked;
    if (const auto clicked = draw_histogram(bars, context.theme, context.tip)) {
      context.state.mark_frames(lengths_after_click(frames.durations, *clicked, marked));
    }
  }

  Focus focus_;
  KeptList<FrameList> list_;
  std::uint64_t version_ = 0;  // of the target, in its upper half
  double target_ns_ = 0;
  Table table_{"frames", {{"frame"}, {"at"}, {"duration"}, {"of target"}}, FrameRows::duration_column};
};

}  // namespace

std::unique_ptr<Tab> make_frames_tab() {
  return std::make_unique<FramesTab>();
}

}  // namespace kymo::panel
