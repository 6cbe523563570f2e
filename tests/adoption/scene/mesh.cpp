#include <cmath>

#include "scene.hpp"

namespace scene {

Mesh::Mesh(int corners) : corners_() {
  for (int i = 0; i < corners; ++i) {
    corners_.push_back(std::sin(i));
  }
}

double Mesh::area() const {
  double sum = 0;
  for (const double corner : corners_) {
    sum += corner * corner;
  }
  return sum;
}

}  // namespace scene
