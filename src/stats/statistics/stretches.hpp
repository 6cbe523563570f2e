// Statistics of single time intervals: the slowest frames with their contents, and phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/common/selection.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

/// A frame of a process's main stream.
struct SlowFrame {
  ProcessId process;
  FrameNumber number = 1;
  Frame frame;
  std::vector<SiteStatistics>
      sites;  ///< sites of the frame's process, all threads, clipped to the frame; by descending self time
  std::vector<SpanStatistics> spans;
};

struct StretchOptions {
  SelectionOptions selection;  ///< only frames and phases entirely inside count, and in them only the selected part
  bool by_process = false;     ///< as in StatisticsOptions
  std::function<void(double)> on_progress = {};
};

struct SlowFrames {
  std::vector<SlowFrame> frames;  ///< by descending duration
  std::uint64_t frames_in_all = 0;
  std::int64_t median_ns = 0;  ///< of all
};

/// The slowest frames. Costs a pass over all data except scopes, and the blocks of each of these frames.
[[nodiscard]] SlowFrames find_slowest_frames(const Timeline& timeline, std::size_t count,
                                             const StretchOptions& options = {});

struct PhaseStatistics {
  Phase phase;
  Statistics statistics;  ///< of the phase's process
};

/// Statistics of each phase, by ascending start. Decodes the blocks of all phases.
[[nodiscard]] std::vector<PhaseStatistics> gather_phases(const Timeline& timeline, const StretchOptions& options = {});

}  // namespace kymo::stats
