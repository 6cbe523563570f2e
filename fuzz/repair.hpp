// Damaged captures whose checksums are right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/block.hpp"
#include "capture/crc32c.hpp"

namespace kymo::fuzz {

/// Gives every header that can be found the checksums that its bytes need: what lies behind a checksum would otherwise
/// hardly ever be reached.
inline void repair(std::vector<std::byte>& file) {
  using namespace kymo::capture;
  if (file.size() < preamble_size) {
    return;
  }
  const auto preamble = encode_preamble();
  std::copy(preamble.begin(), preamble.end(), file.begin());
  for (std::size_t at = preamble_size; at + block_header_size <= file.size();) {
    std::byte* const header = file.data() + at;
    if (load<std::uint32_t>(header) != block_sync) {
      ++at;
      continue;
    }
    const std::size_t room = file.size() - at - block_header_size;
    const std::size_t stored = std::min<std::size_t>(load<std::uint32_t>(header + 8), room);
    store(header + 8, static_cast<std::uint32_t>(stored));
    store(header + 16, crc32c(std::span<const std::byte>(file).subspan(at + block_header_size, stored)));
    store(header + 44, crc32c(std::span<const std::byte>(file).subspan(at, 44)));
    at += block_header_size + stored;
  }
}

}  // namespace kymo::fuzz
