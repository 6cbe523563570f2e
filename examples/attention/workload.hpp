// What attention is computed for: seeded queries, keys and values, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attention {

constexpr std::size_t dimension = 32;  ///< of a token's query, key and value
constexpr unsigned steps = 3;          ///< decisions of one sample: its tokens drift a little from one to the next

/// Rows of floats, one behind the other.
using Matrix = std::vector<float>;

struct Tokens {
  std::size_t count = 0;
  Matrix queries, keys, values;  ///< count rows of `dimension`
};

/// Random numbers from nothing but integers and additions of floats, so that every machine draws the same.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  /// From `low` to `high`, both included.
  std::size_t between(std::size_t low, std::size_t high);
  /// Nearly normal, mean 0, deviation 1: the sum of twelve uniform numbers, less six.
  float normal();

 private:
  std::uint64_t state_;
};

/// The first step of a sample. Even samples have 16 to 128 tokens, odd ones 256 to 1024; halfway the subject changes,
/// so that tokens of one half seldom attend to the other.
[[nodiscard]] Tokens make_sample(std::uint64_t seed, std::uint64_t sample);
/// Moves queries and keys on to the next step.
void drift(Tokens& tokens, std::uint64_t seed, std::uint64_t sample, unsigned step);

}  // namespace attention
