// Computes a capture's totals from as few bytes as possible: its summaries, and the blocks that none of them covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "capture/summary/accumulator.hpp"
#include "capture/summary/summary.hpp"

namespace kymo::capture {

/// Sums up one capture. First add the summaries, from the highest level (255) to the lowest; then, in order of their
/// numbers, the EVENTS blocks for which covers() is false. Not thread-safe.
class SummaryTotals {
 public:
  /// Adds a summary if none of its blocks was covered before; returns whether it was added.
  bool add(const Summary& summary);

  /// Whether the totals include the EVENTS block with this number. Blocks within an added summary are included, even
  /// those that a reader finds damaged.
  [[nodiscard]] bool covers(std::uint32_t block_number) const;

  /// Counts a block that no summary covers. Scopes left open by a preceding summary continue.
  void add(const EventBatch& batch, std::uint32_t block_number);

  /// Everything added so far. Adding is forbidden afterwards.
  const Summary& finish();

 private:
  /// The state after a summary, for continuing behind it.
  struct Taken {
    std::uint32_t last_block = 0;
    Summary end;  ///< without histograms and coverage
  };

  Summary total_;
  SummaryAccumulator accumulator_;
  std::map<std::uint32_t, Taken> taken_;  // by first block
  std::uint32_t last_added_block_ = 0;
  bool has_added_ = false;
};

/// Adds a capture's summaries to its totals, widest first, until the totals cover it. Damaged ones are left out, since
/// their blocks can be decoded instead. Returns how many were added.
std::size_t add_summaries(const CaptureReader& reader, SummaryParts parts, SummaryTotals& totals);

}  // namespace kymo::capture
