// Which bytes a client wants: the Range header.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::serve {

struct ByteRange {
  enum class Kind {
    whole,          ///< there is no header
    part,           ///< `offset` and `size` lie within the file, and there is at least one byte
    unsatisfiable,  ///< malformed, several ranges, or beyond the end
  };
  Kind kind = Kind::whole;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Reads "bytes=FIRST-LAST", "bytes=FIRST-" or "bytes=-COUNT" of a file of this size; a last byte beyond the end stands
/// for the last one there is.
[[nodiscard]] ByteRange parse_byte_range(std::string_view header, std::uint64_t file_size);

}  // namespace kymo::serve
