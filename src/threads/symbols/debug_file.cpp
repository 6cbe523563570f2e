#include "threads/symbols/debug_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <sys/stat.h>

#include "base/system/file.hpp"
#include "threads/symbols/file_parts.hpp"

namespace kymo::threads {
namespace {

struct DebugLink {
  std::string name;
  std::uint32_t checksum = 0;
};

/// The section holds the name, zeros up to a multiple of four bytes, and the checksum.
std::optional<DebugLink> parse_link(std::span<const std::byte> section) {
  const auto end = std::find(section.begin(), section.end(), std::byte{0});
  const auto length = static_cast<std::size_t>(end - section.begin());
  const std::size_t checksum_at = (length / 4 + 1) * 4;
  DebugLink link{{reinterpret_cast<const char*>(section.data()), length}, 0};
  if (length == 0 || checksum_at + sizeof link.checksum > section.size() || link.name.find('/') != std::string::npos) {
    return std::nullopt;
  }
  std::memcpy(&link.checksum, section.data() + checksum_at, sizeof link.checksum);
  return link;
}

std::optional<DebugLink> read_link(int file) {
  constexpr std::size_t most_bytes = 4096;
  const std::optional<Elf64_Shdr> header = find_section(file, ".gnu_debuglink");
  if (!header || header->sh_size > most_bytes) {
    return std::nullopt;
  }
  std::vector<std::byte> section(static_cast<std::size_t>(header->sh_size));
  return read_all(file, header->sh_offset, section) ? parse_link(section) : std::nullopt;
}

/// The CRC-32 of zlib and Ethernet.
std::optional<std::uint32_t> checksum_of(const std::string& path) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30U;
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      entries[i] = i;
      for (int bit = 0; bit < 8; ++bit) {
        entries[i] = entries[i] >> 1U ^ ((entries[i] & 1U) != 0 ? 0xEDB88320U : 0U);
      }
    }
    return entries;
  }();
  struct stat status {};
  const base::FileDescriptor file = open_regular(path, status);
  if (!file || status.st_size > most_bytes) {
    return std::nullopt;
  }
  std::vector<std::byte> part(std::size_t{1} << 18U);
  std::uint32_t checksum = ~0U;
  for (std::uint64_t at = 0; at < static_cast<std::uint64_t>(status.st_size);) {
    const std::int64_t size = base::read_fully_at(file.get(), part, at);
    if (size <= 0) {
      return std::nullopt;
    }
    for (const std::byte byte : std::span(part).first(static_cast<std::size_t>(size))) {
      checksum = checksum >> 8U ^ table[(checksum ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
    }
    at += static_cast<std::uint64_t>(size);
  }
  return ~checksum;
}

}  // namespace

DebugFile read_debug_file(int file, const std::string& path, const record::BuildId& build_id) {
  const std::string root = "/usr/lib/debug";
  const std::size_t name_at = path.rfind('/') + 1;
  const std::string folder = path.substr(0, name_at);
  const std::optional<DebugLink> link = read_link(file);
  const std::string name = link ? link->name : path.substr(name_at) + ".debug";
  std::vector<std::string> places{folder + name, folder + ".debug/" + name, root + folder + name};
  if (build_id.size >= 2) {
    std::array<char, 128> text{};
    const std::string id(build_id.hex(text));
    places.insert(places.begin(), root + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
  } else if (!link) {
    return {};
  }
  for (const std::string& place : places) {
    if (place == path || (build_id.size < 2 && checksum_of(place) != link->checksum)) {
      continue;
    }
    DebugFile found{record::SymbolIndex::read(place, build_id.size >= 2 ? build_id : record::BuildId{}), place, 0};
    struct stat status {};
    if (found.symbols.has_symtab() && ::stat(place.c_str(), &status) == 0) {
      found.inode = status.st_ino;
      return found;
    }
  }
  return {};
}

}  // namespace kymo::threads
