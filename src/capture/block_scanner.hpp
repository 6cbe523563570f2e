// Finds the blocks of a file, by hopping from header to header and, past damage, by looking for the next header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/block.hpp"
#include "capture/byte_source.hpp"

namespace kymo::capture {

/// Walks a file that may still grow. One thread at a time.
class BlockScanner {
 public:
  explicit BlockScanner(const ByteSource& source) : source_(source) {}

  /// Goes on from where the last call stopped to the end of the file, or until so many more were found, and appends the
  /// blocks that are whole. Whether there were any. Costs about 0.2 us a block in a file that is cached.
  bool scan(std::vector<BlockInfo>& blocks, std::size_t most = SIZE_MAX);

  /// Takes blocks as found that an index listed: scanning goes on at `offset`.
  void start_at(std::uint64_t offset, std::uint32_t next_number);

  /// The offset up to which the file is understood.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// Whether the file ends in a trailer: its writer closed it.
  [[nodiscard]] bool found_trailer() const { return found_trailer_; }

  /// Damage between blocks, and gaps in their numbers.
  [[nodiscard]] const std::vector<Damage>& damages() const { return damages_; }
  /// What stands at the end of the file and is no whole block, yet.
  [[nodiscard]] const std::optional<Damage>& torn_end() const { return torn_end_; }

 private:
  std::span<const std::byte> view(std::uint64_t offset, std::size_t size);
  std::optional<BlockHeader> header_at(std::uint64_t offset);
  std::optional<std::uint64_t> next_header(std::uint64_t from, std::uint64_t end);
  void take(const BlockHeader& header, std::vector<BlockInfo>& blocks);
  void take_trailer(std::uint64_t end);
  bool skip_damage(const std::optional<BlockHeader>& header, std::uint64_t end);
  void note_end(std::uint64_t from, std::uint64_t end, const BlockHeader* header);

  const ByteSource& source_;
  std::uint64_t offset_ = preamble_size;
  std::uint32_t next_number_ = 0;
  bool found_trailer_ = false;
  // Where to go on looking for a header, so that a growing file behind damage is not searched again and again.
  std::uint64_t searched_to_ = 0;
  std::vector<Damage> damages_;
  std::optional<Damage> torn_end_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
  std::size_t window_size_ = 0;
};

[[nodiscard]] BlockInfo info_of(const BlockHeader& header, std::uint64_t offset);

}  // namespace kymo::capture
