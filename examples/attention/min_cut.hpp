// Maximum flow by Dinic's algorithm, and the minimum cut that it shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attention {

/// A directed graph whose edges have whole capacities: sums of whole numbers are the same in any order, on any machine.
/// Kept as a square of capacities, 4 bytes a pair of nodes: the graphs here have edges between half of all pairs.
class FlowGraph {
 public:
  static constexpr std::int32_t greatest_capacity = std::int32_t{1} << 29;

  explicit FlowGraph(std::size_t nodes) : nodes_(nodes), residual_(nodes * nodes) {}

  /// 0 to greatest_capacity; from a node to itself it is of no account.
  void set_capacity(std::size_t from, std::size_t to, std::int32_t capacity) {
    residual_[from * nodes_ + to] = capacity;
  }

  /// Sends as much as can flow from source to sink, which must differ, and returns how much that is. Once an object.
  std::int64_t send(std::size_t source, std::size_t sink);

  /// After send(): whether a node is on the source's side of the minimum cut that lies nearest to the source. The
  /// capacities of the edges that leave that side add up to what send() returned.
  [[nodiscard]] bool is_on_source_side(std::size_t node) const { return level_[node] != unreached; }

 private:
  static constexpr std::uint32_t unreached = UINT32_MAX;

  bool find_levels(std::size_t source, std::size_t sink);
  std::int32_t push(std::size_t node, std::size_t sink, std::int32_t at_most);

  std::size_t nodes_;
  std::vector<std::int32_t> residual_;  ///< what can still flow from the row's node to the column's
  std::vector<std::uint32_t> level_;    ///< edges from the source
  std::vector<std::size_t> next_;       ///< of each node the edge to try next
};

}  // namespace attention
