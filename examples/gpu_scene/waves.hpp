// The CPU's part of the scene: waves on a pond, as heights of a grid.
#pragma once

#include <cstddef>
#include <vector>

namespace example {

class Waves {
 public:
  static constexpr int side = 72;  ///< points per side

  Waves();

  /// Advances by a sixtieth of a second. Occasionally lets a drop fall.
  void step();

  /// Row by row, about -1 to 1.
  [[nodiscard]] const std::vector<float>& heights() const { return now_; }

 private:
  void drop(int x, int y, float height);
  void spread(int first_row, int end_row);

  std::vector<float> now_;
  std::vector<float> before_;
  std::vector<float> next_;
  int steps_ = 0;
};

}  // namespace example
