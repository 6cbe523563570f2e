// The statistics tab: a table of sites, and the distribution of the chosen one.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/histogram.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/site_rows.hpp"
#include "panel/tabs/tab.hpp"

namespace kymo::panel {

namespace {

using stats::SiteFigures;

std::vector<TableColumn> columns() {
  return {{"site", 3, false},
          {"count"},
          {"total"},
          {"self"},
          {"mean"},
          {"p50"},
          {"p95"},
          {"p99"},
          {"longest"},
          {"self share", 1, true, true},
          {"place", 1.6F, false}};
}

class StatisticsRows final : public SiteRows {
 public:
  enum Column : std::size_t {
    site_column,
    count_column,
    total_column,
    self_column,
    mean_column,
    p50_column,
    p95_column,
    p99_column,
    max_column,
    share_column,
    place_column
  };

  StatisticsRows(TabContext& context, const KeptFigures& kept, const char* filter) : SiteRows(context, kept, filter) {
    for (const SiteFigures& site : figures()) {
      self_ns_ += static_cast<double>(site.self_ns);
    }
  }

  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const SiteFigures& site = figures()[row];
    switch (column) {
      case site_column:
        return name(row);
      case count_column:
        return count_text(site.count);
      case share_column:
        return value_text(100 * number(row, column), "%");
      case place_column:
        return Names::place(declaration(row));
      default: {
        constexpr double most_ns = 4e18;
        return duration_text(static_cast<std::int64_t>(std::min(number(row, column), most_ns)));
      }
    }
  }

  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const SiteFigures& site = figures()[row];
    switch (column) {
      case count_column:
        return static_cast<double>(site.count);
      case total_column:
        return static_cast<double>(site.total_ns);
      case self_column:
        return static_cast<double>(site.self_ns);
      case share_column:
        return self_ns_ > 0 ? static_cast<double>(site.self_ns) / self_ns_ : 0;
      case mean_column:
        return site.mean_ns;
      case p50_column:
        return static_cast<double>(site.p50_ns);
      case p95_column:
        return static_cast<double>(site.p95_ns);
      case p99_column:
        return static_cast<double>(site.p99_ns);
      default:
        return static_cast<double>(site.max_ns);
    }
  }

 private:
  double self_ns_ = 0;
};

class StatisticsTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Statistics"; }

  void draw(TabContext& context) override {
    figures_.keep_fresh(context);
    filter_.draw();
    const StatisticsRows rows(context, figures_, filter_.text());
    ImGui::SameLine(0, ImGui::GetFontSize());
    draw_focus_button(context);
    table_.update(rows, filter_.version() + figures_.version());
    say(count_text(table_.order().size()) + " sites by " + table_.columns()[table_.column()].title +
        (table_.is_falling() ? ", falling" : ", rising") + figures_.state_text());
    const float histogram_height = ImGui::GetTextLineHeightWithSpacing() * 5;
    const auto chosen = rows.find(context.state.marked_site());
    const float room = ImGui::GetContentRegionAvail().y;
    const bool has_histogram = chosen && room > 2 * histogram_height;
    const TableUse use = table_.draw(rows, chosen, room - (has_histogram ? histogram_height : 0), context.theme);
    if (use.clicked) {
      context.state.mark_site(rows.figures()[*use.clicked].site);
    }
    if (has_histogram) {
      draw_durations(context, rows.figures()[*chosen]);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    const StatisticsRows rows(context, figures_, filter_.text());
    if (const auto next = table_.neighbour(rows.find(context.state.marked_site()), down);
        next && *next < rows.count()) {
      context.state.mark_site(rows.figures()[*next].site);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void light_next_bar(TabContext& context) override {
    const StatisticsRows rows(context, figures_, filter_.text());
    if (const auto row = rows.find(context.state.marked_site())) {
      context.state.mark_lengths(next_lengths(rows.figures()[*row], context.state.marked_lengths()));
    }
  }
  void focus_filter() override { filter_.focus(); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(StatisticsRows(context, figures_, filter_.text()), as);
  }

 private:
  static void draw_durations(TabContext& context, const SiteFigures& site) {
    HistogramBars bars = bars_of(site);
    bars.title = context.names.look(site.site, context.theme).text + ": " + count_text(site.count) +
                 " durations from " + duration_text(site.min_ns) + " to " + duration_text(site.max_ns) +
                 ", on a logarithmic scale";
    const LengthRange marked = context.state.marked_lengths();
    bars.marked = marked;
    if (const auto clicked = draw_histogram(bars, context.theme, context.tip)) {
      context.state.mark_lengths(lengths_after_click(site, *clicked, marked));
    }
  }

  Filter filter_{"filter"};
  KeptFigures figures_;
  Table table_{"sites", columns(), StatisticsRows::total_column};
};

}  // namespace

std::unique_ptr<Tab> make_statistics_tab() {
  return std::make_unique<StatisticsTab>();
}

}  // namespace kymo::panel
