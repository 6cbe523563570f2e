#include "capture/read/add_summaries.hpp"

#include <algorithm>
#include <vector>

#include "capture/format/bytes.hpp"

namespace kymo::capture {

std::size_t add_summaries(const CaptureReader& reader, SummaryParts parts, SummaryTotals& totals) {
  const std::vector<BlockInfo>& blocks = reader.blocks();
  const auto is_covered = [&totals](const BlockInfo& block) {
    return block.kind != BlockKind::events || totals.covers(block.number);
  };
  std::vector<const BlockInfo*> summaries;
  for (const BlockInfo& block : blocks) {
    if (block.kind == BlockKind::summary) {
      summaries.push_back(&block);
    }
  }
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const BlockInfo* a, const BlockInfo* b) { return a->level > b->level; });
  BlockPayload payload;
  std::size_t added = 0;
  for (const BlockInfo* const block : summaries) {
    if (block->level != total_level && std::all_of(blocks.begin(), blocks.end(), is_covered)) {
      break;
    }
    try {
      if (reader.read_payload(*block, payload) && totals.add(decode_summary({payload.data(), payload.size()}, parts))) {
        ++added;
      }
    } catch (const DecodeError&) {
      continue;
    }
  }
  return added;
}

}  // namespace kymo::capture
