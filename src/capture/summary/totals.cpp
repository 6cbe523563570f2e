#include "capture/summary/totals.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "capture/format/bytes.hpp"

namespace kymo::capture {

bool SummaryTotals::add(const Summary& summary) {
  const auto after = taken_.upper_bound(summary.last_block);
  if (summary.blocks == 0 || (after != taken_.begin() && std::prev(after)->second.last_block >= summary.first_block)) {
    return false;
  }
  total_.merge(summary);
  Taken& taken = taken_[summary.first_block];
  taken.last_block = summary.last_block;
  taken.end.end_ns = summary.end_ns;
  taken.end.tracks = summary.tracks;
  for (const FrameStreamSummary& stream : summary.frame_streams) {
    FrameStreamSummary& to = taken.end.frame_streams[stream.id];
    to.marks = stream.marks;
    to.last_mark_ns = stream.last_mark_ns;
  }
  return true;
}

bool SummaryTotals::covers(std::uint32_t block_number) const {
  const auto after = taken_.upper_bound(block_number);
  return after != taken_.begin() && std::prev(after)->second.last_block >= block_number;
}

void SummaryTotals::add(const EventBatch& batch, std::uint32_t block_number) {
  if (covers(block_number)) {
    return;
  }
  const auto after = taken_.upper_bound(block_number);
  if (after != taken_.begin()) {
    const auto before = std::prev(after);
    if (!has_added_ || before->first > last_added_block_) {
      accumulator_.resume(before->second.end);
    }
  }
  accumulator_.add(batch, block_number);
  last_added_block_ = block_number;
  has_added_ = true;
}

const Summary& SummaryTotals::finish() {
  total_.merge(accumulator_.complete(true));
  total_.level = total_level;
  return total_;
}

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
