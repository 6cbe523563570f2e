// The metrics tab: what the samples of each metric were.
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/layout/metric_layout.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

namespace {

class MetricsTab final : public TableTab {
 public:
  MetricsTab() : TableTab("Metrics", Table("metric values", Table::unsorted)) {}

  void draw(TabContext& context) override {
    focus_.keep_fresh(context, ListKey(context.state.table_range()), list_);
    const TableRows shown = rows(context);
    draw_filter(context);
    table_.update(shown, field_.version() + list_.version());
    const bool is_empty = list_.list().rows.empty();
    const bool is_reading = list_.is_reading() || focus_.is_reading();
    say(is_reading && is_empty                     ? std::string("reading...")
        : is_empty && context.state.focused_site() ? std::string("no samples inside")
        : is_empty ? std::string("no samples: kymo record takes the machine's, kymo::record_metric() your own")
                   : count_text(table_.order().size()) + (table_.order().size() == 1 ? " metric" : " metrics") +
                         "; a click shows the row" + focus_.limit_text() + (is_reading ? "   reading..." : ""));
    draw_table(context, shown);
  }

 private:
  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const std::vector<MetricList::Row>& metrics = list_.list().rows;
    const Declarations& declarations = context.state.data().provider().declarations();
    const auto declared = [&](std::size_t row) { return find_metric(declarations, metrics[row].metric); };
    const auto title = [declared](std::size_t row) {
      return declared(row) != nullptr ? metric_title(*declared(row)) : "(undeclared)";
    };
    const auto source = [declared](std::size_t row) {
      const MetricDeclaration* const metric = declared(row);
      return metric == nullptr        ? std::string()
             : metric->source.empty() ? std::string("the program")
                                      : clean_text(metric->source);
    };
    const auto value_column = [declared](const char* name, const std::function<double(std::size_t)>& value) {
      const auto text = [declared, value](std::size_t row) {
        return value_text(value(row), declared(row) != nullptr ? declared(row)->unit : std::string());
      };
      return TableColumn{name, 1, text, value};
    };
    const auto of = numbers_of(metrics);
    return {metrics.size(),
            {{"metric", 3, title},
             count_column("samples", of(&MetricList::Row::count)),
             value_column("mean", of(&MetricList::Row::mean)),
             value_column("deviation", of(&MetricList::Row::deviation)),
             value_column("least", of(&MetricList::Row::min)),
             value_column("greatest", of(&MetricList::Row::max)),
             value_column("last - first", [&](std::size_t row) { return metrics[row].last - metrics[row].first; }),
             {"source", 2, source}},
            [this, title](std::size_t row) { return contains_text(title(row), field_.text()); }};
  }

  void choose(TabContext& context, std::size_t row) override {
    chosen_ = list_.list().rows[row].metric;
    context.state.show_metric(chosen_);
  }
  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& /*context*/) const override {
    return place_where(list_.list().rows, [this](const MetricList::Row& row) { return row.metric == chosen_; });
  }

  Focus focus_;
  KeptList<MetricList> list_;
  MetricId chosen_;
};

}  // namespace

std::unique_ptr<Tab> make_metrics_tab() {
  return std::make_unique<MetricsTab>();
}

}  // namespace kymo::panel
