// Blocks: the units of a capture file.
//
// A file is a preamble of 16 bytes, consecutive blocks and, after a clean close, a trailer of 16 bytes. A block is a
// header of 48 bytes and its stored payload. docs/format.md has the byte tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <kymo/capture.hpp>

#include "capture/format/bytes.hpp"

namespace kymo::capture {

constexpr std::uint32_t format_version = 1;
constexpr std::size_t preamble_size = 16;
constexpr std::size_t block_header_size = 48;
constexpr std::size_t trailer_size = 16;
/// Limit of a payload, stored or raw.
constexpr std::uint32_t max_payload_size = std::uint32_t{64} << 20U;
/// Limit of a payload's size relative to its stored size: the maximum of lz4.
constexpr std::uint32_t max_compression = 255;
constexpr std::uint32_t block_sync = 0x4B4C4B8BU;  // the bytes 8B 'K' 'L' 'K'

/// Level of an events block if events between it and the events block before it are missing.
constexpr std::uint16_t level_after_loss = 1;

enum class CodecId : std::uint8_t { none = 0, lz4 = 1, zstd = 2 };

struct BlockHeader {
  BlockKind kind = BlockKind::events;
  CodecId codec = CodecId::none;
  std::uint16_t level = 0;  ///< of summaries; or level_after_loss
  std::uint32_t stored_size = 0;
  std::uint32_t raw_size = 0;
  std::uint32_t payload_crc = 0;
  std::uint32_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t scope_events = 0;
};

/// Writes a header with its checksum.
void encode_header(const BlockHeader& header, std::span<std::byte, block_header_size> out);

/// Reads a header; nothing if the sync word, the checksum or a size is wrong. Needs block_header_size bytes.
[[nodiscard]] std::optional<BlockHeader> parse_header(std::span<const std::byte> bytes);

/// What an index says of the block with a header at an offset of the file.
[[nodiscard]] inline BlockInfo info_of(const BlockHeader& header, std::uint64_t offset) {
  return {offset,        header.kind,         header.level,       header.number,  header.start_ns,
          header.end_ns, header.scope_events, header.stored_size, header.raw_size};
}

/// The offset behind a block.
[[nodiscard]] inline std::uint64_t end_of(const BlockInfo& block) {
  return block.offset + block_header_size + block.stored_bytes;
}

[[nodiscard]] std::array<std::byte, preamble_size> encode_preamble();
/// The version in a preamble; nothing if it is not a capture's.
[[nodiscard]] std::optional<std::uint32_t> parse_preamble(std::span<const std::byte> bytes);

[[nodiscard]] std::array<std::byte, trailer_size> encode_trailer(std::uint64_t index_offset);
/// The offset of the last INDEX block; nothing if this is no trailer.
[[nodiscard]] std::optional<std::uint64_t> parse_trailer(std::span<const std::byte> bytes);

}  // namespace kymo::capture
