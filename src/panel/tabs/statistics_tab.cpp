// The statistics tab: a table of sites, and the distribution of the chosen one.
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/histogram.hpp"
#include "panel/draw/text.hpp"
#include "panel/tabs/site_table_tab.hpp"

namespace kymo::panel {

namespace {

using stats::SiteFigures;

class StatisticsTab final : public SiteTableTab {
 public:
  StatisticsTab() : SiteTableTab("Statistics", Table("sites", by_total)) {}

  void draw(TabContext& context) override {
    keep_fresh(context);
    draw_filter(context);
    const TableRows shown = rows(context);
    table_.update(shown, field_.version() + version());
    say(count_text(table_.order().size()) + " sites by " + shown.columns[table_.column()].title +
        (table_.is_falling() ? ", falling" : ", rising") + state_text());
    const float histogram_height = ImGui::GetTextLineHeightWithSpacing() * 5;
    const auto marked = chosen(context);
    const float room = ImGui::GetContentRegionAvail().y;
    const bool has_histogram = marked && room > 2 * histogram_height;
    draw_table(context, shown, room - (has_histogram ? histogram_height : 0));
    if (has_histogram) {
      draw_durations(context, sites(context)[*marked]);
    }
  }

  void light_next_bar(TabContext& context) override {
    if (const auto row = chosen(context)) {
      context.state.mark_lengths(next_lengths(sites(context)[*row], context.state.marked_lengths()));
    }
  }

 private:
  static constexpr std::size_t by_total = 2;

  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const std::vector<SiteFigures>& all = sites(context);
    const auto of = numbers_of(all);
    double all_ns = 0;
    for (const SiteFigures& site : all) {
      all_ns += static_cast<double>(site.self_ns);
    }
    const auto self_share = [&all, all_ns](std::size_t row) {
      return all_ns > 0 ? static_cast<double>(all[row].self_ns) / all_ns : 0;
    };
    const auto place = [this, &context](std::size_t row) { return Names::place(declaration(context, row)); };
    return {all.size(),
            {name_column(context, "site", 3),
             count_column("count", of(&SiteFigures::count)),
             duration_column("total", of(&SiteFigures::total_ns)),
             duration_column("self", of(&SiteFigures::self_ns)),
             duration_column("mean", of(&SiteFigures::mean_ns)),
             duration_column("p50", of(&SiteFigures::p50_ns)),
             duration_column("p95", of(&SiteFigures::p95_ns)),
             duration_column("p99", of(&SiteFigures::p99_ns)),
             duration_column("longest", of(&SiteFigures::max_ns)),
             share_column("self share", self_share),
             {"place", 1.6F, place}},
            [this, &context](std::size_t row) { return contains_text(declaration(context, row).name, field_.text()); }};
  }

  static void draw_durations(TabContext& context, const SiteFigures& site) {
    const std::string title = context.names.look(site.site, context.theme).text + ": " + count_text(site.count) +
                              " durations from " + duration_text(site.min_ns) + " to " + duration_text(site.max_ns) +
                              ", on a logarithmic scale";
    const HistogramLook look{title, {}, context.state.marked_lengths()};
    if (const auto lengths = draw_histogram(site, look, context.theme, context.tip)) {
      context.state.mark_lengths(*lengths);
    }
  }
};

}  // namespace

std::unique_ptr<Tab> make_statistics_tab() {
  return std::make_unique<StatisticsTab>();
}

}  // namespace kymo::panel
