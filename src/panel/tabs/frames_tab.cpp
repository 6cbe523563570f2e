// The frames tab: how frame times are spread, and the slowest frames.
#include <limits>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/histogram.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/table_tab.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::panel {

namespace {

class FramesTab final : public TableTab {
 public:
  FramesTab() : TableTab("Frames", Table("frames", by_duration)) {}

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
    draw_target(context.targets);
    draw_focus_button(context);
    // The shares of the target change with it.
    version_ += target_ns_ != context.targets.good_ms * 1e6 ? std::uint64_t{1} << 32U : 0;
    target_ns_ = context.targets.good_ms * 1e6;
    const TableRows shown = rows(context);
    table_.update(shown, version_ + list_.version());
    const std::uint64_t count = frames.durations.count;
    say(count == 0
            ? std::string(is_reading                     ? "reading..."
                          : context.state.focused_site() ? "no frames with it"
                          : context.state.stream()       ? "no whole frame here"
                                                         : "no frames: mark them with kymo::frame_mark()")
            : count_text(count) + (count == 1 ? " frame" : " frames") + "   p50 " +
                  duration_text(frames.durations.p50_ns) + "   p95 " + duration_text(frames.durations.p95_ns) +
                  "   p99 " + duration_text(frames.durations.p99_ns) + "   longest " +
                  duration_text(frames.durations.max_ns) + focus_.limit_text() + (is_reading ? "   reading..." : ""));
    const float width = ImGui::GetContentRegionAvail().x;
    ImGui::BeginChild("slowest", ImVec2(width * 0.45F, 0));
    draw_table(context, shown);
    ImGui::EndChild();
    ImGui::SameLine();
    ImGui::BeginChild("spread", ImVec2(0, 0));
    draw_durations(context, frames);
    ImGui::EndChild();
  }

  void light_next_bar(TabContext& context) override {
    context.state.mark_frames(next_lengths(list_.list().durations, context.state.marked_frames()));
  }

 private:
  static constexpr std::size_t by_duration = 2;

  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const std::vector<FrameList::Row>& frames = list_.list().slowest;
    const auto number_text = [&](std::size_t row) {
      return frames[row].number == 0 ? "-" : count_text(frames[row].number);
    };
    const auto number = [&](std::size_t row) {
      return frames[row].number == 0 ? std::numeric_limits<double>::quiet_NaN()
                                     : static_cast<double>(frames[row].number);
    };
    const auto duration_ns = [&](std::size_t row) { return static_cast<double>(frames[row].frame.duration_ns); };
    const auto of_target = [duration_ns, good_ns = context.targets.good_ms * 1e6](std::size_t row) {
      return good_ns > 0 ? duration_ns(row) / good_ns : 0;
    };
    return {frames.size(),
            {{"frame", 1, number_text, number},
             time_column(context, [&](std::size_t row) { return frames[row].frame.start_ns; }),
             duration_column("duration", duration_ns),
             number_column("of target", of_target, [](double share) { return value_text(share, "x"); })}};
  }

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

  void choose(TabContext& context, std::size_t row) override { context.state.pin(list_.list().slowest[row].frame); }
  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const override {
    const auto& pinned = context.state.pinned();
    return place_where(list_.list().slowest, [&pinned](const FrameList::Row& row) {
      return pinned && row.frame.start_ns == pinned->start_ns;
    });
  }

  static void draw_durations(TabContext& context, const FrameList& frames) {
    const HistogramLook look{"frame times, on a logarithmic scale",
                             {context.targets.good_ms * 1e6, context.targets.slow_ms * 1e6},
                             context.state.marked_frames()};
    if (const auto lengths = draw_histogram(frames.durations, look, context.theme, context.tip)) {
      context.state.mark_frames(*lengths);
    }
  }

  Focus focus_;
  KeptList<FrameList> list_;
  std::uint64_t version_ = 0;  // of the target, in its upper half
  double target_ns_ = 0;
};

}  // namespace

std::unique_ptr<Tab> make_frames_tab() {
  return std::make_unique<FramesTab>();
}

}  // namespace kymo::panel
