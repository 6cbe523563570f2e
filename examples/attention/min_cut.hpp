// Maximum flow by Dinic's algorithm, and the resulting minimum cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attention {

/// A directed graph with integer capacities: sums of integers are the same in any order on any machine. Stored as a
/// square matrix, 4 bytes per pair of nodes, because these graphs have edges between half of all pairs.
class FlowGraph {
 public:
  static constexpr std::int32_t greatest_capacity = std::int32_t{1} << 29;

  explicit FlowGraph(std::size_t nodes) : nodes_(nodes), residual_(nodes * nodes) {}

  /// 0 to greatest_capacity. Ignored from a node to itself.
  void set_capacity(std::size_t from, std::size_t to, std::int32_t capacity) {
    residual_[from * nodes_ + to] = capacity;
  }

  /// Computes the maximum flow from source to sink, which must differ. Call once per object.
  std::int64_t send(std::size_t source, std::size_t sink);

  /// After send(): whether a node is on the source's side of the minimum cut nearest to the source. The capacities of
  /// the edges leaving that side add up to the flow.
  [[nodiscard]] bool is_on_source_side(std::size_t node) const { return level_[node] != unreached; }

 private:
  static constexpr std::uint32_t unreached = UINT32_MAX;

  bool find_levels(std::size_t source, std::size_t sink);
  std::int32_t push(std::size_t node, std::size_t sink, std::int32_t at_most);

  std::size_t nodes_;
  std::vector<std::int32_t> residual_;  ///< remaining capacity from the row's node to the column's
  std::vector<std::uint32_t> level_;    ///< number of edges from the source
  std::vector<std::size_t> next_;       ///< the edge to try next, by node
};

}  // namespace attention
