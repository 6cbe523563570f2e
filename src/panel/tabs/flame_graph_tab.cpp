// The flame graph tab: the tree of nested scopes as boxes, as wide as their share of the time.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text/escapes.hpp"
#include "panel/draw/box_graph.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/focused_tree.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

namespace {

using TreeNode = TreeList::Node;

class FlameGraphTab final : public Tab {
 public:
  FlameGraphTab() : Tab("Flame graph") {}

  void draw(TabContext& context) override {
    list_.keep_fresh(context);
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    if (list_.version() != version_) {
      version_ = list_.version();
      std::vector<BoxGraph::Box> boxes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        boxes.push_back({nodes[i].site.value(), nodes[i].parent, nodes[i].depth, total_of(i)});
      }
      graph_.take(std::move(boxes));
    }
    draw_focus_button(context);
    if (graph_.is_empty()) {
      say(list_.is_reading() ? "reading..." : "no scopes: put KYMO_FUNCTION() or KYMO_SCOPE() into the code");
      return;
    }
    graph_.draw_whole_button();
    const std::uint32_t root = graph_.root();
    say((root == 0 ? std::string("all threads, ") : name_of(context, root) + ", ") +
        duration_text(static_cast<std::int64_t>(total_of(root))) +
        ", the widest first; a click marks the site, a double click widens the box" +
        (list_.is_reading() ? "   reading..." : ""));
    const std::uint32_t under = graph_.draw(context.theme, [&](std::uint32_t node) {
      const NameLook& look = context.names.look(nodes[node].site, context.theme);
      return BoxGraph::Look{look.text, look.colour, nodes[node].site == context.state.marked_site()};
    });
    if (graph_.is_clicked()) {
      context.state.mark_site(nodes[under].site);
    }
    if (under != 0) {
      context.tip = tip_of(context, under);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (const std::uint32_t next = graph_.step(down); next != 0) {
      context.state.mark_site(list_.list().nodes[next].site);
    }
  }
  void sort_by(std::size_t /*column*/) override {}

  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    std::string out = as == CopyAs::csv ? "path,count,total,self\n" : "";
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    std::vector<std::string> paths(nodes.size());
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
      const std::string& outer = paths[nodes[i].parent];
      paths[i] = outer + (outer.empty() ? "" : ";") + name_of(context, i);
      if (as == CopyAs::text) {
        // Collapsed stacks, which other tools for flame graphs read.
        out += self_of(i) != 0 ? paths[i] + ' ' + std::to_string(self_of(i)) + '\n' : "";
        continue;
      }
      base::append_csv_field(out, paths[i]);
      out += ',' + std::to_string(nodes[i].count) + ',' + std::to_string(nodes[i].total_ns) + ',' +
             std::to_string(self_of(i)) + '\n';
    }
    return out;
  }

 private:
  [[nodiscard]] std::string name_of(TabContext& context, std::uint32_t node) const {
    return context.names.look(list_.list().nodes[node].site, context.theme).text;
  }
  [[nodiscard]] std::uint64_t total_of(std::uint32_t node) const {
    const TreeNode& one = list_.list().nodes[node];
    return node == 0 ? one.inner_ns : one.total_ns;
  }
  [[nodiscard]] std::uint64_t self_of(std::uint32_t node) const {
    const TreeNode& one = list_.list().nodes[node];
    return one.total_ns - std::min(one.inner_ns, one.total_ns);
  }
  [[nodiscard]] std::string tip_of(TabContext& context, std::uint32_t node) const {
    const TreeNode& one = list_.list().nodes[node];
    const double share = 100.0 * static_cast<double>(one.total_ns) /
                         static_cast<double>(std::max<std::uint64_t>(list_.list().nodes.front().inner_ns, 1));
    return name_of(context, node) + "\n" + duration_text(static_cast<std::int64_t>(one.total_ns)) + ", " +
           value_text(share, "%") + " of all; self " + duration_text(static_cast<std::int64_t>(self_of(node))) + "; " +
           count_text(one.count) + (one.count == 1 ? " scope" : " scopes");
  }

  FocusedTree list_;
  std::uint64_t version_ = 0;
  BoxGraph graph_;
};

}  // namespace

std::unique_ptr<Tab> make_flame_graph_tab() {
  return std::make_unique<FlameGraphTab>();
}

}  // namespace kymo::panel
