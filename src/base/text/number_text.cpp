#include "base/text/number_text.hpp"

#include <array>
#include <charconv>

namespace kymo::base {

void append_shortest_number(std::string& out, double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace kymo::base
