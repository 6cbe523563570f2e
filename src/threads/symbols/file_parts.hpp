// Files that may be anything, and the parts of ELF files among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <elf.h>
#include <sys/stat.h>

#include "base/system/file.hpp"

namespace kymo::threads {

/// A regular file and its status; none if the path is of anything else. `more_flags` are open()'s.
[[nodiscard]] base::FileDescriptor open_regular(const std::string& path, struct stat& status, int more_flags = 0);
/// The regular file with that inode; none if the path is of another one by now, or the file is larger. A path that was
/// read in another process, or earlier, may be of anything.
[[nodiscard]] base::FileDescriptor open_known_file(const std::string& path, std::uint64_t inode,
                                                   std::uint64_t most_bytes = UINT64_MAX);

/// Returns false if the file does not have all of the bytes.
[[nodiscard]] bool read_all(int file, std::uint64_t offset, std::span<std::byte> bytes);

template <typename Record>
[[nodiscard]] bool read_record(int file, std::uint64_t offset, Record& record) {
  return read_all(file, offset, std::as_writable_bytes(std::span(&record, 1)));
}

/// Returns false if it is no 64-bit ELF file.
[[nodiscard]] bool read_head(int file, Elf64_Ehdr& head);
/// The header of a section with the program's own data (SHT_PROGBITS). Trusts nothing in the file.
[[nodiscard]] std::optional<Elf64_Shdr> find_section(int file, std::string_view wanted);
[[nodiscard]] bool has_section(int file, std::string_view name);

/// A stretch of an ELF file and its place among the file's own addresses.
struct FileSegment {
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
  std::uint64_t address = 0;

  /// Of an offset within the segment.
  [[nodiscard]] std::uint64_t address_of(std::uint64_t offset) const { return address + (offset - file_offset); }
};

/// The segment with the byte at an offset; null if there is none.
[[nodiscard]] const FileSegment* segment_at(std::span<const FileSegment> segments, std::uint64_t file_offset);

}  // namespace kymo::threads
