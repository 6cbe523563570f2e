#include "waves.hpp"

#include <algorithm>
#include <cmath>

#include <kymo/kymo.hpp>

namespace example {

namespace {

constexpr float speed = 0.24F;     // squared speed of waves, in grid steps per step
constexpr float damping = 0.996F;  // of the motion, per step
constexpr int steps_a_drop = 22;

constexpr std::size_t index_of(int x, int y) {
  return static_cast<std::size_t>(y * Waves::side + x);
}

}  // namespace

Waves::Waves() : now_(static_cast<std::size_t>(side) * side), before_(now_), next_(now_) {
  drop(side / 2, side / 2, 1.4F);
  for (int i = 0; i < 40; ++i) {
    step();
  }
}

void Waves::drop(int x, int y, float height) {
  constexpr int reach = 7;
  for (int row = std::max(y - reach, 1); row < std::min(y + reach, side - 1); ++row) {
    for (int column = std::max(x - reach, 1); column < std::min(x + reach, side - 1); ++column) {
      const auto apart = static_cast<float>((row - y) * (row - y) + (column - x) * (column - x));
      now_[index_of(column, row)] += height * std::exp(-apart / 9);
    }
  }
}

void Waves::spread(int first_row, int end_row) {
  for (int y = first_row; y < end_row; ++y) {
    for (int x = 1; x < side - 1; ++x) {
      const float here = now_[index_of(x, y)];
      const float around = now_[index_of(x - 1, y)] + now_[index_of(x + 1, y)] + now_[index_of(x, y - 1)] +
                           now_[index_of(x, y + 1)] - 4 * here;
      next_[index_of(x, y)] = here + (here - before_[index_of(x, y)]) * damping + around * speed;
    }
  }
}

void Waves::step() {
  KYMO_SCOPE("waves", {"step", steps_});
  if (++steps_ % steps_a_drop == 0) {
    // Positions that look random but are the same in every run.
    drop(8 + steps_ * 37 % (side - 16), 8 + steps_ * 53 % (side - 16), 1.1F);
  }
  for (int part = 0; part < 2; ++part) {
    spread(1, side - 1);
    std::swap(before_, now_);
    std::swap(now_, next_);
  }
}

}  // namespace example
