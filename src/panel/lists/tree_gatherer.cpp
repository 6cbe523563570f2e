// Gathers the tree of nested scopes.
#include "panel/lists/tree_gatherer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

TreeGatherer::TreeGatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key), runs_(key.range) {
  tree_.list.nodes.emplace_back();
}

BlockScan TreeGatherer::scan() const {
  return {key_.range, BatchParts::scopes, std::nullopt, {}, {}};
}

std::uint32_t TreeGatherer::node_of(std::uint32_t parent, SiteId site, std::uint16_t depth, Tree& tree) {
  const auto [known, is_new] = tree.nodes.try_emplace((std::uint64_t{parent} << 32U) | site.value(), parent);
  std::vector<TreeList::Node>& nodes = tree.list.nodes;
  if (is_new && nodes.size() < TreeList::most_nodes) {
    known->second = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({site, parent, depth, 0, 0, 0});
  }
  return known->second;
}

void TreeGatherer::add(const ScopeRun& run, Track& track) {
  const capture::ScopeStack& stack = track.stack;
  std::vector<Place>& path = track.path;
  Tree& tree = tree_;
  capture::match(run, track.stack, [&](const capture::ScopeSpan& span) {
    // The scopes around it are still open. Their nodes are known from the last scope inside them.
    std::size_t known = std::min<std::size_t>(span.depth, path.size());
    while (known > 0 &&
           !(path[known - 1].start_ns == stack[known - 1].start_ns && path[known - 1].site == stack[known - 1].site)) {
      --known;
    }
    path.resize(known);
    for (std::size_t depth = known; depth < span.depth; ++depth) {
      const capture::ScopeStack::Level level = stack[depth];
      const std::uint32_t around = depth == 0 ? 0 : path[depth - 1].node;
      path.push_back(
          {level.start_ns, level.site, node_of(around, level.site, static_cast<std::uint16_t>(depth), tree)});
    }
    const std::uint32_t parent = path.empty() ? 0 : path.back().node;
    const std::uint32_t node = node_of(parent, span.site, span.depth, tree);
    if (node == parent) {
      return;  // there is no room for its path
    }
    const auto duration_ns = static_cast<std::uint64_t>(span.duration_ns);
    TreeList::Node& counted = tree.list.nodes[node];
    ++counted.count;
    counted.total_ns += duration_ns;
    tree.list.nodes[parent].inner_ns += duration_ns;
  });
}

void TreeGatherer::take(std::size_t /*capture*/, const EventBatch* batch) {
  if (batch != nullptr) {  // else the stacks see the gap in the sequence numbers
    runs_.take(*batch, [this](const ScopeRun& run, Track& track) { add(run, track); });
  }
}

void TreeGatherer::finish() {
  runs_.finish([this](const ScopeRun& run, Track& track) { add(run, track); });
}

TreeList TreeGatherer::result() {
  const std::int64_t end_ns = runs_.end_ns();
  // Nodes first: those of scopes that are still open may be new.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> open;
  runs_.for_each_track([&](const Track& track) {
    std::uint32_t parent = 0;
    for (std::size_t depth = 0; depth < track.stack.depth(); ++depth) {
      const capture::ScopeStack::Level level = track.stack[depth];
      const std::uint32_t node = node_of(parent, level.site, static_cast<std::uint16_t>(depth), tree_);
      if (node == parent) {
        break;
      }
      open.emplace_back(node,
                        static_cast<std::uint64_t>(std::max<std::int64_t>(length_between(level.start_ns, end_ns), 0)));
      parent = node;
    }
  });
  TreeList list = tree_.list;
  for (const auto& [node, length_ns] : open) {
    ++list.nodes[node].count;
    list.nodes[node].total_ns += length_ns;
    list.nodes[list.nodes[node].parent].inner_ns += length_ns;
  }
  return list;
}

}  // namespace kymo::panel
