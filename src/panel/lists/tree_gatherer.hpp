// Gathers the tree of nested scopes, block by block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/summary/scope_matcher.hpp"
#include "panel/data/time_math.hpp"
#include "panel/lists/cut_runs.hpp"
#include "panel/lists/lists.hpp"

namespace kymo::panel {

/// Scopes that extend beyond the range count with the part inside, as in Statistics.
class TreeList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& provider) : key_(key), runs_(key.range, provider) {
    list_.nodes.emplace_back();
  }

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }
  void take(const EventBatch& batch, const ScannedBlock& block) {
    runs_.take(batch, block,
               [this](const ScopeRun& run, Track& track, std::int64_t first_ns) { add(run, track, first_ns); });
  }
  /// Ends the scopes that are open at the range's end. Call after the last block.
  void finish() {
    runs_.finish([this](const ScopeRun& run, Track& track, std::int64_t first_ns) { add(run, track, first_ns); });
  }

  /// The tree of all blocks so far. Scopes that are still open count up to the last block.
  [[nodiscard]] TreeList result() {
    const std::int64_t end_ns = runs_.end_ns();
    // Nodes first: those of scopes that are still open may be new.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> open;
    runs_.for_each_track([&](const Track& track) {
      std::uint32_t parent = 0;
      for (std::size_t depth = 0; depth < track.stack.depth(); ++depth) {
        const capture::ScopeStack::Level level = track.stack[depth];
        const std::uint32_t node = node_of(parent, level.site, static_cast<std::uint16_t>(depth));
        if (node == parent) {
          break;
        }
        open.emplace_back(
            node, static_cast<std::uint64_t>(std::max<std::int64_t>(length_between(level.start_ns, end_ns), 0)));
        parent = node;
      }
    });
    TreeList list = list_;
    for (const auto& [node, length_ns] : open) {
      ++list.nodes[node].count;
      list.nodes[node].total_ns += length_ns;
      list.nodes[list.nodes[node].parent].inner_ns += length_ns;
    }
    return list;
  }

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

  std::uint32_t node_of(std::uint32_t parent, SiteId site, std::uint16_t depth) {
    const auto [known, is_new] = by_path_.try_emplace((std::uint64_t{parent} << 32U) | site.value(), parent);
    std::vector<Node>& all = list_.nodes;
    if (is_new && all.size() < TreeList::most_nodes) {
      known->second = static_cast<std::uint32_t>(all.size());
      all.push_back({site, parent, depth, 0, 0, 0});
    }
    return known->second;
  }

  void add(const ScopeRun& run, Track& track, std::int64_t first_ns) {
    const capture::ScopeStack& stack = track.stack;
    std::vector<Place>& path = track.path;
    const auto count = [&](const capture::ScopeSpan& span) {
      // The scopes around it are still open. Their nodes are known from the last scope inside them.
      std::size_t known = std::min<std::size_t>(span.depth, path.size());
      while (known > 0 && !(path[known - 1].start_ns == stack[known - 1].start_ns &&
                            path[known - 1].site == stack[known - 1].site)) {
        --known;
      }
      path.resize(known);
      for (std::size_t depth = known; depth < span.depth; ++depth) {
        const capture::ScopeStack::Level level = stack[depth];
        const std::uint32_t around = depth == 0 ? 0 : path[depth - 1].node;
        path.push_back({level.start_ns, level.site, node_of(around, level.site, static_cast<std::uint16_t>(depth))});
      }
      const std::uint32_t parent = path.empty() ? 0 : path.back().node;
      const std::uint32_t node = node_of(parent, span.site, span.depth);
      if (node == parent) {
        return;  // there is no room for its path
      }
      const auto duration_ns = static_cast<std::uint64_t>(span.duration_ns);
      TreeList::Node& counted = list_.nodes[node];
      ++counted.count;
      counted.total_ns += duration_ns;
      list_.nodes[parent].inner_ns += duration_ns;
    };
    capture::match(run, track.stack, count, first_ns);
  }

  ListKey key_;
  TreeList list_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_path_;  // nodes by parent and site
  CutRuns<Track> runs_;
};

}  // namespace kymo::panel
