// As much of matrices as a camera takes. Columns stand one after the other, as OpenGL wants them.
#pragma once

#include <array>

namespace example {

using Vector = std::array<float, 3>;
using Matrix = std::array<float, 16>;

[[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix invert(const Matrix& matrix);
[[nodiscard]] Matrix look_at(const Vector& eye, const Vector& at);
/// The angle in radians, from top to bottom.
[[nodiscard]] Matrix perspective(float angle, float aspect, float nearest, float furthest);
[[nodiscard]] Matrix orthographic(float reach, float nearest, float furthest);
[[nodiscard]] Vector normalise(const Vector& vector);

}  // namespace example
