// The metrics tab: what the samples of each metric were.
#include <algorithm>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/filter.hpp"
#include "panel/draw/text.hpp"
#include "panel/layout/metric_layout.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

namespace {

class MetricTableRows final : public TableRows {
 public:
  enum Column : std::size_t {
    name_column,
    count_column,
    mean_column,
    deviation_column,
    min_column,
    max_column,
    growth_column,
    source_column
  };

  MetricTableRows(TabContext& context, const MetricList& list, const char* filter)
      : declarations_(context.state.data().provider().declarations()), list_(list), filter_(filter) {}

  [[nodiscard]] std::size_t count() const override { return list_.rows.size(); }
  [[nodiscard]] bool fits(std::size_t row) const override { return contains_text(text(row, name_column), filter_); }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const MetricDeclaration* const declared = find_metric(declarations_, list_.rows[row].metric);
    switch (column) {
      case name_column:
        return declared != nullptr ? metric_title(*declared) : "(undeclared)";
      case count_column:
        return count_text(list_.rows[row].count);
      case source_column:
        return declared == nullptr        ? std::string()
               : declared->source.empty() ? std::string("the program")
                                          : clean_text(declared->source);
      default:
        return value_text(number(row, column), declared != nullptr ? declared->unit : std::string());
    }
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const MetricList::Row& metric = list_.rows[row];
    switch (column) {
      case count_column:
        return static_cast<double>(metric.count);
      case mean_column:
        return metric.mean;
      case deviation_column:
        return metric.deviation;
      case min_column:
        return metric.min;
      case max_column:
        return metric.max;
      default:
        return metric.last - metric.first;
    }
  }

 private:
  const Declarations& declarations_;
  const MetricList& list_;
  const char* filter_;
};

class MetricsTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Metrics"; }

  void draw(TabContext& context) override {
    focus_.keep_fresh(context, ListKey(context.state.table_range()), list_);
    filter_.draw();
    const MetricTableRows rows(context, list_.list(), filter_.text());
    table_.update(rows, filter_.version() + list_.version());
    ImGui::SameLine(0, ImGui::GetFontSize());
    draw_focus_button(context);
    const bool is_empty = list_.list().rows.empty();
    const bool is_reading = list_.is_reading() || focus_.is_reading();
    say(is_reading && is_empty                     ? std::string("reading...")
        : is_empty && context.state.focused_site() ? std::string("no samples inside")
        : is_empty ? std::string("no samples: kymo record takes the machine's, kymo::record_metric() your own")
                   : count_text(table_.order().size()) + (table_.order().size() == 1 ? " metric" : " metrics") +
                         "; a click shows the row" + focus_.limit_text() + (is_reading ? "   reading..." : ""));
    const TableUse use = table_.draw(rows, chosen_row(), 0, context.theme);
    if (use.clicked) {
      choose(context, *use.clicked);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (const auto next = table_.neighbour(chosen_row(), down); next && *next < list_.list().rows.size()) {
      choose(context, *next);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void focus_filter() override { filter_.focus(); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(MetricTableRows(context, list_.list(), filter_.text()), as);
  }

 private:
  void choose(TabContext& context, std::size_t row) {
    chosen_ = list_.list().rows[row].metric;
    context.state.show_metric(chosen_);
  }
  [[nodiscard]] std::optional<std::size_t> chosen_row() const {
    const auto& rows = list_.list().rows;
    const auto found =
        std::find_if(rows.begin(), rows.end(), [this](const MetricList::Row& row) { return row.metric == chosen_; });
    return found == rows.end() ? std::nullopt
                               : std::optional<std::size_t>(static_cast<std::size_t>(found - rows.begin()));
  }

  Focus focus_;
  KeptList<MetricList> list_;
  MetricId chosen_;
  Filter filter_{"filter"};
  Table table_{"metric values",
               {{"metric", 3, false},
                {"samples"},
                {"mean"},
                {"deviation"},
                {"least"},
                {"greatest"},
                {"last - first"},
                {"source", 2, false}},
               Table::unsorted};
};

}  // namespace

std::unique_ptr<Tab> make_metrics_tab() {
  return std::make_unique<MetricsTab>();
}

}  // namespace kymo::panel
