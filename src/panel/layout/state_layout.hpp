// The positions of threads' run states and of what ran on each CPU. Draws nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "panel/layout/flame_layout.hpp"

namespace kymo::panel {

/// A run state, or what a few pixels hold of several: of a thread by state, of a CPU only running.
struct StateBox {
  float left = 0;  ///< pixels from the axis's left end
  float right = 0;
  std::array<float, 3> shares{};  ///< of its width, by RunState; what is missing is not known, of a CPU idle
  std::uint32_t what = 0;  ///< the CPU plus 1, of a CPU's lane the thread's id; of several that of most of the time
  bool is_one = false;
  std::int64_t start_ns = 0;  ///< if it is one
  std::int64_t end_ns = 0;

  [[nodiscard]] RunState state() const;  ///< the one with most of it
};

/// The lane of a track's threads, on the line of its title; that of a CPU, or of a thread without a track.
struct StateLane {
  TrackId track{};
  std::uint32_t cpu = 0;
  ThreadId thread{};
  std::uint32_t line = 0;
  std::vector<StateBox> boxes;  ///< by ascending left end
};

struct StateLayout {
  std::vector<StateLane> threads;    ///< those in view, by ascending line
  std::vector<StateLane> cpus;       ///< likewise
  std::vector<StateLane> scopeless;  ///< of threads without tracks, likewise
  double column_pixels = 0;          ///< for StatePlaces of the next layout, which is probably like this one
};

/// Lanes below all tracks: a line for their title, then one for each.
struct LaneGroup {
  std::uint32_t line = 0;  ///< that of the title
  std::uint32_t lanes = 0;
  bool is_folded = false;  ///< then the title stands alone

  [[nodiscard]] std::uint32_t lines() const { return lanes == 0 ? 0 : is_folded ? 1 : lanes + 1; }
};

/// What lays out run states needs of the chart.
struct StatePlaces {
  const FlameLayout& flame;
  const std::unordered_map<TrackId, std::vector<ThreadId>>& threads;  ///< those that tracks recorded
  const std::vector<std::uint32_t>& cpus;                             ///< those that have lanes
  const std::vector<ThreadId>& scopeless;                             ///< threads without tracks, likewise
  LaneGroup cpu_group;
  LaneGroup scopeless_group;
  std::uint32_t first_line = 0;  ///< the lines in view
  std::uint32_t end_line = 0xFFFFFFFF;
  double column_pixels = 0;  ///< narrower states are added up; at least two
};

/// Lays out the run states of pieces. States narrower than two pixels are added up; than more where lanes are many. The
/// cost depends on the lanes in view and on the pixels: where more states are in view, bins are drawn.
[[nodiscard]] StateLayout lay_out_states(const std::vector<Piece>& pieces, const TimeAxis& axis,
                                         const StatePlaces& places);

/// More CPUs, or threads without tracks, than these have no lanes.
constexpr std::size_t most_state_lanes = 1024;
/// Adds the CPUs that pieces name to those known, which ascend.
void add_cpus(const std::vector<Piece>& pieces, std::vector<std::uint32_t>& cpus);

/// The box of a lane at a pixel; nullptr if there is none.
[[nodiscard]] const StateBox* find_state(const std::vector<StateLane>& lanes, std::uint32_t line, double pixel);

/// The observed thread that was on a CPU at a time, as far as exact pieces tell; else none.
[[nodiscard]] ThreadId thread_on(const std::vector<Piece>& pieces, std::uint32_t cpu, std::int64_t time_ns);

/// The wake that ended a wait of one of the threads, as far as exact pieces tell.
[[nodiscard]] std::optional<ThreadWake> wake_of(const std::vector<Piece>& pieces, const std::vector<ThreadId>& threads,
                                                TimeRange wait);

}  // namespace kymo::panel
