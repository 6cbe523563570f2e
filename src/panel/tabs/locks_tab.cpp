// The locks tab: who waited for whom. A row is a lock and the place that held it meanwhile.
#include <limits>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/site_rows.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

namespace {

using stats::SiteFigures;

class LockRows final : public SiteRows {
 public:
  enum Column : std::size_t {
    lock_column,
    holder_column,
    count_column,
    total_column,
    mean_column,
    p95_column,
    max_column
  };

  LockRows(TabContext& context, const KeptFigures& kept, const char* filter) : SiteRows(context, kept, filter) {}

  [[nodiscard]] bool fits(std::size_t row) const override {
    return declaration(row).role == SiteRole::wait && SiteRows::fits(row);
  }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const std::string& holder = declaration(row).function;
    switch (column) {
      case lock_column:
        return name(row);
      case holder_column:
        return holder.empty() ? "(unknown)" : clean_text(holder);
      case count_column:
        return count_text(figures()[row].count);
      default:
        return duration_text(static_cast<std::int64_t>(number(row, column)));
    }
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const SiteFigures& waits = figures()[row];
    switch (column) {
      case count_column:
        return static_cast<double>(waits.count);
      case total_column:
        return static_cast<double>(std::min(waits.total_ns, std::uint64_t{1} << 62U));
      case mean_column:
        return waits.mean_ns;
      case p95_column:
        return static_cast<double>(waits.p95_ns);
      default:
        return static_cast<double>(waits.max_ns);
    }
  }
};

class LocksTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Locks"; }

  void draw(TabContext& context) override {
    figures_.keep_fresh(context);
    filter_.draw();
    const LockRows rows(context, figures_, filter_.text());
    ImGui::SameLine(0, ImGui::GetFontSize());
    draw_focus_button(context);
    table_.update(rows, filter_.version() + figures_.version());
    say((table_.order().empty() ? "no thread waited for a kymo::Lockable"
                                : "waits of threads; a click marks them in the chart") +
        std::string(figures_.state_text()));
    const TableUse use = table_.draw(rows, rows.find(context.state.marked_site()), 0, context.theme);
    if (use.clicked) {
      context.state.mark_site(rows.figures()[*use.clicked].site);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    const LockRows rows(context, figures_, filter_.text());
    if (const auto next = table_.neighbour(rows.find(context.state.marked_site()), down);
        next && *next < rows.count()) {
      context.state.mark_site(rows.figures()[*next].site);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void focus_filter() override { filter_.focus(); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(LockRows(context, figures_, filter_.text()), as);
  }

 private:
  Filter filter_{"filter"};
  KeptFigures figures_;
  Table table_{"locks",
               {{"lock", 2, false}, {"held by", 2, false}, {"waits"}, {"total"}, {"mean"}, {"p95"}, {"longest"}},
               LockRows::total_column};
};

}  // namespace

std::unique_ptr<Tab> make_locks_tab() {
  return std::make_unique<LocksTab>();
}

}  // namespace kymo::panel
