// Statistics of stretches of time one by one: the slowest frames with what filled them, and phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/selection.hpp"
#include "stats/statistics.hpp"

namespace kymo::stats {

/// A frame of a process's main stream.
struct SlowFrame {
  ProcessId process = 0;
  std::uint64_t index = 0;  ///< frames of a stream count from 0
  Frame frame;
  std::vector<SiteStatistics>
      sites;  ///< of the frame's process, all threads, what lies in the frame; by falling self time
  std::vector<SpanStatistics> spans;
};

struct StretchOptions {
  SelectionOptions selection;  ///< frames and phases that lie in it as a whole, and within them only what it takes
  bool by_process = false;     ///< as in StatisticsOptions
  std::function<void(double)> on_progress = {};
};

struct SlowFrames {
  std::vector<SlowFrame> frames;  ///< by falling duration
  std::uint64_t frames_in_all = 0;
  std::int64_t median_ns = 0;  ///< of all
};

/// The slowest frames. A pass over what is not scopes, and the blocks of each of these frames.
[[nodiscard]] SlowFrames find_slowest_frames(const Timeline& timeline, std::size_t count,
                                             const StretchOptions& options = {});

struct PhaseStatistics {
  Phase phase;
  Statistics statistics;  ///< of the phase's process
};

/// What each phase amounts to, by ascending start. Costs what decoding the blocks of all phases costs.
[[nodiscard]] std::vector<PhaseStatistics> gather_phases(const Timeline& timeline, const StretchOptions& options = {});

}  // namespace kymo::stats
