// Counts lost events of captures without a final count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::panel {

struct DropCounts {
  std::uint64_t scopes = 0;
  std::uint64_t others = 0;
  bool is_whole = true;  ///< else only the latest blocks were counted: tracks that ended earlier may have lost more
};

/// Adds up the counts in the latest block of each track. Not thread safe.
class DropCounter {
 public:
  /// The number of last blocks to read when a capture is opened.
  static constexpr std::size_t most_blocks = 64;

  void take(const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      Lost& lost = lost_[run.track];
      if (run.end_sequence >= lost.end_sequence) {
        lost = {run.end_sequence, run.dropped_scopes, run.dropped_others};
      }
    }
  }
  [[nodiscard]] DropCounts counts() const {
    DropCounts counts;
    counts.is_whole = is_whole;
    for (const auto& entry : lost_) {
      counts.scopes += entry.second.scopes;
      counts.others += entry.second.others;
    }
    return counts;
  }

  bool is_whole = true;
  bool is_reading = false;
  std::vector<std::size_t> next;  ///< by capture: the next block to read

 private:
  struct Lost {
    std::uint64_t end_sequence = 0;
    std::uint64_t scopes = 0;
    std::uint64_t others = 0;
  };
  std::unordered_map<TrackId, Lost> lost_;
};

}  // namespace kymo::panel
