#include "capture/summary/totals.hpp"

#include <iterator>

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

}  // namespace kymo::capture
