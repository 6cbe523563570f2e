// Handles keys. Letters are taken as typed characters, so they work on any keyboard layout.
#include <algorithm>

#include "panel/draw/text.hpp"
#include "panel/view/keys.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

/// The pointer's position on an axis; the middle if it is elsewhere, as over a menu.
double pixel_over(const Area& area, const TimeAxis& axis) {
  const ImVec2 at = ImGui::GetIO().MousePos;
  const bool is_over = at.x >= area.left && at.x <= area.right && !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  return is_over ? double{at.x} - double{area.left} : axis.width() / 2;
}

}  // namespace

void PanelView::jump_to_search(bool forward) {
  const BlockProvider& provider = state_.data().provider();
  TabContext context = tab_context();
  if (tabs_[last_tab_]->chose_no_site(context)) {
    tabs_[last_tab_]->choose_row(context, forward);
    return;
  }
  if (!state_.marked_site() || !contains_text(provider.site(state_.marked_site()).name, state_.search())) {
    const auto& sites = provider.declarations().sites;
    const auto found = std::find_if(sites.begin(), sites.end(), [this](const SiteDeclaration& site) {
      return contains_text(site.name, state_.search());
    });
    state_.mark_site(found != sites.end() ? found->id : SiteId{});
  }
  if (!state_.marked_site()) {
    tabs_[last_tab_]->choose_row(context, forward);
    return;
  }
  state_.jump(forward);
}

void PanelView::use_keyboard() {
  if (ImGui::IsWindowFocused(ImGuiFocusedFlags_RootWindow | ImGuiFocusedFlags_ChildWindows)) {
    use_keys();
  }
}

void PanelView::use_keys() {
  const ImGuiIO& io = ImGui::GetIO();
  if (is_pressed(ImGuiKey_Escape)) {
    if (is_searching()) {
      end_search();
    }
    shows_help_ = false;
    state_.deselect();
    return;
  }
  if (is_searching() && is_pressed(ImGuiKey_Enter)) {
    jump_to_search(!io.KeyShift);
  }
  if (is_searching() && (is_pressed(ImGuiKey_DownArrow) || is_pressed(ImGuiKey_UpArrow))) {
    TabContext context = tab_context();
    tabs_[last_tab_]->choose_row(context, is_pressed(ImGuiKey_DownArrow));
    return;
  }
  if (io.WantTextInput) {
    return;
  }
  use_arrows(io.KeyShift);
  rows_scroll_by_ += is_pressed(ImGuiKey_PageDown) ? 1.0F : is_pressed(ImGuiKey_PageUp) ? -1.0F : 0.0F;
  for (const ImWchar character : io.InputQueueCharacters) {
    use_character(character);
  }
}

void PanelView::use_arrows(bool shift) {
  const bool left = is_pressed(ImGuiKey_LeftArrow);
  const bool right = is_pressed(ImGuiKey_RightArrow);
  const bool up = is_pressed(ImGuiKey_UpArrow);
  const bool down = is_pressed(ImGuiKey_DownArrow);
  if (!left && !right && !up && !down) {
    return;
  }
  if (shift) {
    state_.select_neighbour(up     ? Neighbour::outer
                            : down ? Neighbour::inner
                            : left ? Neighbour::before
                                   : Neighbour::after);
  } else if (left || right) {
    state_.step_frame(right);
  } else if (is_tab_open_) {
    TabContext context = tab_context();
    tabs_[last_tab_]->choose_row(context, down);
  } else {
    const float page = ImGui::GetTextLineHeight() * 4;
    flame_scroll_ += down ? page : -page;
  }
}

bool PanelView::use_axis_character(unsigned character) {
  const bool is_capital = character >= 'A' && character <= 'Z';
  TimeAxis& axis = is_capital ? state_.overview() : state_.flame();
  const Area& area = is_capital ? marks_.bars : marks_.flame;
  switch (is_capital ? character - 'A' + 'a' : character) {
    case 'w':
    case '+':
      axis.zoom(0.8, pixel_over(area, axis));
      break;
    case 's':
    case '-':
      axis.zoom(1.25, pixel_over(area, axis));
      break;
    case 'a':
      axis.pan(axis.width() * 0.1);
      break;
    case 'd':
      axis.pan(-axis.width() * 0.1);
      break;
    default:
      return false;
  }
  state_.hold();
  return true;
}

void PanelView::use_character(unsigned character) {
  TimeAxis& flame = state_.flame();
  if (is_tab_open_ && character >= '1' && character <= '9') {
    tabs_[last_tab_]->sort_by(character - '1');
    return;
  }
  if (character >= first_tab_character && character < first_tab_character + tabs_.size()) {
    const std::size_t tab = character - first_tab_character;
    is_tab_open_ = !is_tab_open_ || last_tab_ != tab;
    last_tab_ = tab;
    return;
  }
  if (use_row_character(character) || use_axis_character(character)) {
    return;
  }
  switch (character) {
    case ' ':
      state_.toggle_pause();
      break;
    case 'f':
      state_.follow_newest();
      break;
    case 'c':
      state_.choose_next_stream();
      break;
    case 'z':
      state_.zoom_to_measured();
      break;
    case '0':
      state_.reset_flame();
      state_.reset_overview();
      break;
    case 'n':
    case 'p':
      state_.jump(character == 'n');
      break;
    case '/':
      start_search();
      break;
    case 'F':
      if (is_tab_open_) {
        tabs_[last_tab_]->focus_filter();
      } else {
        metric_filter_.focus();
      }
      break;
    case previous_frame_character:
    case next_frame_character:
      state_.step_frame(character == next_frame_character);
      break;
    case 'i':
    case 'I':
      state_.step_message(character == 'i');
      break;
    case 'm': {
      const std::int64_t now_ns = flame.to_time(pixel_over(marks_.flame, flame));
      const auto& measured = state_.measured();
      if (!measured) {
        state_.measure(TimeRange{now_ns, now_ns});
      } else if (measured->start_ns == measured->end_ns) {
        state_.measure(TimeRange{std::min(measured->start_ns, now_ns), std::max(measured->start_ns, now_ns)});
      } else {
        state_.measure(std::nullopt);
      }
      break;
    }
    case 't':
      is_tab_open_ = !is_tab_open_ && !tabs_.empty();
      break;
    case 'T':
      last_tab_ = is_tab_open_ ? (last_tab_ + 1) % tabs_.size() : last_tab_;
      is_tab_open_ = !tabs_.empty();
      break;
    case 'M':
      state_.measure_selected();
      break;
    case 'k':
      if (state_.selected()) {
        state_.tracks().toggle(state_.selected()->track);
      }
      break;
    case 'b':
      if (is_tab_open_) {
        TabContext context = tab_context();
        tabs_[last_tab_]->light_next_bar(context);
      }
      break;
    case 'o':
      state_.focus_marked_site();
      break;
    case 'N':
      start_note();
      break;
    case 'B':
      state_.bookmark();
      break;
    case 'x':
      shows_flows_ = !shows_flows_;
      break;
    case 'u':
    case 'U':
      character == 'u' ? state_.go_back() : state_.go_forward();
      break;
    case '?':
      shows_help_ = !shows_help_;
      break;
    case ':':
      opens_palette_ = !tabs_.empty();
      break;
    default:
      break;
  }
}

}  // namespace kymo::panel
