// A column: the values of one field of many rows, encoded together.
//
//   u8      column id, 1 to 255, once a table
//   u8      encoding: bits 0-3 storage, bit 4 differences, bit 5 zigzag, bit 6 floats
//   varint  number of values
//   varint  number of bytes that follow
//   bytes   in the format of the storage
//
// Storages of numbers (64-bit, arithmetic modulo 2^64):
//   packed  groups of 64 values, the last one of the rest: u8 width w (0..64), then ceil(n*w/8) bytes; value i is in
//           their bits [i*w, i*w+w), counted from the lowest bit of the first byte
//   planes  u8 low bits b (0..56), u8 number of planes p (0..8), then the lowest b bits of every value as in a packed
//           group without its width, ceil(n*b/8) bytes in all; then p planes: plane k holds byte k of every value
//           shifted right by b
//   words   8 bytes a value, little-endian
//   bits    one bit a value: value i is bit i%8 of byte i/8
// A number is read from its storage, unzigzagged if bit 5 is set, then added to the number before it (0 before the
// first) if bit 4 is set. With bit 6 it is a signed integer that stands for the float of that value.
// Storages of bytes:
//   bytes   unchanged, one value a byte
//   texts   each text a varint length and its bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/format/bytes.hpp"

namespace kymo::capture {

enum class Storage : std::uint8_t { bytes = 0, texts = 1, packed = 2, planes = 3, words = 4, bits = 5 };

/// Storage and transforms of a column.
struct Encoding {
  Storage storage = Storage::packed;
  bool differences = false;
  bool zigzag = false;
  bool floats = false;  ///< integers that represent floats

  [[nodiscard]] std::uint8_t byte() const {
    return static_cast<std::uint8_t>(static_cast<unsigned>(storage) | (differences ? 0x10U : 0U) |
                                     (zigzag ? 0x20U : 0U) | (floats ? 0x40U : 0U));
  }
  [[nodiscard]] static Encoding of(std::uint8_t byte) {
    return {static_cast<Storage>(byte & 0x0FU), (byte & 0x10U) != 0, (byte & 0x20U) != 0, (byte & 0x40U) != 0};
  }
};

constexpr std::size_t group_size = 64;

/// Preferred storage of long columns of numbers.
enum class Packing : std::uint8_t {
  bits,    ///< bit-packed: small by itself, for lz4 or no codec
  planes,  ///< byte planes: larger by itself, smaller after an entropy coder such as zstd
};

/// Appends one packed group of up to 64 values. About 30 ns for 64 values of up to 14 bits. `values` must have room for
/// 64; those beyond `count` are overwritten with 0.
void pack_group(std::uint64_t* values, std::size_t count, ByteBuffer& out);

/// Appends `values` as byte planes, with the number of low bits that promises the smallest size after an entropy coder.
void put_planes(std::span<const std::uint64_t> values, ByteBuffer& out);

/// Appends the offsets of a planes column's parts from the column's beginning: the statistics change there.
void append_plane_cuts(std::span<const std::byte> column, std::uint64_t count, std::vector<std::size_t>& cuts);

/// A column of numbers under construction, filled in steps of up to 64 values.
class NumberLane {
 public:
  explicit NumberLane(Packing packing) : packing_(packing) {}

  void clear();
  /// Place of the next values, with room for 65. advance() adds them.
  [[nodiscard]] std::uint64_t* tail() { return pending_.data() + pending_count_; }
  void advance(std::size_t count) {
    pending_count_ += count;
    if (pending_count_ >= group_size) {
      flush_group();
    }
  }
  /// Encodes the remaining values. Adds are forbidden afterwards until clear().
  void finish();

  [[nodiscard]] std::uint64_t count() const { return count_ + pending_count_; }
  [[nodiscard]] Storage storage() const { return packing_ == Packing::bits ? Storage::packed : Storage::planes; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return out_.bytes(); }

 private:
  void flush_group();

  Packing packing_;
  std::size_t pending_count_ = 0;
  std::uint64_t count_ = 0;
  std::array<std::uint64_t, (2 * group_size) + 2> pending_{};
  std::vector<std::uint64_t> values_;  // for planes only, which need all values
  ByteBuffer out_;
};

/// A column in a payload, which must be in a BlockPayload.
struct ColumnView {
  std::uint8_t id = 0;
  std::uint8_t encoding = 0;
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;

  /// Whether this is a column of numbers in a known storage.
  [[nodiscard]] bool is_numbers() const {
    const auto storage = Encoding::of(encoding).storage;
    return storage >= Storage::packed && storage <= Storage::bits;
  }
  /// Throws DecodeError if count and bytes disagree. Every column must pass before it is read; unknown storages pass.
  void check() const;
};

/// Reads a checked column of numbers in steps of 64 values.
class NumberCursor {
 public:
  NumberCursor() = default;
  /// Stands for an absent column: zeros.
  static NumberCursor zeros(std::uint64_t count);
  explicit NumberCursor(const ColumnView& column);

  /// Decodes the next up to 64 values into `out`, which has room for 64, and returns their number. About 0.6 ns per
  /// value.
  std::size_t next(std::uint64_t* out);
  [[nodiscard]] std::uint64_t remaining() const { return remaining_; }

 private:
  void unpack(std::uint64_t* out, std::size_t count, unsigned width);
  void join_planes(std::uint64_t* out, std::size_t count);

  Encoding encoding_;
  bool absent_ = true;
  std::uint64_t remaining_ = 0;
  std::uint64_t total_ = 0;
  const std::byte* at_ = nullptr;
  const std::byte* planes_at_ = nullptr;
  unsigned low_bits_ = 0;
  unsigned planes_ = 0;
  std::uint64_t previous_ = 0;
};

}  // namespace kymo::capture
