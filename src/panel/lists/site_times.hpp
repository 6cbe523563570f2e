// When scopes of a site were open: what the frames, metrics and messages tabs look inside of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>

#include "panel/lists/lists.hpp"
#include "panel/lists/runs_until.hpp"

namespace kymo::panel {

/// Gathers the times at which any thread had a scope of a site open. Takes 16 bytes a scope, up to SiteTimes::most.
class SiteTimes::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& provider)
      : key_(key), last_ns_(least_end_ns(key.range, provider)) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }
  void take(const EventBatch& batch, const ScannedBlock& block) {
    last_ns_ = std::max(last_ns_, batch.end_ns);
    runs_.take(batch, block,
               [this](const ScopeRun& run) { times_.add_closed(run, SiteId{key_.id}, stacks_[run.track]); });
    if (times_.ranges.size() > joined_ + most) {
      times_.join();
      joined_ = times_.ranges.size();
    }
  }
  /// Scopes that are still open count up to the last block.
  [[nodiscard]] SiteTimes result() const {
    SiteTimes times = times_;
    for (const auto& [track, stack] : stacks_) {
      times.add_open(stack, SiteId{key_.id}, last_ns_);
    }
    times.join();
    return times;
  }

 private:
  ListKey key_;
  SiteTimes times_;
  std::size_t joined_ = 0;
  std::int64_t last_ns_;
  std::unordered_map<TrackId, capture::ScopeStack> stacks_;
  RunsUntil runs_;
};

}  // namespace kymo::panel
