// The tree tab: the paths of nested scopes, with their totals.
#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/focused_tree.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

namespace {

using TreeNode = TreeList::Node;

class TreeTab final : public TableTab {
 public:
  TreeTab() : TableTab("Tree", Table("tree", by_total)) { table_.keep_order_of_rows(); }

  void draw(TabContext& context) override {
    list_.keep_fresh(context);
    if (list_.version() != version_) {
      version_ = list_.version();
      take_list(context);
    }
    if (ImGui::SmallButton("Unfold all")) {
      unfold(Unfolded::all);
    }
    ImGui::SameLine();
    if (ImGui::SmallButton("Fold all")) {
      unfold(Unfolded::none);
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    draw_focus_button(context);
    const std::size_t paths = std::max<std::size_t>(list_.list().nodes.size(), 1) - 1;
    say(paths == 0
            ? (list_.is_reading() ? "reading..." : "no scopes: put KYMO_FUNCTION() or KYMO_SCOPE() into the code")
            : count_text(paths) + (paths == 1 ? " path; a click unfolds it" : " paths; a click unfolds one") +
                  (paths + 1 == TreeList::most_nodes ? ", and more that count as self time" : "") +
                  (list_.is_reading() ? "   reading..." : ""));
    if (sorted_by_ != table_.column() || is_falling_ != table_.is_falling()) {
      sort_inside(context);
      show_rows();
    }
    const TableRows shown = rows(context);
    table_.update(shown, rows_version_);
    if (const auto clicked = table_.draw(shown, chosen(context), 0, context.theme)) {
      choose(context, *clicked);
      if (const std::uint64_t path = paths_[shown_[*clicked]]; clicked_.erase(path) == 0) {
        clicked_.insert(path);
      }
      show_rows();
    }
  }

 private:
  static constexpr std::size_t by_total = 2;

  /// What is unfolded unless it was clicked: paths with a share of the time, all, or none.
  enum class Unfolded : std::uint8_t { usual, all, none };

  void take_list(TabContext& context) {
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    inside_.assign(nodes.size(), {});
    paths_.assign(nodes.size(), 0);
    for (std::uint32_t i = 1; i < nodes.size(); ++i) {
      inside_[nodes[i].parent].push_back(i);
      paths_[i] = (paths_[nodes[i].parent] ^ nodes[i].site.value()) * 0x9E3779B97F4A7C15U;
      paths_[i] ^= paths_[i] >> 32U;
    }
    sort_inside(context);
    show_rows();
  }

  /// Sorts what lies directly inside each node by the table's column.
  void sort_inside(TabContext& context) {
    sorted_by_ = table_.column();
    is_falling_ = table_.is_falling();
    const TableColumn column =
        columns(context, [](std::size_t node) { return static_cast<std::uint32_t>(node); })[sorted_by_];
    for (std::vector<std::uint32_t>& children : inside_) {
      std::sort(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto is_before = [&](const auto& left, const auto& right) {
          return left == right ? a < b : (left > right) == is_falling_;
        };
        return column.is_number() ? is_before(column.number(a), column.number(b))
                                  : is_before(column.text(a), column.text(b));
      });
    }
  }

  void unfold(Unfolded what) {
    unfolded_ = what;
    clicked_.clear();
    show_rows();
  }

  [[nodiscard]] bool is_folded(std::uint32_t node) const {
    constexpr std::uint64_t parts = 50;
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    const bool is_unfolded = unfolded_ == Unfolded::all ||
                             (unfolded_ == Unfolded::usual && nodes[node].total_ns >= nodes.front().inner_ns / parts);
    return node != 0 && is_unfolded == (clicked_.count(paths_[node]) != 0);
  }

  void show_rows() {
    ++rows_version_;
    shown_.clear();
    signs_.clear();
    std::vector<std::uint32_t> waiting = {0};
    while (!waiting.empty() && !inside_.empty()) {
      const std::uint32_t node = waiting.back();
      waiting.pop_back();
      if (node != 0) {
        shown_.push_back(node);
        signs_.push_back(inside_[node].empty() ? ' ' : is_folded(node) ? '+' : '-');
      }
      if (!is_folded(node)) {
        waiting.insert(waiting.end(), inside_[node].rbegin(), inside_[node].rend());
      }
    }
  }

  /// The columns of nodes, with plain names. `node_of`: the node of a row.
  [[nodiscard]] std::vector<TableColumn> columns(TabContext& context,
                                                 const std::function<std::uint32_t(std::size_t row)>& node_of) const {
    const std::vector<TreeNode>& nodes = list_.list().nodes;
    const auto at = [&nodes, node_of](std::size_t row) -> const TreeNode& { return nodes[node_of(row)]; };
    const auto name = [&context, at](std::size_t row) { return context.names.look(at(row).site, context.theme).text; };
    const auto place = [&context, at](std::size_t row) {
      return Names::place(context.state.data().provider().site(at(row).site));
    };
    const auto total_ns = [at](std::size_t row) { return static_cast<double>(at(row).total_ns); };
    const auto self_ns = [at](std::size_t row) {
      return static_cast<double>(at(row).total_ns - std::min(at(row).inner_ns, at(row).total_ns));
    };
    const std::uint64_t all_ns = nodes.empty() ? 0 : nodes.front().inner_ns;
    const auto share = [total_ns, all_ns = static_cast<double>(std::max<std::uint64_t>(all_ns, 1))](std::size_t row) {
      return total_ns(row) / all_ns;
    };
    return {{"site", 4, name},
            count_column("count", [at](std::size_t row) { return static_cast<double>(at(row).count); }),
            duration_column("total", total_ns),
            duration_column("self", self_ns),
            share_column("share", share),
            {"place", 1.6F, place}};
  }

  /// The shown nodes, from top to bottom.
  [[nodiscard]] TableRows rows(TabContext& context) const override {
    std::vector<TableColumn> shown = columns(context, [this](std::size_t row) { return shown_[row]; });
    shown.front().text = [this, name = shown.front().text](std::size_t row) {
      return std::string(std::size_t{2} * list_.list().nodes[shown_[row]].depth, ' ') + signs_[row] + ' ' + name(row);
    };
    return {shown_.size(), std::move(shown)};
  }

  void choose(TabContext& context, std::size_t row) override {
    chosen_ = shown_[row];
    context.state.mark_site(list_.list().nodes[chosen_].site);
  }
  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& /*context*/) const override {
    return place_where(shown_, [this](std::uint32_t node) { return node == chosen_; });
  }

  FocusedTree list_;
  std::uint64_t version_ = 0;
  std::uint64_t rows_version_ = 0;
  std::size_t sorted_by_ = 0;
  bool is_falling_ = false;
  std::vector<std::vector<std::uint32_t>> inside_;  // by node, by falling total
  std::vector<std::uint64_t> paths_;                // by node: a number for its sites from the outermost on
  Unfolded unfolded_ = Unfolded::usual;
  std::unordered_set<std::uint64_t> clicked_;  // paths that are not as usual
  std::vector<std::uint32_t> shown_;
  std::vector<char> signs_;
  std::uint32_t chosen_ = 0;
};

}  // namespace

std::unique_ptr<Tab> make_tree_tab() {
  return std::make_unique<TreeTab>();
}

}  // namespace kymo::panel
