// The input of attention: seeded queries, keys and values, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attention {

constexpr std::size_t dimension = 32;  ///< of a token's query, key and value
constexpr unsigned steps = 3;          ///< decisions per sample; its tokens drift a little in between

/// Rows of floats, one after another.
using Matrix = std::vector<float>;

struct Tokens {
  std::size_t count = 0;
  Matrix queries, keys, values;  ///< count rows of `dimension`
};

/// Random numbers from integer arithmetic and float additions only, so every machine draws the same.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  /// An integer from `low` to `high`, both included.
  std::size_t between(std::size_t low, std::size_t high);
  /// Approximately normal with mean 0 and deviation 1: the sum of twelve uniform numbers minus six.
  float normal();

 private:
  std::uint64_t state_;
};

/// The first step of a sample. Even samples have 16 to 128 tokens, odd ones 256 to 1024. The subject changes halfway,
/// so tokens of one half seldom attend to the other.
[[nodiscard]] Tokens make_sample(std::uint64_t seed, std::uint64_t sample);
/// Advances queries and keys to the next step.
void drift(Tokens& tokens, std::uint64_t seed, std::uint64_t sample, unsigned step);

}  // namespace attention
