// What the statistics and locks tabs share.
#include "panel/tabs/site_table_tab.hpp"

#include "panel/data/time_math.hpp"

namespace kymo::panel {

void SiteTableTab::keep_fresh(TabContext& context) {
  PanelData& data = context.state.data();
  const TimeRange range = context.state.table_range();
  const SiteId focus = context.state.focused_site();
  const bool is_part = focus || !is_everything(range);
  if (is_part) {
    of_part_.keep_fresh(data, ListKey(range, focus.value()));
  } else {
    data.keep_figures_fresh();
  }
  is_reading_ = is_part ? !of_part_.is_whole() : data.figures_version() == 0;
  const std::uint64_t now = is_part ? of_part_.version() : data.figures_version();
  version_ += is_part != is_part_ || now != known_ ? 1U : 0U;
  is_part_ = is_part;
  known_ = now;
}

TableColumn SiteTableTab::name_column(TabContext& context, const char* title, float weight) const {
  return {title, weight, [this, &context](std::size_t row) {
            return context.names.look(sites(context)[row].site, context.theme).text;
          }};
}

std::optional<std::size_t> SiteTableTab::chosen(TabContext& context) const {
  const SiteId marked = context.state.marked_site();
  return place_where(sites(context), [marked](const stats::SiteFigures& site) { return site.site == marked; });
}

}  // namespace kymo::panel
