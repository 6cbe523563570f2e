#include "capture/format/block.hpp"

#include <cstring>

#include "capture/format/crc32c.hpp"

namespace kymo::capture {
namespace {

// No text file begins with 0x89. A transfer that translates line ends breaks CR LF, SUB and LF.
constexpr std::array<unsigned char, 8> preamble_magic{0x89, 'K', 'Y', 'M', '\r', '\n', 0x1A, '\n'};
constexpr std::array<unsigned char, 8> trailer_magic{'K', 'Y', 'M', 'O', 'E', 'N', 'D', '\n'};

constexpr std::size_t checked_header_size = 44;

}  // namespace

void encode_header(const BlockHeader& header, std::span<std::byte, block_header_size> out) {
  std::byte* const at = out.data();
  store(at, block_sync);
  store(at + 4, static_cast<std::uint8_t>(header.kind));
  store(at + 5, static_cast<std::uint8_t>(header.codec));
  store(at + 6, header.level);
  store(at + 8, header.stored_size);
  store(at + 12, header.raw_size);
  store(at + 16, header.payload_crc);
  store(at + 20, header.number);
  store(at + 24, header.start_ns);
  store(at + 32, header.end_ns);
  store(at + 40, header.scope_events);
  store(at + 44, crc32c(out.first(checked_header_size)));
}

std::optional<BlockHeader> parse_header(std::span<const std::byte> bytes) {
  if (bytes.size() < block_header_size || load<std::uint32_t>(bytes.data()) != block_sync ||
      load<std::uint32_t>(bytes.data() + 44) != crc32c(bytes.first(checked_header_size))) {
    return std::nullopt;
  }
  const std::byte* const at = bytes.data();
  BlockHeader header;
  header.kind = static_cast<BlockKind>(load<std::uint8_t>(at + 4));
  header.codec = static_cast<CodecId>(load<std::uint8_t>(at + 5));
  header.level = load<std::uint16_t>(at + 6);
  header.stored_size = load<std::uint32_t>(at + 8);
  header.raw_size = load<std::uint32_t>(at + 12);
  header.payload_crc = load<std::uint32_t>(at + 16);
  header.number = load<std::uint32_t>(at + 20);
  header.start_ns = load<std::int64_t>(at + 24);
  header.end_ns = load<std::int64_t>(at + 32);
  header.scope_events = load<std::uint32_t>(at + 40);
  const bool sizes_fit = header.stored_size <= max_payload_size && header.raw_size <= max_payload_size &&
                         header.raw_size <= std::uint64_t{header.stored_size} * max_compression;
  return sizes_fit ? std::optional(header) : std::nullopt;
}

std::array<std::byte, preamble_size> encode_preamble() {
  std::array<std::byte, preamble_size> out{};
  std::memcpy(out.data(), preamble_magic.data(), preamble_magic.size());
  store(out.data() + 8, format_version);
  return out;
}

std::optional<std::uint32_t> parse_preamble(std::span<const std::byte> bytes) {
  if (bytes.size() < preamble_size || std::memcmp(bytes.data(), preamble_magic.data(), preamble_magic.size()) != 0) {
    return std::nullopt;
  }
  return load<std::uint32_t>(bytes.data() + 8);
}

std::array<std::byte, trailer_size> encode_trailer(std::uint64_t index_offset) {
  std::array<std::byte, trailer_size> out{};
  store(out.data(), index_offset);
  std::memcpy(out.data() + 8, trailer_magic.data(), trailer_magic.size());
  return out;
}

std::optional<std::uint64_t> parse_trailer(std::span<const std::byte> bytes) {
  if (bytes.size() < trailer_size || std::memcmp(bytes.data() + 8, trailer_magic.data(), trailer_magic.size()) != 0) {
    return std::nullopt;
  }
  return load<std::uint64_t>(bytes.data());
}

}  // namespace kymo::capture
