// Adds up the scopes of a range or inside a site, block by block, for the statistics and locks tabs.
#pragma once

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/cut_runs.hpp"
#include "panel/lists/lists.hpp"

namespace kymo::panel {

/// Scopes that extend beyond the range count with the part inside. With a site as the key's id, scopes count that are
/// of it or inside of one on their thread.
class SiteList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& provider) : key_(key), runs_(key.range, provider) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }
  void take(const EventBatch& batch, const ScannedBlock& block) {
    runs_.take(batch, block, [this](const ScopeRun& run, capture::ScopeStack& stack, std::int64_t first_ns) {
      add(run, stack, first_ns);
    });
  }
  /// Adds the scopes that are open at the range's end. Call after the last block.
  void finish() {
    runs_.finish(
        [this](const ScopeRun& run, capture::ScopeStack& stack, std::int64_t first_ns) { add(run, stack, first_ns); });
  }
  [[nodiscard]] SiteList result() const { return {sites_.figures()}; }

 private:
  void add(const ScopeRun& run, capture::ScopeStack& stack, std::int64_t first_ns) {
    const SiteId around{key_.id};
    const auto count = [&](const capture::ScopeSpan& scope) {
      // The scopes around it are still open.
      bool is_inside = !around || scope.site == around;
      for (std::size_t depth = 0; depth < scope.depth && !is_inside; ++depth) {
        is_inside = stack[depth].site == around;
      }
      if (is_inside) {
        sites_.add(scope);
      }
    };
    capture::match(run, stack, count, first_ns);
  }

  ListKey key_;
  CutRuns<capture::ScopeStack> runs_;
  stats::SiteCounter sites_;
};

}  // namespace kymo::panel
