// The byte range that a client requests: the Range header.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::serve {

struct ByteRange {
  enum class Kind {
    whole,          ///< there is no header
    part,           ///< `offset` and `size` lie within the file, and `size` is not 0
    unsatisfiable,  ///< malformed, several ranges, or beyond the end
  };
  Kind kind = Kind::whole;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Parses "bytes=FIRST-LAST", "bytes=FIRST-" or "bytes=-COUNT" for a file of this size. A last byte beyond the end
/// means the end.
[[nodiscard]] ByteRange parse_byte_range(std::string_view header, std::uint64_t file_size);

}  // namespace kymo::serve
