// Gathers the tree of nested scopes, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/lists.hpp"
#include "stats/common/selection.hpp"

namespace kymo::panel {

/// Scopes that extend beyond the range count with the part inside, as in Statistics.
class TreeGatherer {
 public:
  TreeGatherer(const ListKey& key, const BlockProvider& provider);

  [[nodiscard]] BlockScan scan() const;
  void take(std::size_t capture, const EventBatch* batch);
  /// The tree of all blocks so far. Scopes that are still open count up to the last block or the range's end.
  [[nodiscard]] TreeList result();

 private:
  /// An open scope with its place in the tree.
  struct Place {
    std::int64_t start_ns = 0;
    SiteId site = 0;
    std::uint32_t node = 0;
  };
  struct Track {
    capture::ScopeStack stack;
    std::vector<Place> path;  // by depth, as far as it was looked up
    stats::RunCut cut;
  };
  /// The tree with what finds its nodes.
  struct Tree {
    TreeList list;
    std::unordered_map<std::uint64_t, std::uint32_t> nodes;  // by parent and site
  };

  static void take_run(const ScopeRun& run, capture::ScopeStack& stack, std::vector<Place>& path, Tree& tree);
  static std::uint32_t node_of(std::uint32_t parent, SiteId site, std::uint16_t depth, Tree& tree);

  ListKey key_;
  bool cuts_;
  Tree tree_;
  std::int64_t last_ns_;
  std::unordered_map<TrackId, Track> tracks_;
};

}  // namespace kymo::panel
