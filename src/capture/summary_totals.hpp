// The totals of a capture from as few bytes as possible: its summaries, and those blocks that none of them covers.
#pragma once

#include <cstdint>
#include <map>

#include <kymo/events.hpp>

#include "capture/summary.hpp"
#include "capture/summary_accumulator.hpp"

namespace kymo::capture {

/// Adds up one capture. Offer the summaries first, from the highest level (255 first) to the lowest, then, in the order
/// of their numbers, the EVENTS blocks that covers() does not know. Not thread safe.
class SummaryTotals {
 public:
  /// Takes a summary where none of its blocks was covered before; returns whether it was taken.
  bool add(const Summary& summary);

  /// Whether an EVENTS block of this number is in the totals. Blocks within a taken summary are, even those that a
  /// reader finds damaged.
  [[nodiscard]] bool covers(std::uint32_t block_number) const;

  /// Counts a block that no summary covers. Scopes that a summary before it left open go on.
  void add(const EventBatch& batch, std::uint32_t block_number);

  /// Everything added so far. Nothing must be added afterwards.
  const Summary& finish();

 private:
  /// What whoever goes on after a summary must know of it.
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

}  // namespace kymo::capture
