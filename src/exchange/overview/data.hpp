// Gathers the data of an overview from a timeline.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <kymo/overview.hpp>
#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// A stretch of a lane in which scopes were open, with the site that covered most of it.
struct OverviewBlock {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double share = 0;  ///< covered share of the stretch, 0 to 1
  std::string_view name;
};

struct OverviewTrack {
  std::string name;
  std::vector<std::vector<OverviewBlock>> lanes;  ///< by depth
  double covered_ns = 0;                          ///< at depth 0
};

struct OverviewBin {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::uint64_t count = 0;
  bool ends_unknown = false;  ///< its last value could not be read

  void add(double value) {
    ends_unknown = !std::isfinite(value);
    if (ends_unknown) {
      return;
    }
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
    sum += value;
    ++count;
  }
  void add(const OverviewBin& other) {
    least = other.least < least ? other.least : least;
    greatest = other.greatest > greatest ? other.greatest : greatest;
    sum += other.sum;
    count += other.count;
  }
};

/// Values across the width of the picture, in equal stretches of time.
struct OverviewRow {
  std::string name;
  std::string unit;
  std::size_t metrics = 1;  ///< it is of so many together, such as the loads of all cores
  bool changes = false;     ///< any of these
  std::vector<OverviewBin> bins;
  OverviewBin all;
};

struct OverviewData {
  TimeRange range;
  std::vector<OverviewRow> frames;  ///< of each stream: durations in nanoseconds at their begins
  std::vector<OverviewTrack> tracks;
  std::vector<OverviewRow> metrics;
  std::size_t tracks_left_out = 0;
  std::size_t metrics_left_out = 0;
  std::size_t constant_metrics = 0;  ///< of the machine, not among `metrics`
};

/// Maximum depth of a track's lanes.
inline constexpr std::size_t overview_depths = 3;

[[nodiscard]] OverviewData gather_overview(const Timeline& timeline, const OverviewOptions& options, std::size_t bins);

}  // namespace kymo::exchange
