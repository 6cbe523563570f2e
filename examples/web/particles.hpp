// Discs that bounce off each other and the walls: the work of a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Lengths in pixels, times in seconds.
struct Particle {
  float x = 0;
  float y = 0;
  float speed_x = 0;
  float speed_y = 0;
  std::uint32_t colour = 0;  ///< in Dear ImGui's format: 0xAABBGGRR
};

class Particles {
 public:
  static constexpr float radius = 4;

  /// Discs with the same initial places and speeds in every run.
  Particles(std::size_t count, float width, float height);

  void resize(float width, float height) {
    width_ = width;
    height_ = height;
  }

  /// Moves all discs and lets touching ones bounce. Returns how many did.
  int step(float seconds);

  [[nodiscard]] const std::vector<Particle>& all() const { return particles_; }

 private:
  void move(float seconds);
  void sort_into_cells();
  int collide();
  [[nodiscard]] std::size_t cell_of(const Particle& particle) const;

  float width_;
  float height_;
  std::vector<Particle> particles_;
  // Cells are as wide as a disc, so touching discs are in the same or in adjacent cells.
  std::size_t columns_ = 1;
  std::vector<std::size_t> cell_begins_;
  std::vector<std::size_t> in_cells_;
};
