// The flame graph tab: the tree of nested scopes as boxes, as wide as their share of the time.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text/escapes.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

namespace {

using TreeNode = TreeList::Node;

class FlameGraphTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Flame graph"; }

  void draw(TabContext& context) override {
    list_.keep_fresh(context.state.data(), ListKey(context.state.table_range()));
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    if (list_.version() != version_) {
      version_ = list_.version();
      order();
    }
    if (nodes.size() < 2) {
      say(list_.is_reading() ? "reading..." : "no scopes: put KYMO_FUNCTION() or KYMO_SCOPE() into the code");
      return;
    }
    if (root_ >= nodes.size() || path_of(root_) != root_path_) {
      root_ = 0;
      root_path_.clear();
    }
    if (root_ != 0 && ImGui::SmallButton("Whole")) {
      root_ = 0;
      root_path_.clear();
    }
    if (root_ != 0) {
      ImGui::SameLine(0, ImGui::GetFontSize());
    }
    say((root_ == 0 ? std::string("all threads, ") : name_of(context, root_) + ", ") +
        duration_text(static_cast<std::int64_t>(total_of(root_))) +
        ", the widest first; a click marks the site, a double click widens the box" +
        (list_.is_reading() ? "   reading..." : ""));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    ImGui::BeginChild("boxes", ImVec2(0, 0));
    const float line = ImGui::GetTextLineHeight() * 1.25F;
    ImGui::InvisibleButton("graph",
                           ImVec2(std::max(room.x, 1.0F), std::max(line * static_cast<float>(depth_ + 1), 1.0F)));
    const bool is_over = ImGui::IsItemHovered();
    const float top = at.y - ImGui::GetScrollY();
    const std::uint32_t under = draw_boxes(context, {at.x, top}, room.x, line, is_over);
    if (under != 0) {
      use_box(context, under);
    }
    ImGui::EndChild();
  }

  void choose_row(TabContext& context, bool down) override {
    // Goes to the widest box inside the chosen one, and out again.
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    if (chosen_ >= nodes.size() || inside_.size() != nodes.size()) {
      return;
    }
    const std::uint32_t next = !down ? nodes[chosen_].parent : inside_[chosen_].empty() ? chosen_ : inside_[chosen_][0];
    if (next != 0) {
      chosen_ = next;
      context.state.mark_site(nodes[next].site);
    }
  }
  void sort_by(std::size_t /*column*/) override {}

