// The site that tabs look inside of.
#include "panel/tabs/focus.hpp"

#include <limits>
#include <string>

#include "panel/draw/imgui.hpp"
#include "panel/draw/text.hpp"

namespace kymo::panel {

void draw_focus_button(TabContext& context) {
  ViewState& state = context.state;
  const SiteId site = state.focused_site() ? state.focused_site() : state.marked_site();
  if (!site) {
    return;
  }
  const std::string name = context.names.look(site, context.theme).text;
  const std::string label = state.focused_site() ? "All sites, not only " + name : "Only inside " + name;
  if (ImGui::SmallButton((label + "###focus").c_str())) {
    state.focus_marked_site();
  }
  ImGui::SameLine(0, ImGui::GetFontSize());
}

std::string Focus::limit_text() const {
  return times_ != nullptr && times_->end_ns != std::numeric_limits<std::int64_t>::max()
             ? "   only inside the first " + count_text(SiteTimes::most) + " calls"
             : std::string();
}

bool Focus::limit(TabContext& context, ListKey& key) {
  const SiteId site = context.state.focused_site();
  if (!site) {
    is_reading_ = false;
    times_ = nullptr;
    return true;
  }
  kept_.keep_fresh(context.state.data(), ListKey(key.range, site.value()));
  is_reading_ = !kept_.is_whole();
  if (is_reading_) {
    return false;
  }
  if (times_ == nullptr || version_ != kept_.version()) {
    version_ = kept_.version();
    times_ = std::make_shared<SiteTimes>(kept_.list());
  }
  key.inside = site;
  key.times = times_;
  return true;
}

}  // namespace kymo::panel
