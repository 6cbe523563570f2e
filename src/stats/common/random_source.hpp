// Random numbers, identical on every machine for the same seed: xoshiro256++, seeded through SplitMix64.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace kymo::stats {

/// A stream of random numbers. About 1 ns a number. Copyable; not thread-safe.
class RandomSource {
 public:
  /// Streams with different numbers are independent.
  explicit RandomSource(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t state = mix(seed) ^ stream;
    for (std::uint64_t& word : state_) {
      state += 0x9E3779B97F4A7C15U;
      word = mix(state);
    }
  }

  /// 64 random bits.
  std::uint64_t bits() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// A uniform integer below `limit`, with a bias of at most limit / 2^64. limit > 0.
  std::uint64_t below(std::uint64_t limit) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(bits()) * limit >> 64U);
  }

  /// A number in (0, 1).
  double uniform() { return (static_cast<double>(bits() >> 11U) + 0.5) * 0x1p-53; }

  /// A standard normal number, by Marsaglia's polar method.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    for (;;) {
      const double x = 2 * uniform() - 1;
      const double y = 2 * uniform() - 1;
      const double size = x * x + y * y;
      if (size < 1 && size > 0) {
        const double scale = std::sqrt(-2 * std::log(size) / size);
        spare_ = y * scale;
        has_spare_ = true;
        return x * scale;
      }
    }
  }

  /// A gamma-distributed number of this shape and scale 1, by Marsaglia and Tsang's method: about 20 ns. 0 for shape 0,
  /// otherwise shape >= 1.
  double gamma(double shape) {
    if (shape <= 0) {
      return 0;
    }
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal();
      const double root = 1 + c * x;
      if (root <= 0) {
        continue;
      }
      const double v = root * root * root;
      const double u = uniform();
      if (u < 1 - 0.0331 * x * x * x * x || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
        return d * v;
      }
    }
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t value, unsigned by) { return value << by | value >> (64U - by); }
  static constexpr std::uint64_t mix(std::uint64_t value) {
    value = (value ^ value >> 30U) * 0xBF58476D1CE4E5B9U;
    value = (value ^ value >> 27U) * 0x94D049BB133111EBU;
    return value ^ value >> 31U;
  }

  std::array<std::uint64_t, 4> state_{};
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace kymo::stats
