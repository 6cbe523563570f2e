#include "threads/symbols/file_parts.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <fcntl.h>

namespace kymo::threads {

base::FileDescriptor open_regular(const std::string& path, struct stat& status, int more_flags) {
  // Opening a FIFO must not block.
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more_flags));
  return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) ? std::move(file)
                                                                              : base::FileDescriptor();
}

base::FileDescriptor open_known_file(const std::string& path, std::uint64_t inode, std::uint64_t most_bytes) {
  struct stat status {};
  base::FileDescriptor file = open_regular(path, status);
  const bool is_known = file && status.st_ino == inode && static_cast<std::uint64_t>(status.st_size) <= most_bytes;
  return is_known ? std::move(file) : base::FileDescriptor();
}

bool read_all(int file, std::uint64_t offset, std::span<std::byte> bytes) {
  return offset <= INT64_MAX && base::read_fully_at(file, bytes, offset) == static_cast<std::int64_t>(bytes.size());
}

bool read_head(int file, Elf64_Ehdr& head) {
  return read_record(file, 0, head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
         head.e_ident[EI_CLASS] == ELFCLASS64;
}

std::optional<Elf64_Shdr> find_section(int file, std::string_view wanted) {
  constexpr Elf64_Xword most_sections = Elf64_Xword{1} << 20U;
  Elf64_Ehdr head{};
  Elf64_Shdr first{};
  if (!read_head(file, head) || head.e_shentsize != sizeof first || !read_record(file, head.e_shoff, first)) {
    return std::nullopt;
  }
  // Numbers that do not fit the head are in the first section.
  const std::uint64_t count = head.e_shnum != 0 ? head.e_shnum : std::min(first.sh_size, most_sections);
  const std::uint64_t names_at = head.e_shstrndx != SHN_XINDEX ? head.e_shstrndx : first.sh_link;
  Elf64_Shdr names{};
  if (!read_record(file, head.e_shoff + names_at * sizeof names, names)) {
    return std::nullopt;
  }
  const std::string whole = std::string(wanted) + '\0';
  std::string name = whole;
  Elf64_Shdr header{};
  for (std::uint64_t i = 0; i < count && read_record(file, head.e_shoff + i * sizeof header, header); ++i) {
    if (header.sh_type == SHT_PROGBITS &&
        read_all(file, names.sh_offset + header.sh_name, std::as_writable_bytes(std::span(name))) && name == whole) {
      return header;
    }
  }
  return std::nullopt;
}

bool has_section(int file, std::string_view name) {
  return find_section(file, name).has_value();
}

const FileSegment* segment_at(std::span<const FileSegment> segments, std::uint64_t file_offset) {
  const auto found = std::find_if(segments.begin(), segments.end(), [file_offset](const FileSegment& segment) {
    return file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.size;
  });
  return found != segments.end() ? &*found : nullptr;
}

}  // namespace kymo::threads
