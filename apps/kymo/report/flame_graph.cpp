#include "apps/kymo/report/flame_graph.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/shared/units.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::command {

namespace {

constexpr double page_width = 1160;
constexpr double least_width = 0.5;
constexpr std::size_t row_height = 17;
constexpr std::size_t most_rows = 100;
constexpr std::size_t most_bars = 5'000;

/// As much of a name as fits, by the width of most letters.
std::string fitting(const std::string& name, double width) {
  constexpr double letter = 6.4;
  const auto room = static_cast<std::size_t>(std::max(width - 4, 0.0) / letter);
  return room < 3 ? std::string() : cut_middle(printable(name), room);
}

std::string format_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace

struct FlameGraph::Drawing {
  std::string bars;
  std::size_t rows = 0;
  std::size_t count = 0;
  bool is_cut = false;
};

void FlameGraph::add(const Timeline& timeline, const stats::SampledFunctions& functions, std::size_t side) {
  const stats::StackTree tree(timeline);
  std::vector<std::uint64_t> total(functions.by_stack.begin(), functions.by_stack.end());
  if (widths_ == Widths::waits) {
    total = functions.blocked_by_stack;
  }
  std::vector<std::uint32_t> place(total.size());  // the node of each stack
  for (std::size_t stack = total.size(); stack-- > 1;) {
    total[tree.caller_of(static_cast<std::uint32_t>(stack))] += total[stack];
  }
  for (std::size_t stack = 0; stack < total.size(); ++stack) {
    if (stack != 0 && total[stack] == 0) {
      continue;
    }
    if (stack != 0) {
      const FunctionId function = tree.function_of(static_cast<std::uint32_t>(stack));
      const std::uint32_t caller = place[tree.caller_of(static_cast<std::uint32_t>(stack))];
      auto key = std::make_pair(tree.module_of(function), tree.name_of(function));
      const auto next = static_cast<std::uint32_t>(nodes_.size());
      place[stack] = nodes_[caller].children.try_emplace(std::move(key), next).first->second;
      if (place[stack] == next) {
        nodes_.push_back({tree.name_of(function), {}, {}});
      }
    }
    nodes_[place[stack]].size[side] += total[stack];
  }
}

std::array<double, 2> FlameGraph::shares_of(const Node& node) const {
  std::array<double, 2> shares{};
  for (std::size_t side = 0; side < shares.size(); ++side) {
    const std::uint64_t all = nodes_.front().size[side];
    shares[side] = all == 0 ? 0 : static_cast<double>(node.size[side]) / static_cast<double>(all);
  }
  return shares;
}

double FlameGraph::width_of(const Node& node) const {
  const auto [base, changed] = shares_of(node);
  return page_width * (nodes_.front().size[1] == 0 ? base : (base + changed) / 2);
}

void FlameGraph::draw_bar(Drawing& drawing, const Node& node, double x, std::size_t depth) const {
  const double width = width_of(node);
  const auto [base, changed] = shares_of(node);
  std::string its_class = fmt::format("c{}", std::hash<std::string>{}(node.name) % 3);
  const std::string size = widths_ == Widths::waits ? format_duration(static_cast<double>(node.size[0]))
                                                    : format_plural(node.size[0], "sample");
  std::string tip = fmt::format("{}: {}, {}", printable(node.name), format_percent(base), size);
  if (nodes_.front().size[1] != 0) {
    const double change = changed - base;
    constexpr double least_change = 0.005;
    const char* const strength = std::abs(change) > 0.05 ? " c2" : std::abs(change) > 0.02 ? " c1" : " c0";
    its_class = std::abs(change) < least_change ? "same" : (change > 0 ? "more" : "less") + std::string(strength);
    tip = fmt::format("{}: {} in base, {} in new", printable(node.name), format_percent(base), format_percent(changed));
  }
  const std::size_t y = depth * row_height;
  drawing.bars += fmt::format(R"(<g><title>{}</title><rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>)",
                              escape_html(tip), its_class, x, y, width, row_height);
  if (const std::string text = fitting(node.name, width); !text.empty()) {
    drawing.bars += fmt::format(R"(<text x="{:.1f}" y="{}">{}</text>)", x + 2, y + 12, escape_html(text));
  }
  drawing.bars += "</g>\n";
  drawing.rows = std::max(drawing.rows, depth + 1);
  ++drawing.count;
}

void FlameGraph::draw(Drawing& drawing, const Node& node, double x, std::size_t depth) const {
  if (depth == most_rows || drawing.count == most_bars) {
    drawing.is_cut = true;
    return;
  }
  draw_bar(drawing, node, x, depth);
  for (const auto& [name, index] : node.children) {
    const Node& child = nodes_[index];
    if (width_of(child) >= least_width) {
      draw(drawing, child, x, depth + 1);
    }
    x += width_of(child);
  }
}

void FlameGraph::append(std::string& out) const {
  Drawing drawing;
  draw(drawing, nodes_.front(), 0, 0);
  out += fmt::format(
      "<div class=\"wide\"><svg class=\"flame\" role=\"img\" viewBox=\"0 0 {} {}\" aria-label=\"Flame graph: the "
      "functions of {}, callers above\">\n{}</svg></div>\n",
      page_width, drawing.rows * row_height, widths_ == Widths::waits ? "waits" : "sampled stacks", drawing.bars);
  if (drawing.is_cut) {
    out += fmt::format("<p class=\"soft\">The drawing has {} rows and {} bars at most.</p>\n", most_rows,
                       format_count(most_bars));
  }
}

}  // namespace kymo::command
