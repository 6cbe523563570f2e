// The functions tab: the functions on sampled stacks as boxes, as wide as their share of the samples or of the waits.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text/escapes.hpp"
#include "panel/draw/box_graph.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/tab.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::panel {

namespace {

/// The same counts by what was found itself, below it its callers.
std::vector<StackList::Node> reversed_of(const std::vector<StackList::Node>& nodes) {
  std::vector<StackList::Node> out;
  std::map<std::pair<std::uint32_t, FunctionId>, std::uint32_t> places;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const StackList::Node& found = nodes[i];
    if (out.empty()) {
      out.push_back({FunctionId{}, 0, 0, 0, found.total, 0, found.total_blocked_ns});
    }
    if (found.self == 0 && found.self_blocked_ns == 0) {
      continue;
    }
    std::uint32_t at = 0;
    for (std::uint32_t node = i; node != 0; node = nodes[node].parent) {
      const auto next = static_cast<std::uint32_t>(out.size());
      const auto [place, is_new] = places.try_emplace({at, nodes[node].function}, next);
      if (is_new) {
        if (out.size() == StackList::most_nodes) {
          places.erase(place);
          break;
        }
        const auto depth = static_cast<std::uint16_t>(at == 0 ? 0 : out[at].depth + 1);
        out.push_back({nodes[node].function, at, depth, 0, 0, 0, 0});
      }
      at = place->second;
      out[at].self += node == i ? found.self : 0;
      out[at].self_blocked_ns += node == i ? found.self_blocked_ns : 0;
      out[at].total += found.self;
      out[at].total_blocked_ns += found.self_blocked_ns;
    }
  }
  return out;
}

class FunctionsTab final : public Tab {
 public:
  FunctionsTab() : Tab("Functions") {}

  void draw(TabContext& context) override {
    const SiteId site = context.state.focused_site();
    list_.keep_fresh(context.state.data(), ListKey(context.state.table_range(), site.value()));
    if (list_.version() != version_ || is_reversed_ != was_reversed_) {
      take(context);
    }
    draw_focus_button(context);
    if (graph_.is_empty()) {
      say(list_.is_reading() ? "reading..."
          : site             ? "no samples of stacks inside its scopes"
                             : "no samples of stacks: kymo record --stacks takes them");
      return;
    }
    if (has_waits() && ImGui::SmallButton(shows_waits_ ? "On the CPU###waits" : "Waiting###waits")) {
      sort_by(shows_waits_ ? 0 : 1);
    }
    if (has_waits()) {
      ImGui::SameLine(0, ImGui::GetFontSize());
    }
    if (ImGui::SmallButton(is_reversed_ ? "Callees###callers" : "Callers###callers")) {
      sort_by(2);
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    graph_.draw_whole_button();
    const std::uint32_t root = graph_.root();
    say((root == 0 ? std::string("all functions, ") : texts_[root] + ", ") + size_text(total_of(root)) +
        (shows_waits_ ? " waited" : " on the CPU") +
        ", the widest first; a click marks the function, a double click widens the box" +
        (list_.list().is_cut ? "   only inside the first calls" : "") + (list_.is_reading() ? "   reading..." : ""));
    const auto& marked = context.state.marked_functions();
    const std::uint32_t under = graph_.draw(context.theme, [&](std::uint32_t node) {
      return BoxGraph::Look{texts_[node], colours_[node], marked.count(nodes_[node].function) != 0};
    });
    if (graph_.is_clicked()) {
      mark(context, under);
    }
    if (under != 0) {
      context.tip = tip_of(context, under);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (const std::uint32_t next = graph_.step(down); next != 0) {
      mark(context, next);
    }
  }

  /// The first is time on the CPU, the second waiting; the third turns the graph over.
  void sort_by(std::size_t column) override {
    if (column == 2) {
      is_reversed_ = !is_reversed_;
      return;
    }
    if (const bool waits = column == 1 && has_waits(); waits != shows_waits_) {
      shows_waits_ = waits;
      size_boxes();
    }
  }

  [[nodiscard]] std::string copied(TabContext& /*context*/, CopyAs as) const override {
    std::string out = as == CopyAs::csv ? "path,total,self,total_blocked_ns,self_blocked_ns\n" : "";
    std::vector<std::string> paths(nodes_.size());
    for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
      const StackList::Node& node = nodes_[i];
      paths[i] = paths[node.parent] + (node.parent == 0 ? "" : ";") + texts_[i];
      if (as == CopyAs::text) {
        // Collapsed stacks, which other tools for flame graphs read.
        out += self_of(i) != 0 ? paths[i] + ' ' + std::to_string(self_of(i)) + '\n' : "";
        continue;
      }
      base::append_csv_field(out, paths[i]);
      for (const std::uint64_t value : {node.total, node.self, node.total_blocked_ns, node.self_blocked_ns}) {
        out += ',' + std::to_string(value);
      }
      out += '\n';
    }
    return out;
  }

 private:
  [[nodiscard]] bool has_waits() const { return !nodes_.empty() && nodes_.front().total_blocked_ns != 0; }
  [[nodiscard]] std::uint64_t total_of(std::uint32_t node) const {
    return shows_waits_ ? nodes_[node].total_blocked_ns : nodes_[node].total;
  }
  [[nodiscard]] std::uint64_t self_of(std::uint32_t node) const {
    return shows_waits_ ? nodes_[node].self_blocked_ns : nodes_[node].self;
  }
  [[nodiscard]] std::string size_text(std::uint64_t size) const {
    return shows_waits_ ? duration_text(static_cast<std::int64_t>(std::min(size, std::uint64_t{1} << 62U)))
                        : count_text(size) + (size == 1 ? " sample" : " samples");
  }

  void take(TabContext& context) {
    version_ = list_.version();
    was_reversed_ = is_reversed_;
    nodes_ = is_reversed_ ? reversed_of(list_.list().nodes) : list_.list().nodes;
    const stats::StackTree tree(context.state.data().provider().declarations());
    texts_.clear();
    colours_.clear();
    for (const StackList::Node& node : nodes_) {
      const std::string name = tree.name_of(node.function);
      texts_.push_back(clean_text(name));
      colours_.push_back(context.names.colour_of(name));
    }
    shows_waits_ = has_waits() && (shows_waits_ || nodes_.front().total == 0);
    size_boxes();
  }

  void size_boxes() {
    std::vector<BoxGraph::Box> boxes;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      boxes.push_back({nodes_[i].function.value(), nodes_[i].parent, nodes_[i].depth, total_of(i)});
    }
    graph_.take(std::move(boxes));
  }

