// SHA-256 by OpenSSL.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kymo::bench {

/// 64 lower-case hex digits. Throws std::runtime_error if OpenSSL provides no SHA-256.
[[nodiscard]] std::string sha256_hex(const void* bytes, std::size_t size);
[[nodiscard]] inline std::string sha256_hex(std::string_view text) {
  return sha256_hex(text.data(), text.size());
}

/// Whether a text is 64 lower-case hex digits.
[[nodiscard]] bool is_sha256_hex(std::string_view text);

}  // namespace kymo::bench
