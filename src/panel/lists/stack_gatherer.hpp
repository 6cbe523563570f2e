// Gathers the functions on sampled stacks, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/lists.hpp"

namespace kymo::panel {

/// take() is for the worker's thread; the others for the drawing thread, while nothing is taken. Takes 32 bytes a
/// stack, and inside a site 32 a sample and 16 a scope, up to a bound.
class StackGatherer {
 public:
  StackGatherer(const ListKey& key, const BlockProvider& provider) : key_(key), provider_(provider) {}

  [[nodiscard]] BlockScan scan() const;
  void take(std::size_t capture, const EventBatch* batch);
  [[nodiscard]] StackList result() const;

 private:
  struct Count {
    std::uint64_t samples = 0;
    std::uint64_t blocked_ns = 0;
  };
  using Counts = std::unordered_map<StackId, Count>;

  static void count(const StackSample& sample, Counts& counts);
  /// The samples inside scopes of the site.
  [[nodiscard]] Counts counts_inside(StackList& list) const;

  ListKey key_;
  const BlockProvider& provider_;
  Counts counts_;  // of all, without a site
  std::unordered_map<ThreadId, std::vector<StackSample>> samples_;
  std::size_t kept_ = 0;
  std::unordered_map<TrackId, capture::ScopeStack> stacks_;
  std::unordered_map<TrackId, SiteTimes> scopes_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace kymo::panel
