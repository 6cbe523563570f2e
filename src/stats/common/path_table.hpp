// Paths of nested sites. Every path has a node, which counts all scopes of the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/ids.hpp>

namespace kymo::stats {

/// Counts scopes by their path. Not thread-safe. Memory: up to `most_paths` nodes of 36 bytes, as many again for paths
/// above the limit, and 24 to 48 bytes of hash table for each.
class PathTable {
 public:
  using NodeId = std::uint32_t;
  static constexpr NodeId root = 0;
  /// The site of nodes that stand for all further paths below their parent.
  static constexpr SiteId other_paths{0};

  /// Properties of a path besides its sums.
  struct Node {
    NodeId parent = root;
    SiteId site;
    std::uint64_t open = 0;
  };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t total_ns = 0;
  };

  explicit PathTable(std::size_t most_paths);

  /// The child node of a site in a node. A node of other paths has only itself as a child.
  NodeId child(NodeId parent, SiteId site) {
    if (is_full() && is_other(parent)) {
      return parent;
    }
    std::size_t at = place_of(parent, site);
    for (;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.node == 0) {
        return add(parent, site, at);
      }
      if (slot.site == site && slot.parent == parent) [[likely]] {
        return slot.node;
      }
    }
  }
  [[nodiscard]] bool is_other(NodeId node) const { return others_[node] == node && node != root; }

  /// Counts a scope with its duration.
  void count(NodeId node, std::uint64_t duration_ns, bool is_open = false) {
    Sum& sum = sums_[node];
    ++sum.count;
    sum.total_ns += duration_ns;
    if (is_open) [[unlikely]] {
      ++nodes_[node].open;
    }
  }
  /// Counts a scope nested in others of the same node of other paths; its time is part of theirs.
  void count_inner(NodeId node) { ++sums_[node].count; }

  /// Node 0 is the root; every other node comes after its parent.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// By node.
  [[nodiscard]] const std::vector<Sum>& sums() const { return sums_; }
  [[nodiscard]] bool is_full() const { return paths_ >= most_paths_; }

 private:
  struct Slot {
    NodeId node = 0;
    NodeId parent = 0;
    SiteId site;
  };

  [[nodiscard]] std::size_t place_of(NodeId parent, SiteId site) const {
    const std::uint64_t key = (std::uint64_t{parent} << 32U | site.value()) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(key >> 32U) & mask_;
  }
  NodeId add_node(NodeId parent, SiteId site);
  [[gnu::noinline]] NodeId add(NodeId parent, SiteId site, std::size_t at);
  void grow();

  std::size_t most_paths_;
  std::size_t paths_ = 0;
  // By node. Data used for every scope is kept together.
  std::vector<Node> nodes_;
  std::vector<Sum> sums_;
  std::vector<NodeId> others_;  // its node for further paths, 0: none yet; such a node refers to itself
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

}  // namespace kymo::stats
