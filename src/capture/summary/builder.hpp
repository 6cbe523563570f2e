// Builds summaries during writing; the capture writer calls it after each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <kymo/events.hpp>

#include "capture/summary/accumulator.hpp"
#include "capture/summary/summary.hpp"

namespace kymo::capture {

/// When a summary of level 0 is complete, and how many make one of the next level.
struct SummaryIntervals {
  std::uint64_t most_blocks = 64;  ///< this many EVENTS blocks,
  std::int64_t long_enough_ns = 1'000'000'000;
  std::uint64_t enough_events = 1U << 20U;  ///< or this many scope events in at least long_enough_ns
  unsigned merged = 16;                     ///< summaries of one level in one of the next
};

/// A complete summary for a SUMMARY block.
struct FinishedSummary {
  std::uint8_t level = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t scope_events = 0;
  std::vector<std::byte> payload;
};

/// Builds the summaries of all levels of one capture. Not thread-safe.
///
/// Memory: for each level reached, and for the total, 180 bytes a site and its histogram's pages (histogram.hpp).
class SummaryBuilder {
 public:
  explicit SummaryBuilder(const SummaryIntervals& intervals = {});

  /// Counts the batch of an EVENTS block. Returns the summaries completed by it, lowest level first; usually none.
  /// About 7 to 11 ns per scope.
  [[nodiscard]] std::vector<FinishedSummary> add(const EventBatch& batch, std::uint32_t block_number);

  /// Ends the capture: returns the remaining summaries, that of the whole capture (level 255) last. Adding is forbidden
  /// afterwards. Empty if there was no batch.
  [[nodiscard]] std::vector<FinishedSummary> finish();

 private:
  struct Level {
    Summary summary;
    unsigned merged = 0;
  };

  void close_lowest(bool at_end, std::vector<FinishedSummary>& finished);
  void raise(const Summary& summary, std::size_t level, std::vector<FinishedSummary>& finished);
  void emit(const Summary& summary, std::vector<FinishedSummary>& finished) const;

  SummaryIntervals intervals_;
  SummaryAccumulator lowest_;
  std::deque<Level> levels_;  // levels_[i] collects level i + 1; a level that is added moves no other
  Summary total_;
};

}  // namespace kymo::capture
