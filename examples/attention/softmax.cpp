#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attention {

float exponential(float x) {
  // Without a branch, so that the compiler can vectorise loops over it.
  const float bounded = std::max(x, -87.0F);
  // x = k ln 2 + r with |r| <= ln 2 / 2. ln 2 is split in two parts so that k times the first one is exact.
  const auto k = static_cast<std::int32_t>(bounded * 1.44269504F - 0.5F);
  const auto whole = static_cast<float>(k);
  const float r = (bounded - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float sum = 1.98756912e-4F;
  sum = sum * r + 1.39819994e-3F;
  sum = sum * r + 8.33345205e-3F;
  sum = sum * r + 4.16657962e-2F;
  sum = sum * r + 1.66666657e-1F;
  sum = sum * r + 0.5F;
  sum = sum * r * r + r + 1.0F;
  const std::uint32_t bits = static_cast<std::uint32_t>(k + 127) << 23U;
  float power = 0;
  std::memcpy(&power, &bits, sizeof power);
  return x < -87.0F ? 0.0F : sum * power;
}

Matrix logits_of(const Tokens& tokens) {
  const std::size_t count = tokens.count;
  // Transposed keys: the inner loop then runs over keys, which is fast and keeps the order of every sum.
  Matrix turned(tokens.keys.size());
  for (std::size_t key = 0; key < count; ++key) {
    for (std::size_t part = 0; part < dimension; ++part) {
      turned[part * count + key] = tokens.keys[key * dimension + part];
    }
  }
  constexpr float scale = 0.176776695F;  // 1 / sqrt(32)
  static_assert(dimension == 32);
  Matrix logits(count * count);
  for (std::size_t query = 0; query < count; ++query) {
    float* const row = &logits[query * count];
    for (std::size_t part = 0; part < dimension; ++part) {
      const float factor = tokens.queries[query * dimension + part] * scale;
      const float* const keys = &turned[part * count];
      for (std::size_t key = 0; key < count; ++key) {
        row[key] += factor * keys[key];
      }
    }
  }
  return logits;
}

Matrix attend(const Tokens& tokens, const Matrix& logits, const std::vector<std::uint8_t>* kept) {
  const std::size_t count = tokens.count;
  Matrix output(count * dimension);
  Matrix weights(count);
  for (std::size_t query = 0; query < count; ++query) {
    const float* const row = &logits[query * count];
    const std::uint8_t* const mask = kept == nullptr ? nullptr : &(*kept)[query * count];
    float greatest = -std::numeric_limits<float>::infinity();
    for (std::size_t key = 0; key < count; ++key) {
      const bool is_kept = mask == nullptr || mask[key] != 0;
      weights[key] = is_kept ? row[key] : -std::numeric_limits<float>::infinity();
      greatest = std::max(greatest, weights[key]);
    }
    if (std::isinf(greatest)) {
      continue;  // nothing is kept of this row
    }
    for (float& weight : weights) {
      weight = exponential(weight - greatest);
    }
    float sum = 0;
    for (const float weight : weights) {
      sum += weight;
    }
    float* const out = &output[query * dimension];
    for (std::size_t key = 0; key < count; ++key) {
      const float weight = weights[key] / sum;
      const float* const value = &tokens.values[key * dimension];
      for (std::size_t part = 0; part < dimension; ++part) {
        out[part] += weight * value[part];
      }
    }
  }
  return output;
}

}  // namespace attention
