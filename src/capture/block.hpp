// Blocks: what a capture file is made of.
//
// A file is a preamble of 16 bytes, blocks one behind the other and, after a clean close, a trailer of 16 bytes.
// A block is a header of 48 bytes and its stored payload. docs/format.md has the tables of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <kymo/capture.hpp>

#include "capture/bytes.hpp"

namespace kymo::capture {

constexpr std::uint32_t format_version = 1;
constexpr std::size_t preamble_size = 16;
constexpr std::size_t block_header_size = 48;
constexpr std::size_t trailer_size = 16;
/// Of a payload, stored or raw.
constexpr std::uint32_t max_payload_size = std::uint32_t{64} << 20U;
/// A payload may be at most this many times its stored size: what lz4 can reach.
constexpr std::uint32_t max_compression = 255;
constexpr std::uint32_t block_sync = 0x4B4C4B8BU;  // the bytes 8B 'K' 'L' 'K'

enum class CodecId : std::uint8_t { none = 0, lz4 = 1, zstd = 2 };

struct BlockHeader {
  BlockKind kind = BlockKind::events;
  CodecId codec = CodecId::none;
  std::uint16_t level = 0;  ///< of a summary
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

/// Reads a header; nothing where the sync word, the checksum or a size is wrong. Needs block_header_size bytes.
[[nodiscard]] std::optional<BlockHeader> parse_header(std::span<const std::byte> bytes);

[[nodiscard]] std::array<std::byte, preamble_size> encode_preamble();
/// The version that a preamble names; nothing where it is not one of a capture.
[[nodiscard]] std::optional<std::uint32_t> parse_preamble(std::span<const std::byte> bytes);

[[nodiscard]] std::array<std::byte, trailer_size> encode_trailer(std::uint64_t index_offset);
/// The offset of the last INDEX block; nothing where this is no trailer.
[[nodiscard]] std::optional<std::uint64_t> parse_trailer(std::span<const std::byte> bytes);

}  // namespace kymo::capture
