// The individual blocks and summaries of a timeline, for callers that choose what to decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

#include "timeline/detail.hpp"

namespace kymo::timeline {

/// An event block, with the timeline's times.
struct BlockPlace {
  std::int64_t start_ns = 0;  ///< no event in the block is earlier
  std::int64_t end_ns = 0;    ///< no event in the block is later
};

/// A summary and the blocks [first_block, end_block) of its capture that it covers.
struct SummaryPlace {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t first_block = 0;
  std::size_t end_block = 0;
  std::uint32_t place = 0;  ///< among the reader's blocks
  std::uint8_t level = 0;   ///< 0 is the finest
};

/// Blocks and summaries of one capture.
struct CaptureBlocks {
  std::vector<BlockPlace> blocks;
  std::vector<SummaryPlace> summaries;  ///< in file order, except those of whole captures
};

/// The blocks and summaries of each capture of a timeline, in the order of Timeline::capture(). Reads nothing from
/// files.
[[nodiscard]] KYMO_API std::vector<CaptureBlocks> list_blocks(const Timeline& timeline);

/// Decodes a block with the timeline's ids and times. False if it is damaged or gone.
[[nodiscard]] KYMO_API bool read_block(const Timeline& timeline, std::size_t capture, std::size_t block,
                                       BatchParts parts, EventBatch& batch);

/// The Detail of a summary, with the timeline's ids and times. False if it is damaged.
[[nodiscard]] KYMO_API bool read_summary(const Timeline& timeline, std::size_t capture, const SummaryPlace& place,
                                         Detail& out);

}  // namespace kymo::timeline
