// Replaces std::to_chars for floating point, which the C++ library of older Emscriptens lacks.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/text/number_text.hpp"

namespace kymo::base {

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

}  // namespace kymo::base