  [[nodiscard]] std::string csv(TabContext& context) const override {
    std::string out = "path,count,total,self\n";
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    std::vector<std::string> paths(nodes.size());
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
      const std::string& outer = paths[nodes[i].parent];
      paths[i] = outer + (outer.empty() ? "" : ";") + name_of(context, i);
      base::append_csv_field(out, paths[i]);
      out += ',' + std::to_string(nodes[i].count) + ',' + std::to_string(nodes[i].total_ns) + ',' +
             std::to_string(self_of(i)) + '\n';
    }
    return out;
  }

 private:
  [[nodiscard]] std::string name_of(TabContext& context, std::uint32_t node) const {
    return context.names.look(list_.list().nodes[node].site, false, context.theme).text;
  }
  [[nodiscard]] std::uint64_t total_of(std::uint32_t node) const {
    const TreeNode& one = list_.list().nodes[node];
    return node == 0 ? one.inner_ns : one.total_ns;
  }
  [[nodiscard]] std::uint64_t self_of(std::uint32_t node) const {
    const TreeNode& one = list_.list().nodes[node];
    return one.total_ns - std::min(one.inner_ns, one.total_ns);
  }
  /// The sites from the outermost to a node.
  [[nodiscard]] std::vector<SiteId> path_of(std::uint32_t node) const {
    std::vector<SiteId> path;
    for (; node != 0; node = list_.list().nodes[node].parent) {
      path.push_back(list_.list().nodes[node].site);
    }
    return path;
  }

  void order() {
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    inside_.assign(nodes.size(), {});
    depth_ = 0;
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
      inside_[nodes[i].parent].push_back(i);
      depth_ = std::max<std::size_t>(depth_, nodes[i].depth);
    }
    for (std::vector<std::uint32_t>& children : inside_) {
      std::sort(children.begin(), children.end(), [&nodes](std::uint32_t a, std::uint32_t b) {
        return nodes[a].total_ns != nodes[b].total_ns ? nodes[a].total_ns > nodes[b].total_ns : a < b;
      });
    }
    if (chosen_ >= nodes.size()) {
      chosen_ = 0;
    }
  }

  /// Draws the boxes and returns the one under the pointer; 0: none. Boxes narrower than a pixel are left out.
  std::uint32_t draw_boxes(TabContext& context, ImVec2 at, float width, float line, bool is_over) {
    struct Waiting {
      std::uint32_t node;
      float left;
      float right;
      std::size_t row;
    };
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    const auto all = static_cast<float>(std::max<std::uint64_t>(total_of(root_), 1));
    Canvas canvas(ImGui::GetWindowDrawList());
    const ImVec2 pointer = ImGui::GetIO().MousePos;
    std::uint32_t under = 0;
    std::vector<Waiting> waiting = {{root_, at.x, at.x + width, 0}};
    while (!waiting.empty()) {
      const Waiting box = waiting.back();
      waiting.pop_back();
      const float top = at.y + line * static_cast<float>(box.row);
      if (box.node != 0) {
        const NameLook& look = context.names.look(nodes[box.node].site, false, context.theme);
        const float gap = box.right - box.left > 3 ? 1.0F : 0.0F;
        canvas.fill(box.left, top, box.right - gap, top + line - 1, look.colour);
        if (nodes[box.node].site == context.state.marked_site()) {
          canvas.outline(box.left, top, box.right - gap, top + line - 1, context.theme.chosen,
                         box.node == chosen_ ? 2.0F : 1.0F);
        }
        if (box.right - box.left > ImGui::GetFontSize() * 1.5F) {
          canvas.text(box.left + 3, top + 1, box.right - box.left - 6, context.theme.box_text, look.text);
        }
        const bool is_in = pointer.x >= box.left && pointer.x < box.right && pointer.y >= top && pointer.y < top + line;
        under = is_over && is_in ? box.node : under;
      }
      float left = box.left;
      for (const std::uint32_t child : inside_[box.node]) {
        const float right = left + width * static_cast<float>(nodes[child].total_ns) / all;
        if (right - left < 1) {
          break;  // the others are narrower
        }
        waiting.push_back({child, left, std::min(right, box.right), box.row + (box.node == 0 ? 0 : 1)});
        left = right;
      }
    }
    return under;
  }

  void use_box(TabContext& context, std::uint32_t node) {
    const TreeNode& one = list_.list().nodes[node];
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
      root_ = node;
      root_path_ = path_of(node);
    } else if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      chosen_ = node;
      context.state.mark_site(one.site);
    }
    const double share = 100.0 * static_cast<double>(one.total_ns) /
                         static_cast<double>(std::max<std::uint64_t>(list_.list().nodes.front().inner_ns, 1));
    ImGui::BeginTooltip();
    say(name_of(context, node) + "\n" + duration_text(static_cast<std::int64_t>(one.total_ns)) + ", " +
        value_text(share, "%") + " of all; self " + duration_text(static_cast<std::int64_t>(self_of(node))) + "; " +
        count_text(one.count) + (one.count == 1 ? " scope" : " scopes"));
    ImGui::EndTooltip();
  }

  KeptList<TreeList> list_;
  std::uint64_t version_ = 0;
  std::vector<std::vector<std::uint32_t>> inside_;  // by node, by falling total
  std::size_t depth_ = 0;                           // of the deepest node
  std::uint32_t root_ = 0;                          // what fills the width
  std::vector<SiteId> root_path_;
  std::uint32_t chosen_ = 0;
};

}  // namespace

std::unique_ptr<Tab> make_flame_graph_tab() {
  return std::make_unique<FlameGraphTab>();
}

}  // namespace kymo::panel
