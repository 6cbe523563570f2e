// Finds the blocks of a file by hopping from header to header, and past damage by searching for the next header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/format/block.hpp"
#include "capture/read/byte_source.hpp"

namespace kymo::capture {

/// Scans a file that may still grow. Not thread-safe.
class BlockScanner {
 public:
  explicit BlockScanner(const ByteSource& source) : source_(source) {}

  /// Continues from the last call to the end of the file, or until `most` more blocks were found, and appends complete
  /// blocks. Returns whether there were any. About 0.2 us per block in a cached file.
  bool scan(std::vector<BlockInfo>& blocks, std::size_t most = SIZE_MAX);

  /// Accepts blocks listed by an index as found: scanning continues at `offset`.
  void start_at(std::uint64_t offset, std::uint32_t next_number);

  /// The file is understood up to this offset.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// Whether the file ends in a trailer, so its writer closed it.
  [[nodiscard]] bool found_trailer() const { return found_trailer_; }

  /// Damage between blocks, and gaps in their numbers.
  [[nodiscard]] const std::vector<Damage>& damages() const { return damages_; }
  /// Bytes at the file's end that are not a complete block, yet.
  [[nodiscard]] const std::optional<Damage>& torn_end() const { return torn_end_; }

 private:
  std::span<const std::byte> view(std::uint64_t offset, std::size_t size);
  std::optional<BlockHeader> header_at(std::uint64_t offset);
  std::optional<std::uint64_t> next_header(std::uint64_t from, std::uint64_t end);
  void take(const BlockHeader& header, std::vector<BlockInfo>& blocks);
  void take_trailer(std::uint64_t end);
  bool skip_damage(const std::optional<BlockHeader>& header, std::uint64_t end);

  const ByteSource& source_;
  std::uint64_t offset_ = preamble_size;
  std::uint32_t next_number_ = 0;
  bool found_trailer_ = false;
  // Where to continue the search for a header, so that a growing file behind damage is not searched repeatedly.
  std::uint64_t searched_to_ = 0;
  std::vector<Damage> damages_;
  std::optional<Damage> torn_end_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
  std::size_t window_size_ = 0;
};

}  // namespace kymo::capture
