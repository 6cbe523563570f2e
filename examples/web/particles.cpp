#include "particles.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <kymo/kymo.hpp>

namespace {

constexpr float cell_size = 2 * Particles::radius;

void bounce_off_wall(float& place, float& speed, float end) {
  if (place < Particles::radius) {
    place = Particles::radius;
    speed = std::abs(speed);
  } else if (place > end - Particles::radius) {
    place = end - Particles::radius;
    speed = -std::abs(speed);
  }
}

/// Equal discs exchange their speeds along the line between them. Discs that are separating already are skipped.
bool bounce(Particle& a, Particle& b) {
  const float x = b.x - a.x;
  const float y = b.y - a.y;
  const float square = x * x + y * y;
  const float approach = (b.speed_x - a.speed_x) * x + (b.speed_y - a.speed_y) * y;
  if (square > cell_size * cell_size || square <= 0 || approach >= 0) {
    return false;
  }
  const float share = approach / square;
  a.speed_x += share * x;
  a.speed_y += share * y;
  b.speed_x -= share * x;
  b.speed_y -= share * y;
  return true;
}

}  // namespace

Particles::Particles(std::size_t count, float width, float height) : width_(width), height_(height) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> share(0, 1);
  std::uniform_real_distribution<float> speed(-120, 120);
  for (std::size_t i = 0; i < count; ++i) {
    const auto blue = static_cast<std::uint32_t>(100 + 155 * share(random));
    particles_.push_back(
        {share(random) * width, share(random) * height, speed(random), speed(random), 0xFF0060A0U | (blue << 16U)});
  }
}

int Particles::step(float seconds) {
  KYMO_SCOPE("step", {"particles", particles_.size()});
  move(seconds);
  sort_into_cells();
  return collide();
}

void Particles::move(float seconds) {
  KYMO_SCOPE("move");
  for (Particle& particle : particles_) {
    particle.x += particle.speed_x * seconds;
    particle.y += particle.speed_y * seconds;
    bounce_off_wall(particle.x, particle.speed_x, width_);
    bounce_off_wall(particle.y, particle.speed_y, height_);
  }
}

std::size_t Particles::cell_of(const Particle& particle) const {
  const auto column = static_cast<std::size_t>(std::max(particle.x, 0.0F) / cell_size);
  const auto row = static_cast<std::size_t>(std::max(particle.y, 0.0F) / cell_size);
  return row * columns_ + std::min(column, columns_ - 1);
}

void Particles::sort_into_cells() {
  KYMO_SCOPE("sort_into_cells");
  columns_ = static_cast<std::size_t>(width_ / cell_size) + 1;
  const std::size_t rows = static_cast<std::size_t>(height_ / cell_size) + 1;
  cell_begins_.assign(columns_ * rows + 1, 0);
  for (const Particle& particle : particles_) {
    ++cell_begins_[std::min(cell_of(particle), columns_ * rows - 1) + 1];
  }
  for (std::size_t cell = 1; cell < cell_begins_.size(); ++cell) {
    cell_begins_[cell] += cell_begins_[cell - 1];
  }
  in_cells_.resize(particles_.size());
  std::vector<std::size_t> next(cell_begins_.begin(), cell_begins_.end() - 1);
  for (std::size_t i = 0; i < particles_.size(); ++i) {
    in_cells_[next[std::min(cell_of(particles_[i]), columns_ * rows - 1)]++] = i;
  }
}

int Particles::collide() {
  KYMO_SCOPE("collide");
  int bounces = 0;
  const std::size_t cells = cell_begins_.size() - 1;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (std::size_t i = cell_begins_[cell]; i < cell_begins_[cell + 1]; ++i) {
      Particle& particle = particles_[in_cells_[i]];
      // The rest of this cell and the next one, then the three below.
      const std::size_t below = cell + columns_;
      const std::size_t ends[2] = {cell_begins_[std::min(cell + 2, cells)], cell_begins_[std::min(below + 2, cells)]};
      const std::size_t begins[2] = {i + 1, cell_begins_[std::min(below - 1, cells)]};
      for (int part = 0; part < 2; ++part) {
        for (std::size_t j = begins[part]; j < ends[part]; ++j) {
          bounces += bounce(particle, particles_[in_cells_[j]]) ? 1 : 0;
        }
      }
    }
  }
  KYMO_ARG("bounces", bounces);
  return bounces;
}
