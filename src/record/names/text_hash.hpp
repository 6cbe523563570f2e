// A hash of short texts: multiply and fold, 8 bytes at a time. A few nanoseconds for a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kymo::record {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

/// `seed`: a hash of what precedes the text, or a number of its own for each use.
inline std::uint64_t hash_text(std::uint64_t seed, std::string_view text) noexcept {
  const auto load_bytes = [](const char* from, std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, count);
    return value;
  };
  std::uint64_t hash = 0x9E3779B97F4A7C15U ^ seed ^ text.size();
  const char* from = text.data();
  std::size_t left = text.size();
  for (; left >= 8; from += 8, left -= 8) {
    hash = mix(hash ^ load_bytes(from, 8), 0xA0761D6478BD642FU);
  }
  if (left > 0) {
    hash = mix(hash ^ load_bytes(from, left), 0xE7037ED1A0B428DBU);
  }
  return mix(hash, 0x8EBC6AF09C88C6E3U);
}

}  // namespace kymo::record
