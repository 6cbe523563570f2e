// The call tree: what ran inside what, over all threads, each path of sites with its count, total and self time.
//
// A path that contains itself (recursion) has a row at every depth, each with the scopes of that depth alone: totals of
// rows that stand beside each other add up, and none holds a moment twice. A row's self time is its total less those of
// the rows directly inside. All self times add up to the time of the tree, which is the sum of its outermost scopes
// over all threads: shares refer to that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/selection.hpp"

namespace kymo::stats {

/// The scopes of one path.
struct CallTreeRow {
  SiteId site = 0;           ///< one of them, where equal sites of several processes are joined; 0: other paths
  std::uint32_t parent = 0;  ///< index of the row that it stands in; its own for outermost ones
  std::uint32_t depth = 0;
  std::uint64_t count = 0;
  std::uint64_t open = 0;  ///< of these: had not ended with the capture, and count up to its last event
  std::uint64_t total_ns = 0;
  std::uint64_t self_ns = 0;
};

/// All scopes of one site, wherever in the tree.
struct CallTreeSite {
  SiteId site = 0;  ///< 0: other paths
  std::uint64_t count = 0;
  std::uint64_t inclusive_ns = 0;  ///< without the scopes that ran inside another one of the same site
  std::uint64_t self_ns = 0;
};

struct CallTree {
  std::vector<CallTreeRow> rows;    ///< each followed by those in it; by falling total within one
  std::vector<CallTreeSite> sites;  ///< by falling inclusive time
  std::uint64_t total_ns = 0;
  std::uint64_t folded_scopes = 0;  ///< on paths that found no room; they are in the rows of other paths
  std::size_t blocks_damaged = 0;
};

struct CallTreeOptions {
  bool by_process = false;         ///< as in StatisticsOptions
  Selection selection;             ///< where it chooses sites, the tree begins with the outermost scopes of these
  std::size_t most_paths = 65536;  ///< of a capture; further ones are counted under their parents as other paths
  std::function<void(double)> on_progress = {};
};

/// One pass over the scopes, about 40 ns each. Memory: some 10 MB at the default of most_paths, whatever the size of
/// the captures.
[[nodiscard]] CallTree gather_call_tree(const Timeline& timeline, const CallTreeOptions& options = {});

}  // namespace kymo::stats
