// A flock of birds. Each one keeps its distance, aligns with its neighbours and approaches them, and drifts with the
// wind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workers.hpp"

namespace live_panel {

struct Vector {
  float x = 0;
  float y = 0;
};

struct Bird {
  Vector place;  ///< from 0 to 1 in both directions, wrapping around
  Vector velocity;
  std::uint32_t neighbours = 0;
};

class Flock {
 public:
  Flock(std::size_t count, Workers& workers);

  /// Advances by a duration.
  void step(float seconds);

  [[nodiscard]] const std::vector<Bird>& birds() const { return birds_; }
  [[nodiscard]] double mean_neighbours() const;
  [[nodiscard]] double mean_speed() const;

 private:
  static constexpr int cells = 24;  ///< per direction; neighbours are in the same or an adjacent cell
  static constexpr int winds = 160;

  void turn_wind();
  void sort_into_cells();
  void steer(std::size_t begin, std::size_t end, float seconds);

  Workers& workers_;
  std::vector<Bird> birds_;
  std::vector<Bird> next_;
  std::vector<std::vector<std::uint32_t>> cells_;
  std::vector<Vector> wind_;
  unsigned steps_ = 0;
};

}  // namespace live_panel
