// Gathers the tree of nested scopes.
#include "panel/lists/tree_gatherer.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

TreeGatherer::TreeGatherer(const ListKey& key, const BlockProvider& /*provider*/)
    : key_(key), last_ns_(std::numeric_limits<std::int64_t>::min()) {
  const TimeRange all;
  cuts_ = key.range.start_ns != all.start_ns || key.range.end_ns != all.end_ns;
  tree_.list.nodes.emplace_back();
}

BlockScan TreeGatherer::scan() const {
  return {key_.range, BatchParts::scopes, std::nullopt, {}, {}};
}

std::uint32_t TreeGatherer::node_of(std::uint32_t parent, SiteId site, std::uint16_t depth, Tree& tree) {
  const auto [known, is_new] = tree.nodes.try_emplace((std::uint64_t{parent} << 32U) | site, parent);
  std::vector<TreeList::Node>& nodes = tree.list.nodes;
  if (is_new && nodes.size() < TreeList::most_nodes) {
    known->second = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({site, parent, depth, 0, 0, 0});
  }
  return known->second;
}

void TreeGatherer::take_run(const ScopeRun& run, capture::ScopeStack& stack, std::vector<Place>& path, Tree& tree) {
  capture::match(run, stack, [&](const capture::ScopeSpan& span) {
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
  if (batch == nullptr) {
    return;  // the stacks see the gap in the sequence numbers
  }
  last_ns_ = std::max(last_ns_, batch->end_ns);
  for (const ScopeRun& run : batch->runs) {
    const auto [at, is_new] = tracks_.try_emplace(run.track);
    Track& track = at->second;
    if (is_new) {
      track.cut = stats::RunCut(key_.range);
    }
    if (!cuts_) {
      take_run(run, track.stack, track.path, tree_);
    } else if (ScopeRun part = run; track.cut.cut(part, false)) {
      take_run(part, track.stack, track.path, tree_);
    }
  }
}

TreeList TreeGatherer::result() {
  const std::int64_t end_ns = std::min(key_.range.end_ns, last_ns_);
  // Nodes first: those of scopes that are still open may be new.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> open;
  for (auto& [id, track] : tracks_) {
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
  }
  TreeList list = tree_.list;
  for (const auto& [node, length_ns] : open) {
    ++list.nodes[node].count;
    list.nodes[node].total_ns += length_ns;
    list.nodes[list.nodes[node].parent].inner_ns += length_ns;
  }
  return list;
}

}  // namespace kymo::panel
