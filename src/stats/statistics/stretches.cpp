// Statistics of single time intervals.
#include "stats/statistics/stretches.hpp"

#include <algorithm>
#include <utility>

#include "capture/merge/id_translation.hpp"

namespace kymo::stats {

namespace {

/// The part of one interval of a process that a selection takes.
Statistics gather_stretch(const Timeline& timeline, const StretchOptions& options, ProcessId process, TimeRange range) {
  SelectionOptions chosen;
  chosen.sites = options.selection.sites;
  chosen.threads = options.selection.threads;
  chosen.process = process;
  chosen.time = range;
  StatisticsOptions how;
  how.keeps_histograms = true;
  how.by_process = options.by_process;
  how.selection = Selection(timeline, chosen);
  return gather_statistics(timeline, how);
}

/// Keeps the slowest of the frames added; of equals, the earlier. Holds up to twice as many.
class Slowest {
 public:
  explicit Slowest(std::size_t count) : count_(count) {}

  void add(SlowFrame frame) {
    frames_.push_back(std::move(frame));
    if (frames_.size() >= 64 && frames_.size() / 2 > count_) {
      keep();
    }
  }
  [[nodiscard]] std::vector<SlowFrame> take() {
    keep();
    return std::move(frames_);
  }

 private:
  void keep() {
    std::stable_sort(frames_.begin(), frames_.end(),
                     [](const SlowFrame& a, const SlowFrame& b) { return a.frame.duration_ns > b.frame.duration_ns; });
    frames_.resize(std::min(count_, frames_.size()));
  }

  std::size_t count_;
  std::vector<SlowFrame> frames_;
};

bool lies_in(TimeRange range, std::int64_t start_ns, std::int64_t end_ns) {
  return start_ns >= range.start_ns && end_ns <= range.end_ns;
}

}  // namespace

SlowFrames find_slowest_frames(const Timeline& timeline, std::size_t count, const StretchOptions& options) {
  const Selection selection(timeline, options.selection);
  SlowFrames found;
  Slowest slowest(count);
  std::vector<std::int64_t> durations;
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    if (!stream.name.empty()) {
      continue;
    }
    const TimeRange range = selection.range_of(stream.process);
    const std::vector<Frame> frames = timeline.frames(stream.id);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (lies_in(range, frames[i].start_ns, capture::add_times(frames[i].start_ns, frames[i].duration_ns))) {
        durations.push_back(frames[i].duration_ns);
        slowest.add({stream.process, i + 1, frames[i], {}, {}});
      }
    }
  }
  found.frames_in_all = durations.size();
  found.frames = slowest.take();
  if (!durations.empty()) {
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>((durations.size() - 1) / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    found.median_ns = *middle;
  }
  for (std::size_t i = 0; i < found.frames.size(); ++i) {
    SlowFrame& slow = found.frames[i];
    const std::int64_t end_ns = capture::add_times(slow.frame.start_ns, slow.frame.duration_ns);
    Statistics statistics = gather_stretch(timeline, options, slow.process, {slow.frame.start_ns, end_ns});
    std::stable_sort(statistics.sites.begin(), statistics.sites.end(),
                     [](const SiteStatistics& a, const SiteStatistics& b) { return a.self_ns > b.self_ns; });
    slow.sites = std::move(statistics.sites);
    slow.spans = std::move(statistics.spans);
    if (options.on_progress) {
      options.on_progress(static_cast<double>(i + 1) / static_cast<double>(found.frames.size()));
    }
  }
  return found;
}

std::vector<PhaseStatistics> gather_phases(const Timeline& timeline, const StretchOptions& options) {
  const Selection selection(timeline, options.selection);
  std::vector<PhaseStatistics> found;
  const std::vector<Phase> phases = timeline.phases();
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    if (lies_in(selection.range_of(phase.process), phase.start_ns, phase.end_ns)) {
      found.push_back({phase, gather_stretch(timeline, options, phase.process, {phase.start_ns, phase.end_ns})});
    }
    if (options.on_progress) {
      options.on_progress(static_cast<double>(i + 1) / static_cast<double>(phases.size()));
    }
  }
  return found;
}

}  // namespace kymo::stats
