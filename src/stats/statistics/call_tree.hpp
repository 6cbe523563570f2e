// The call tree: nested scopes over all threads; each path of sites with its count, total and self time.
//
// A recursive path has a row at every depth, with only the scopes of that depth. Totals of sibling rows therefore add
// up, and no moment counts twice. A row's self time is its total minus the totals of its child rows. All self times add
// up to the time of the tree: the sum of its outermost scopes over all threads. Shares refer to that sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/common/selection.hpp"

namespace kymo::stats {

/// The scopes of one path.
struct CallTreeRow {
  SiteId site;               ///< one of them, if equal sites of several processes are joined; 0: other paths
  std::uint32_t parent = 0;  ///< index of the parent row; its own index for outermost rows
  std::uint32_t depth = 0;
  std::uint64_t count = 0;
  std::uint64_t open = 0;  ///< number of these still open at the end of the capture; they count up to its last event
  std::uint64_t total_ns = 0;
  std::uint64_t self_ns = 0;
};

/// All scopes of one site, anywhere in the tree. Not SiteStatistics: time in recursion counts once, and open scopes
/// count.
struct CallTreeSite {
  SiteId site;  ///< 0: other paths
  std::uint64_t count = 0;
  std::uint64_t inclusive_ns = 0;  ///< without scopes nested in another one of the same site
  std::uint64_t self_ns = 0;
};

struct CallTree {
  std::vector<CallTreeRow> rows;    ///< each followed by its children; siblings by descending total
  std::vector<CallTreeSite> sites;  ///< by descending inclusive time
  std::uint64_t total_ns = 0;
  std::uint64_t folded_scopes = 0;  ///< on paths above the limit; included in the rows of other paths
  std::size_t blocks_damaged = 0;
};

struct CallTreeOptions {
  bool by_process = false;         ///< as in StatisticsOptions
  Selection selection;             ///< if it selects sites, the tree begins with the outermost scopes of these
  std::size_t most_paths = 65536;  ///< per capture; further paths are counted under their parents as other paths
  std::function<void(double)> on_progress = {};
};

/// One pass over the scopes, about 40 ns each. Memory: some 10 MB at the default of most_paths, for captures of any
/// size.
[[nodiscard]] CallTree gather_call_tree(const Timeline& timeline, const CallTreeOptions& options = {});

}  // namespace kymo::stats
