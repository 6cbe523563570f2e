#include "serve/http/token.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <sys/random.h>

#include "base/text/ascii.hpp"
#include "base/text/escapes.hpp"

namespace kymo::serve {

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  ssize_t count = 0;
  do {
    count = ::getrandom(bytes.data(), bytes.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error(std::string("the kernel gives no random bytes for a token: ") + std::strerror(errno));
  }
  return base::to_hex(bytes.data(), bytes.size());
}

bool is_usable_token(std::string_view text) {
  return text.size() >= 16 && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), [](char c) { return base::is_letter_digit_or("-_.~", c); });
}

bool carries_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view scheme = "Bearer ";
  if (token.empty() || !authorization.starts_with(scheme)) {
    return false;
  }
  const std::string_view given = authorization.substr(scheme.size());
  // Constant time: compares every byte and decides at the end. volatile keeps the compiler from stopping early.
  volatile unsigned difference = given.size() == token.size() ? 0U : 1U;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const unsigned bits = static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
    difference = difference | bits;
  }
  return difference == 0;
}

}  // namespace kymo::serve
