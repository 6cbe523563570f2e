#include "flock.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <kymo/kymo.hpp>

namespace live_panel {

namespace {

constexpr float sight = 1.0F / 24;
constexpr float least_distance = sight * 0.35F;
constexpr float least_speed = 0.06F;
constexpr float most_speed = 0.18F;
constexpr unsigned steps_a_wind = 97;

/// The shorter way from one place to another across the map's wrapped edges.
Vector way(Vector from, Vector to) {
  const auto shorter = [](float length) { return length > 0.5F ? length - 1 : length < -0.5F ? length + 1 : length; };
  return {shorter(to.x - from.x), shorter(to.y - from.y)};
}
float length(Vector vector) {
  return std::sqrt(vector.x * vector.x + vector.y * vector.y);
}
int cell_of(float place, int count) {
  return std::clamp(static_cast<int>(place * static_cast<float>(count)), 0, count - 1);
}

}  // namespace

Flock::Flock(std::size_t count, Workers& workers)
    : workers_(workers), birds_(count), cells_(cells * cells), wind_(winds * winds) {
  std::minstd_rand random(7);
  const auto next = [&random] { return static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max()); };
  for (Bird& bird : birds_) {
    bird.place = {next(), next()};
    bird.velocity = {(next() - 0.5F) * most_speed, (next() - 0.5F) * most_speed};
  }
  next_ = birds_;
}

void Flock::step(float seconds) {
  KYMO_SCOPE("step", {"birds", birds_.size()});
  if (steps_++ % steps_a_wind == 0) {
    turn_wind();
  }
  sort_into_cells();
  workers_.share(birds_.size(), [&](std::size_t begin, std::size_t end) { steer(begin, end, seconds); });
  birds_.swap(next_);
}

/// Updates the whole map at once on one thread, which makes a visibly long frame.
void Flock::turn_wind() {
  KYMO_SCOPE("turn wind", {"places", wind_.size()});
  const float turn = static_cast<float>(steps_);
  for (int row = 0; row < winds; ++row) {
    for (int column = 0; column < winds; ++column) {
      float angle = 0;
      float part = 1;
      for (int octave = 0; octave < 12; ++octave, part *= 1.4F) {
        const float x = static_cast<float>(column) / winds * part;
        const float y = static_cast<float>(row) / winds * part;
        angle += std::sin(6.28F * x + turn) * std::cos(6.28F * y - turn * 0.7F) / part;
      }
      wind_[static_cast<std::size_t>(row * winds + column)] = {std::cos(angle * 2), std::sin(angle * 2)};
    }
  }
}

void Flock::sort_into_cells() {
  KYMO_FUNCTION();
  for (auto& cell : cells_) {
    cell.clear();
  }
  for (std::size_t i = 0; i < birds_.size(); ++i) {
    const int row = cell_of(birds_[i].place.y, cells);
    const int column = cell_of(birds_[i].place.x, cells);
    cells_[static_cast<std::size_t>(row * cells + column)].push_back(static_cast<std::uint32_t>(i));
  }
}

void Flock::steer(std::size_t begin, std::size_t end, float seconds) {
  KYMO_SCOPE("steer", {"first", begin}, {"birds", end - begin});
  for (std::size_t i = begin; i < end; ++i) {
    const Bird& bird = birds_[i];
    Vector apart;
    Vector along;
    Vector towards;
    std::uint32_t seen = 0;
    for (int row = -1; row <= 1; ++row) {
      for (int column = -1; column <= 1; ++column) {
        const int y = (cell_of(bird.place.y, cells) + row + cells) % cells;
        const int x = (cell_of(bird.place.x, cells) + column + cells) % cells;
        for (const std::uint32_t other : cells_[static_cast<std::size_t>(y * cells + x)]) {
          const Vector to = way(bird.place, birds_[other].place);
          const float distance = length(to);
          if (other == i || distance > sight) {
            continue;
          }
          ++seen;
          along = {along.x + birds_[other].velocity.x, along.y + birds_[other].velocity.y};
          towards = {towards.x + to.x, towards.y + to.y};
          if (distance < least_distance) {
            apart = {apart.x - to.x, apart.y - to.y};
          }
        }
      }
    }
    const std::size_t place =
        static_cast<std::size_t>(cell_of(bird.place.y, winds) * winds + cell_of(bird.place.x, winds));
    Vector change{wind_[place].x * 0.04F + apart.x * 18, wind_[place].y * 0.04F + apart.y * 18};
    if (seen > 0) {
      const float share = 1 / static_cast<float>(seen);
      change.x += (along.x * share - bird.velocity.x) * 1.5F + towards.x * share * 2;
      change.y += (along.y * share - bird.velocity.y) * 1.5F + towards.y * share * 2;
    }
    Vector velocity{bird.velocity.x + change.x * seconds, bird.velocity.y + change.y * seconds};
    const float speed = std::max(length(velocity), 1e-6F);
    const float factor = std::clamp(speed, least_speed, most_speed) / speed;
    velocity = {velocity.x * factor, velocity.y * factor};
    const float x = bird.place.x + velocity.x * seconds;
    const float y = bird.place.y + velocity.y * seconds;
    next_[i] = {{x - std::floor(x), y - std::floor(y)}, velocity, seen};
  }
}

double Flock::mean_neighbours() const {
  double sum = 0;
  for (const Bird& bird : birds_) {
    sum += bird.neighbours;
  }
  return sum / static_cast<double>(birds_.size());
}

double Flock::mean_speed() const {
  double sum = 0;
  for (const Bird& bird : birds_) {
    sum += static_cast<double>(length(bird.velocity));
  }
  return sum / static_cast<double>(birds_.size());
}

}  // namespace live_panel
