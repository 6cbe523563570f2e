// Reads of parts of a file that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/system/file.hpp"

namespace kymo::threads {

/// Returns false if the file does not have all of the bytes.
inline bool read_all(int file, std::uint64_t offset, std::span<std::byte> bytes) {
  return offset <= INT64_MAX && base::read_fully_at(file, bytes, offset) == static_cast<std::int64_t>(bytes.size());
}

template <typename Record>
bool read_record(int file, std::uint64_t offset, Record& record) {
  return read_all(file, offset, std::as_writable_bytes(std::span(&record, 1)));
}

}  // namespace kymo::threads
