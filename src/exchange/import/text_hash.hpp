// Hashes texts: FNV-1a with 64 bits.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::exchange {

inline constexpr std::uint64_t text_hash_seed = 0xCBF29CE484222325U;

/// Continues a hash, which begins with the seed.
[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text, std::uint64_t hash = text_hash_seed) noexcept {
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3U;
  }
  return hash;
}

}  // namespace kymo::exchange
