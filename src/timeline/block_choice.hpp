// Chooses the blocks of a capture that tell what its tracks did in a stretch of time.
//
// A track's words are in the file in chronological order, and a block's declared range holds all its events. The ranges
// of blocks need not ascend: late spans reach back, and a recorder that lags behind writes a thread's words in several
// blocks before those that another thread wrote meanwhile. Every block names the tracks with open scopes.
//
// Blocks before or after the stretch hold nothing of it. Those in a row are skipped as long as they are all on one
// side: then whatever the next block misses of a track lies on that side. The first block on the other side is read,
// since it tells which scopes the skipped ones left open.
#pragma once

#include <cstdint>

#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// Where the blocks are that were skipped since the last one that was read.
enum class SkippedBlocks : std::uint8_t { none, before, after };

class BlockChoice {
 public:
  explicit BlockChoice(TimeRange range) : range_(range) {}

  /// Whether to read the next block, with this declared range. Call for all blocks of a capture in order.
  [[nodiscard]] bool needs(std::int64_t start_ns, std::int64_t end_ns, bool is_last) {
    const SkippedBlocks side = start_ns > range_.end_ns   ? SkippedBlocks::after
                               : end_ns < range_.start_ns ? SkippedBlocks::before
                                                          : SkippedBlocks::none;
    has_reached_ = has_reached_ || side != SkippedBlocks::before;
    const bool ends_capture = is_last && has_reached_ && side == SkippedBlocks::before;
    if (side == SkippedBlocks::none || (pending_ != SkippedBlocks::none && pending_ != side) || ends_capture) {
      skipped_ = pending_;
      pending_ = SkippedBlocks::none;
      return true;
    }
    pending_ = side;
    has_skipped_ = true;
    return false;
  }

  /// Whether all blocks so far were needed.
  [[nodiscard]] bool needed_all() const { return !has_skipped_; }
  /// Those skipped before the block that was needed last.
  [[nodiscard]] SkippedBlocks skipped() const { return skipped_; }

 private:
  TimeRange range_;
  SkippedBlocks pending_ = SkippedBlocks::before;  // what was open when the capture began is unknown
  SkippedBlocks skipped_ = SkippedBlocks::none;
  bool has_reached_ = false;
  bool has_skipped_ = false;
};

}  // namespace kymo::timeline
