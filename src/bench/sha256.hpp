// SHA-256 (FIPS 180-4), for short texts and a run's values: about 300 MB a second.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kymo::bench {

/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(const void* bytes, std::size_t size);
[[nodiscard]] inline std::string sha256_hex(std::string_view text) {
  return sha256_hex(text.data(), text.size());
}

/// Whether a text is 64 lower-case hex digits.
[[nodiscard]] bool is_sha256_hex(std::string_view text);

}  // namespace kymo::bench
