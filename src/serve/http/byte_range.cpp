#include "serve/http/byte_range.hpp"

#include <algorithm>
#include <optional>

#include "base/text/number_text.hpp"

namespace kymo::serve {

ByteRange parse_byte_range(std::string_view header, std::uint64_t file_size) {
  constexpr std::string_view unit = "bytes=";
  constexpr ByteRange refused{ByteRange::Kind::unsatisfiable, 0, 0};
  if (header.empty()) {
    return {ByteRange::Kind::whole, 0, file_size};
  }
  const std::size_t dash = header.find('-');
  if (!header.starts_with(unit) || dash == std::string_view::npos || dash < unit.size()) {
    return refused;
  }
  const std::string_view first_digits = header.substr(unit.size(), dash - unit.size());
  const std::string_view last_digits = header.substr(dash + 1);
  const std::optional<std::uint64_t> first = base::parse_integer<std::uint64_t>(first_digits);
  const std::optional<std::uint64_t> last = base::parse_integer<std::uint64_t>(last_digits);
  if (first_digits.empty() && last && *last != 0 && file_size != 0) {
    const std::uint64_t size = std::min(*last, file_size);
    return {ByteRange::Kind::part, file_size - size, size};
  }
  if (!first || *first >= file_size || (!last && !last_digits.empty()) || (last && *last < *first)) {
    return refused;
  }
  const std::uint64_t end = last ? std::min(*last, file_size - 1) + 1 : file_size;
  return {ByteRange::Kind::part, *first, end - *first};
}

}  // namespace kymo::serve
