#include "workload.hpp"

namespace attention {

std::uint64_t Generator::next() {
  std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
  return mixed ^ (mixed >> 31U);
}

std::size_t Generator::between(std::size_t low, std::size_t high) {
  return low + static_cast<std::size_t>(next() % (high - low + 1));
}

float Generator::normal() {
  // Three draws give twelve uniform 16-bit numbers. Their sum is an exact integer.
  std::uint64_t sum = 0;
  for (int draw = 0; draw < 3; ++draw) {
    for (std::uint64_t bits = next(), part = 0; part < 4; ++part, bits >>= 16U) {
      sum += bits & 0xFFFFU;
    }
  }
  return (static_cast<float>(sum) + 6.0F) / 65536.0F - 6.0F;
}

Tokens make_sample(std::uint64_t seed, std::uint64_t sample) {
  Generator generator(seed * 0x1'0000'01B3U + sample);
  Tokens tokens;
  tokens.count = sample % 2 == 0 ? generator.between(16, 128) : generator.between(256, 1024);
  const std::size_t size = tokens.count * dimension;
  tokens.queries.resize(size);
  tokens.keys.resize(size);
  tokens.values.resize(size);
  Matrix subject(dimension);
  for (float& part : subject) {
    part = generator.normal();
  }
  for (std::size_t token = 0; token < tokens.count; ++token) {
    const float side = token < tokens.count / 2 ? 0.75F : -0.75F;
    for (std::size_t part = 0; part < dimension; ++part) {
      const std::size_t at = token * dimension + part;
      tokens.queries[at] = side * subject[part] + generator.normal();
      tokens.keys[at] = side * subject[part] + generator.normal();
      tokens.values[at] = generator.normal();
    }
  }
  return tokens;
}

void drift(Tokens& tokens, std::uint64_t seed, std::uint64_t sample, unsigned step) {
  Generator generator((seed * 0x1'0000'01B3U + sample) ^ (std::uint64_t{step} << 48U));
  for (Matrix* const matrix : {&tokens.queries, &tokens.keys}) {
    for (float& value : *matrix) {
      value += 0.1F * generator.normal();
    }
  }
}

}  // namespace attention
