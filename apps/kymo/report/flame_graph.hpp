// Sampled stacks as a drawing: each function a bar as wide as its share of the samples, or of what threads waited,
// beneath the one that called it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/statistics/function_statistics.hpp"

namespace kymo::command {

/// The stacks of one side, or of two that are compared. Stacks of the same names are one.
class FlameGraph {
 public:
  enum class Widths : std::uint8_t { samples, waits };

  FlameGraph() = default;
  explicit FlameGraph(Widths widths) : widths_(widths) {}

  /// Adds a run to a side, 0 or 1. Both must have the same timeline.
  void add(const Timeline& timeline, const stats::SampledFunctions& functions, std::size_t side = 0);

  [[nodiscard]] bool empty() const { return nodes_.size() == 1; }
  /// Appends a figure, of at most 5,000 bars: those narrower than half a pixel are left out. Of two sides, a bar is as
  /// wide as its mean share, and its colour is that of the side whose share is greater.
  void append(std::string& out) const;

  /// Rules for the page.
  static constexpr std::string_view style =
      R"(svg.flame { width: 1160px; } .flame rect { stroke: var(--ground); stroke-width: .5; fill: var(--base); }
.flame text { fill: var(--text); pointer-events: none; }
.flame .c0 { fill-opacity: .22; } .flame .c1 { fill-opacity: .3; } .flame .c2 { fill-opacity: .38; }
.flame .same { fill: var(--soft); fill-opacity: .15; } .flame .more { fill: var(--worse); }
.flame .less { fill: var(--better); }
)";

 private:
  struct Node {
    std::string name;
    std::array<std::uint64_t, 2> size{};  ///< samples or ns, in it and in what it called, by side
    std::map<std::pair<std::string, std::string>, std::uint32_t> children;  ///< by module and name
  };
  struct Drawing;

  [[nodiscard]] std::array<double, 2> shares_of(const Node& node) const;
  [[nodiscard]] double width_of(const Node& node) const;
  void draw(Drawing& drawing, const Node& node, double x, std::size_t depth) const;
  void draw_bar(Drawing& drawing, const Node& node, double x, std::size_t depth) const;

  Widths widths_ = Widths::samples;
  std::vector<Node> nodes_{Node{"all", {}, {}}};
};

}  // namespace kymo::command
