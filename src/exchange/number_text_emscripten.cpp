// The C++ library of older Emscriptens has no std::to_chars for floating point.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "exchange/number_text.hpp"

namespace kymo::exchange {

void append_shortest_number(std::string& out, double value) {
  constexpr int most_digits = 17;
  std::array<char, 32> text{};
  for (int digits = 15; digits <= most_digits; ++digits) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    if (std::strtod(text.data(), nullptr) == value) {
      break;
    }
  }
  out += text.data();
}

}  // namespace kymo::exchange
