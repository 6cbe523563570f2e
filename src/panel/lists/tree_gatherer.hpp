// Gathers the tree of nested scopes, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/summary/scope_matcher.hpp"
#include "panel/lists/cut_runs.hpp"
#include "panel/lists/lists.hpp"

namespace kymo::panel {

/// Scopes that extend beyond the range count with the part inside, as in Statistics.
class TreeGatherer {
 public:
  TreeGatherer(const ListKey& key, const BlockProvider& provider);

  [[nodiscard]] BlockScan scan() const;
  void take(std::size_t capture, const EventBatch* batch);
  /// Ends the scopes that are open at the range's end. Call after the last block.
  void finish();
  /// The tree of all blocks so far. Scopes that are still open count up to the last block.
  [[nodiscard]] TreeList result();

 private:
  /// An open scope with its place in the tree.
  struct Place {
    std::int64_t start_ns = 0;
    SiteId site;
    std::uint32_t node = 0;
  };
  struct Track {
    capture::ScopeStack stack;
    std::vector<Place> path;  // by depth, as far as it was looked up
  };
  /// The tree with what finds its nodes.
  struct Tree {
    TreeList list;
    std::unordered_map<std::uint64_t, std::uint32_t> nodes;  // by parent and site
  };

  void add(const ScopeRun& run, Track& track);
  static std::uint32_t node_of(std::uint32_t parent, SiteId site, std::uint16_t depth, Tree& tree);

  ListKey key_;
  Tree tree_;
  CutRuns<Track> runs_;
};

}  // namespace kymo::panel
