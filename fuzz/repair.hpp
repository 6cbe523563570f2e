// Corrects the checksums of damaged captures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/format/block.hpp"
#include "capture/format/crc32c.hpp"

namespace kymo::fuzz {

/// Gives every header found the checksums of its bytes, since the code behind a checksum would otherwise hardly ever be
/// reached.
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
