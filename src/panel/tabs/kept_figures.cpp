// The sites' figures that the statistics and locks tabs show.
#include "panel/tabs/kept_figures.hpp"

#include "panel/data/time_math.hpp"

namespace kymo::panel {

void KeptFigures::keep_fresh(TabContext& context) {
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

const std::vector<stats::SiteFigures>& KeptFigures::sites(const TabContext& context) const {
  return is_part_ ? of_part_.list().sites : context.state.data().figures();
}

}  // namespace kymo::panel
