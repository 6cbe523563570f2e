// The tree tab: the paths of nested scopes, with their totals.
#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/focused_tree.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

namespace {

using TreeNode = TreeList::Node;

/// The shown nodes of a tree, from top to bottom.
class TreeRows final : public TableRows {
 public:
  enum Column : std::size_t { site_column, count_column, total_column, self_column, share_column, place_column };

  TreeRows(TabContext& context, const TreeList& list, const std::vector<std::uint32_t>& shown,
           const std::vector<char>& signs)
      : context_(context), list_(list), shown_(shown), signs_(signs) {}

  [[nodiscard]] std::size_t count() const override { return shown_.size(); }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const TreeNode& node = list_.nodes[shown_[row]];
    switch (column) {
      case site_column:
        return std::string(std::size_t{2} * node.depth, ' ') + signs_[row] + ' ' +
               context_.names.look(node.site, context_.theme).text;
      case count_column:
        return count_text(node.count);
      case share_column:
        return value_text(100 * number(row, column), "%");
      case place_column:
        return Names::place(context_.state.data().provider().site(node.site));
      default:
        return duration_text(static_cast<std::int64_t>(number(row, column)));
    }
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const TreeNode& node = list_.nodes[shown_[row]];
    switch (column) {
      case count_column:
        return static_cast<double>(node.count);
      case self_column:
        return static_cast<double>(node.total_ns - std::min(node.inner_ns, node.total_ns));
      case share_column:
        return static_cast<double>(node.total_ns) / static_cast<double>(std::max<std::uint64_t>(all_ns(), 1));
      default:
        return static_cast<double>(node.total_ns);
    }
  }

 private:
  /// The time of the tree.
  [[nodiscard]] std::uint64_t all_ns() const { return list_.nodes.empty() ? 0 : list_.nodes.front().inner_ns; }

  TabContext& context_;
  const TreeList& list_;
  const std::vector<std::uint32_t>& shown_;
  const std::vector<char>& signs_;
};

class TreeTab final : public Tab {
 public:
  TreeTab() { table_.keep_order_of_rows(); }

  [[nodiscard]] const char* title() const override { return "Tree"; }

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
    const TreeRows rows(context, list_.list(), shown_, signs_);
    table_.update(rows, rows_version_);
    const TableUse use = table_.draw(rows, chosen(), 0, context.theme);
    if (use.clicked) {
      const std::uint32_t node = shown_[*use.clicked];
      choose(context, node);
      if (clicked_.erase(paths_[node]) == 0) {
        clicked_.insert(paths_[node]);
      }
      show_rows();
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (const auto next = table_.neighbour(chosen(), down); next && *next < shown_.size()) {
      choose(context, shown_[*next]);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(TreeRows(context, list_.list(), shown_, signs_), as);
  }

 private:
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
    std::vector<std::uint32_t> all(list_.list().nodes.size());
    std::iota(all.begin(), all.end(), 0U);
    const std::vector<char> signs(all.size(), ' ');
    const TreeRows rows(context, list_.list(), all, signs);
    const bool is_number = table_.columns()[sorted_by_].is_number;
    for (std::vector<std::uint32_t>& children : inside_) {
      std::sort(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (is_number) {
          const double left = rows.number(a, sorted_by_);
          const double right = rows.number(b, sorted_by_);
          return left == right ? a < b : (left > right) == is_falling_;
        }
        const std::string left = rows.text(a, sorted_by_);
        const std::string right = rows.text(b, sorted_by_);
        return left == right ? a < b : (left > right) == is_falling_;
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

  void choose(TabContext& context, std::uint32_t node) {
    chosen_ = node;
    context.state.mark_site(list_.list().nodes[node].site);
  }

  [[nodiscard]] std::optional<std::size_t> chosen() const {
    const auto found = std::find(shown_.begin(), shown_.end(), chosen_);
    return found == shown_.end() ? std::nullopt
                                 : std::optional<std::size_t>(static_cast<std::size_t>(found - shown_.begin()));
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
  Table table_{"tree",
               {{"site", 4, false}, {"count"}, {"total"}, {"self"}, {"share", 1, true, true}, {"place", 1.6F, false}},
               TreeRows::total_column};
};

}  // namespace

std::unique_ptr<Tab> make_tree_tab() {
  return std::make_unique<TreeTab>();
}

}  // namespace kymo::panel
