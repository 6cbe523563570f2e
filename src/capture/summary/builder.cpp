#include "capture/summary/builder.hpp"

#include "capture/format/block.hpp"
#include "capture/format/bytes.hpp"

namespace kymo::capture {

SummaryBuilder::SummaryBuilder(const SummaryIntervals& intervals) : intervals_(intervals) {
  total_.level = total_level;
}

std::vector<FinishedSummary> SummaryBuilder::add(const EventBatch& batch, std::uint32_t block_number) {
  lowest_.add(batch, block_number);
  const Summary& lowest = lowest_.summary();
  const bool is_long = lowest.scope_events >= intervals_.enough_events &&
                       static_cast<std::uint64_t>(lowest.end_ns) - static_cast<std::uint64_t>(lowest.start_ns) >=
                           static_cast<std::uint64_t>(intervals_.long_enough_ns);
  std::vector<FinishedSummary> finished;
  if (is_long || lowest.blocks >= intervals_.most_blocks) {
    close_lowest(false, finished);
  }
  return finished;
}

void SummaryBuilder::close_lowest(bool at_end, std::vector<FinishedSummary>& finished) {
  const Summary& lowest = lowest_.complete(at_end);
  total_.merge(lowest);
  // At the end, the total equals the lowest level's summary if there is only one.
  if (!at_end || total_.blocks != lowest.blocks) {
    emit(lowest, finished);
  }
  raise(lowest, 1, finished);
  lowest_.begin_next();
}

void SummaryBuilder::raise(const Summary& summary, std::size_t level, std::vector<FinishedSummary>& finished) {
  if (level >= total_level) {
    return;
  }
  if (levels_.size() < level) {
    levels_.emplace_back();
    levels_.back().summary.level = static_cast<std::uint8_t>(level);
    levels_.back().summary.clear(summary.coverage.shift());
  }
  Level& own = levels_[level - 1];
  own.summary.merge(summary);
  if (++own.merged < intervals_.merged) {
    return;
  }
  emit(own.summary, finished);
  raise(own.summary, level + 1, finished);
  own.summary.clear(summary.coverage.shift());
  own.merged = 0;
}

std::vector<FinishedSummary> SummaryBuilder::finish() {
  std::vector<FinishedSummary> finished;
  if (lowest_.summary().blocks != 0) {
    close_lowest(true, finished);
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    // The summary of a single one, or of the whole capture, would be a duplicate.
    if (level.merged > 1 && level.summary.blocks != total_.blocks) {
      emit(level.summary, finished);
    }
    if (level.merged > 0 && i + 1 < levels_.size()) {
      levels_[i + 1].summary.merge(level.summary);
      ++levels_[i + 1].merged;
    }
  }
  if (total_.blocks != 0) {
    emit(total_, finished);
  }
  return finished;
}

void SummaryBuilder::emit(const Summary& summary, std::vector<FinishedSummary>& finished) const {
  if (!fits_in_a_block(summary)) {
    return;
  }
  ByteBuffer bytes;
  encode_summary(summary, bytes);
  if (bytes.bytes().size() > max_payload_size) {
    return;
  }
  FinishedSummary& added = finished.emplace_back();
  added.level = summary.level;
  added.start_ns = summary.start_ns;
  added.end_ns = summary.end_ns;
  added.scope_events = summary.scope_events;
  added.payload.assign(bytes.bytes().begin(), bytes.bytes().end());
}

}  // namespace kymo::capture
