// When scopes of a site were open: what the frames, metrics and messages tabs look inside of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/lists.hpp"

namespace kymo::panel {

/// Gathers the times at which any thread had a scope of a site open. Takes 16 bytes a scope, up to SiteTimes::most.
class SiteTimesGatherer {
 public:
  SiteTimesGatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }
  void take(std::size_t capture, const EventBatch* batch);
  /// Scopes that are still open count up to the last block.
  [[nodiscard]] SiteTimes result();

 private:
  ListKey key_;
  SiteTimes times_;
  std::size_t joined_ = 0;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::unordered_map<TrackId, capture::ScopeStack> stacks_;
};

}  // namespace kymo::panel
