// A flock of birds: each keeps away from those close by, flies as its neighbours do and towards them, and the wind
// takes it along.
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
  Vector place;  ///< from 0 to 1 both ways; what leaves at one side comes back at the other
  Vector velocity;
  std::uint32_t neighbours = 0;
};

class Flock {
 public:
  Flock(std::size_t count, Workers& workers);

  /// Lets so much time pass.
  void step(float seconds);

  [[nodiscard]] const std::vector<Bird>& birds() const { return birds_; }
  [[nodiscard]] double mean_neighbours() const;
  [[nodiscard]] double mean_speed() const;

 private:
  static constexpr int cells = 24;  ///< each way; neighbours are in the cell and those around it
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