  /// Lights the function in all boxes, and its samples on the tracks.
  void mark(TabContext& context, std::uint32_t node) const {
    std::unordered_set<FunctionId> functions;
    for (const auto& [function, same] : list_.list().same_names) {
      if (same == nodes_[node].function) {
        functions.insert(function);
      }
    }
    context.state.mark_functions(std::move(functions));
  }

  [[nodiscard]] std::string tip_of(TabContext& context, std::uint32_t node) const {
    const stats::StackTree tree(context.state.data().provider().declarations());
    const std::string module = clean_text(tree.module_of(nodes_[node].function));
    const std::string source = clean_text(tree.source_of(nodes_[node].function));
    const double share =
        100.0 * static_cast<double>(total_of(node)) / static_cast<double>(std::max<std::uint64_t>(total_of(0), 1));
    return texts_[node] + (module.empty() ? "" : "\n" + module) + (source.empty() ? "" : "\n" + source) + "\n" +
           size_text(total_of(node)) + ", " + value_text(share, "%") + " of all; self " + size_text(self_of(node)) +
           lines_of(node, source.substr(source.rfind('/') + 1));
  }

  /// The lines that have most of a box, and their shares of it.
  [[nodiscard]] std::string lines_of(std::uint32_t node, const std::string& file) const {
    constexpr std::size_t most_shown = 5;
    if (was_reversed_) {
      return {};
    }
    const std::vector<StackList::Line>& all = list_.list().lines;
    const auto [begin, end] =
        std::equal_range(all.begin(), all.end(), StackList::Line{node, 0, 0, 0},
                         [](const StackList::Line& a, const StackList::Line& b) { return a.node < b.node; });
    std::vector<std::pair<std::uint64_t, std::uint32_t>> sizes;
    for (auto line = begin; line != end; ++line) {
      sizes.emplace_back(shows_waits_ ? line->blocked_ns : line->samples, line->line);
    }
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    std::string out;
    for (std::size_t i = 0; i < std::min(sizes.size(), most_shown) && sizes[i].first != 0; ++i) {
      const double share = 100.0 * static_cast<double>(sizes[i].first) / static_cast<double>(total_of(node));
      out += "\n" + file + ":" + std::to_string(sizes[i].second) + "   " + value_text(share, "%");
    }
    return out;
  }

  KeptList<StackList> list_;
  std::uint64_t version_ = 0;
  // The list may change before the next draw(). Until then keys and copies use these, which fit each other.
  std::vector<StackList::Node> nodes_;
  std::vector<std::string> texts_;  // by node
  std::vector<ImU32> colours_;
  bool shows_waits_ = false;
  bool is_reversed_ = false;   // as wanted,
  bool was_reversed_ = false;  // and as taken
  BoxGraph graph_;
};

}  // namespace

std::unique_ptr<Tab> make_functions_tab() {
  return std::make_unique<FunctionsTab>();
}

}  // namespace kymo::panel
