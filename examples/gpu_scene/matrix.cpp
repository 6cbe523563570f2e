#include "matrix.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace example {

namespace {

Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
float dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

}  // namespace

Vector normalise(const Vector& vector) {
  const float length = std::sqrt(dot(vector, vector));
  return {vector[0] / length, vector[1] / length, vector[2] / length};
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (std::size_t column = 0; column < 4; ++column) {
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t i = 0; i < 4; ++i) {
        product[column * 4 + row] += a[i * 4 + row] * b[column * 4 + i];
      }
    }
  }
  return product;
}

Matrix invert(const Matrix& matrix) {
  // Gauss-Jordan elimination next to the identity. Camera matrices are always invertible.
  Matrix left = matrix;
  Matrix right{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    std::size_t best = i;
    for (std::size_t column = i; column < 4; ++column) {
      best = std::fabs(left[column * 4 + i]) > std::fabs(left[best * 4 + i]) ? column : best;
    }
    for (std::size_t row = 0; row < 4; ++row) {
      std::swap(left[i * 4 + row], left[best * 4 + row]);
      std::swap(right[i * 4 + row], right[best * 4 + row]);
    }
    const float by = left[i * 4 + i];
    for (std::size_t row = 0; row < 4; ++row) {
      left[i * 4 + row] /= by;
      right[i * 4 + row] /= by;
    }
    for (std::size_t column = 0; column < 4; ++column) {
      const float times = column == i ? 0 : left[column * 4 + i];
      for (std::size_t row = 0; row < 4; ++row) {
        left[column * 4 + row] -= left[i * 4 + row] * times;
        right[column * 4 + row] -= right[i * 4 + row] * times;
      }
    }
  }
  return right;
}

Matrix look_at(const Vector& eye, const Vector& at) {
  const Vector forward = normalise({at[0] - eye[0], at[1] - eye[1], at[2] - eye[2]});
  const Vector side = normalise(cross(forward, {0, 1, 0}));
  const Vector up = cross(side, forward);
  return {side[0], up[0], -forward[0], 0, side[1],         up[1],         -forward[1],       0,
          side[2], up[2], -forward[2], 0, -dot(side, eye), -dot(up, eye), dot(forward, eye), 1};
}

Matrix perspective(float angle, float aspect, float nearest, float furthest) {
  const float scale = 1 / std::tan(angle / 2);
  const float depth = nearest - furthest;
  return {scale / aspect,
          0,
          0,
          0,
          0,
          scale,
          0,
          0,
          0,
          0,
          (furthest + nearest) / depth,
          -1,
          0,
          0,
          2 * furthest * nearest / depth,
          0};
}

Matrix orthographic(float reach, float nearest, float furthest) {
  const float depth = furthest - nearest;
  return {1 / reach, 0, 0, 0, 0, 1 / reach, 0, 0, 0, 0, -2 / depth, 0, 0, 0, -(furthest + nearest) / depth, 1};
}

}  // namespace example
