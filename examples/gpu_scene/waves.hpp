// The processor's part of the scene: waves on a pond, as heights of a grid.
#pragma once

#include <cstddef>
#include <vector>

namespace example {

class Waves {
 public:
  static constexpr int side = 72;  ///< points on a side

  Waves();

  /// Goes on by a sixtieth of a second; a drop falls now and then.
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
