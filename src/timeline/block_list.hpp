// The blocks and summaries of a timeline one by one, for whoever decides himself what to decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

#include "timeline/detail.hpp"

namespace kymo::timeline {

/// A block of events; its times are the timeline's.
struct BlockPlace {
  std::int64_t start_ns = 0;  ///< no event in it is earlier
  std::int64_t end_ns = 0;    ///< nor later
};

/// A summary, and the blocks [first_block, end_block) of its capture that it stands for.
struct SummaryPlace {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t first_block = 0;
  std::size_t end_block = 0;
  std::uint32_t place = 0;  ///< among the reader's blocks
  std::uint8_t level = 0;   ///< 0 is the finest
};

/// One capture's.
struct CaptureBlocks {
  std::vector<BlockPlace> blocks;
  std::vector<SummaryPlace> summaries;  ///< without those of whole captures, in the order of the file
};

/// The blocks and summaries of each capture of a timeline, in the order of Timeline::capture(). Nothing is read from
/// files.
[[nodiscard]] KYMO_API std::vector<CaptureBlocks> list_blocks(const Timeline& timeline);

/// Decodes a block with the timeline's ids and times. False where it is damaged or gone.
[[nodiscard]] KYMO_API bool read_block(const Timeline& timeline, std::size_t capture, std::size_t block,
                                       BatchParts parts, EventBatch& batch);

/// What a summary looks like, in the timeline's ids and times. False where it is damaged.
[[nodiscard]] KYMO_API bool read_summary(const Timeline& timeline, std::size_t capture, const SummaryPlace& place,
                                         Detail& out);

}  // namespace kymo::timeline
