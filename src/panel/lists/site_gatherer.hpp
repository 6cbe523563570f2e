// Adds up the scopes of a range or inside a site, block by block, for the statistics and locks tabs.
#pragma once

#include <cstddef>

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/cut_runs.hpp"
#include "panel/lists/lists.hpp"

namespace kymo::panel {

/// Scopes that extend beyond the range count with the part inside. With a site as the key's id, scopes count that are
/// of it or inside of one on their thread.
class SiteGatherer {
 public:
  SiteGatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key), runs_(key.range) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }
  void take(std::size_t capture, const EventBatch* batch);
  /// Adds the scopes that are open at the range's end. Call after the last block.
  void finish();
  [[nodiscard]] SiteList result() const { return {sites_.figures()}; }

 private:
  void add(const ScopeRun& run, capture::ScopeStack& stack);

  ListKey key_;
  CutRuns<capture::ScopeStack> runs_;
  stats::SiteCounter sites_;
};

}  // namespace kymo::panel
