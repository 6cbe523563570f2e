#include "bench/sha256.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <openssl/evp.h>

#include "base/text/escapes.hpp"

namespace kymo::bench {

std::string sha256_hex(const void* bytes, std::size_t size) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes, size, digest.data(), &length, EVP_sha256(), nullptr) != 1 || length != 32) {
    throw std::runtime_error("OpenSSL could not compute a SHA-256: its configuration may forbid it");
  }
  return base::to_hex(digest.data(), length);
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char digit) {
           return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
         });
}

}  // namespace kymo::bench
