// The matrix functions that a camera needs. Matrices are column-major, as in OpenGL.
#pragma once

#include <array>

namespace example {

using Vector = std::array<float, 3>;
using Matrix = std::array<float, 16>;

[[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix invert(const Matrix& matrix);
[[nodiscard]] Matrix look_at(const Vector& eye, const Vector& at);
/// The vertical angle is in radians.
[[nodiscard]] Matrix perspective(float angle, float aspect, float nearest, float furthest);
[[nodiscard]] Matrix orthographic(float reach, float nearest, float furthest);
[[nodiscard]] Vector normalise(const Vector& vector);

}  // namespace example
