// Handles keys. Letters are taken as typed characters, so they work on any keyboard layout.
#include <algorithm>
#include <vector>

#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

bool is_pressed(ImGuiKey key) {
#if IMGUI_VERSION_NUM >= 18700
  return ImGui::IsKeyPressed(key);
#else
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key));
#endif
}

/// The pointer's position on an axis; the middle if it is elsewhere.
double pixel_over(const Area& area, const TimeAxis& axis) {
  const float x = ImGui::GetIO().MousePos.x;
  return x >= area.left && x <= area.right ? double{x} - double{area.left} : axis.width() / 2;
}

}  // namespace

void PanelView::jump_to_search(bool forward) {
  const BlockProvider& provider = state_.data().provider();
  if (state_.marked_site() == 0 || !contains_text(provider.site(state_.marked_site()).name, search_)) {
    const auto& sites = provider.declarations().sites;
    const auto found = std::find_if(sites.begin(), sites.end(),
                                    [this](const SiteDeclaration& site) { return contains_text(site.name, search_); });
    state_.mark_site(found != sites.end() ? found->id : 0);
  }
  state_.jump(forward);
}

void PanelView::choose_found(bool down) {
  std::vector<SiteId> found;
  std::size_t chosen = 0;
  for (const SiteDeclaration& site : state_.data().provider().declarations().sites) {
    if (contains_text(site.name, search_)) {
      found.push_back(site.id);
      chosen = site.id == state_.marked_site() ? found.size() : chosen;  // counts from 1
    }
  }
  if (found.empty()) {
    return;
  }
  const std::size_t last = found.size() - 1;
  state_.mark_site(found[down ? std::min(chosen, last) : chosen < 2 ? 0 : chosen - 2]);
}

void PanelView::use_keyboard() {
  if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_RootWindow | ImGuiFocusedFlags_ChildWindows)) {
    return;
  }
  const ImGuiIO& io = ImGui::GetIO();
  if (is_pressed(ImGuiKey_Escape)) {
    is_searching_ = false;
    shows_help_ = false;
    state_.deselect();
    return;
  }
  if (is_searching_ && is_pressed(ImGuiKey_Enter)) {
    jump_to_search(!io.KeyShift);
  }
  if (is_searching_ && !shows_statistics_ && (is_pressed(ImGuiKey_DownArrow) || is_pressed(ImGuiKey_UpArrow))) {
    choose_found(is_pressed(ImGuiKey_DownArrow));
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
  } else if (shows_statistics_) {
    choose_row(down);
  } else {
    const float page = ImGui::GetTextLineHeight() * 4;
    flame_scroll_ += down ? page : -page;
  }
}

void PanelView::choose_row(bool down) {
  const auto& figures = state_.data().figures();
  const auto& order = sites_.order();
  const auto chosen = std::find_if(order.begin(), order.end(), [&](std::size_t place) {
    return place < figures.size() && figures[place].site == state_.marked_site();
  });
  const auto next = chosen == order.end()               ? order.begin()
                    : down && chosen + 1 != order.end() ? chosen + 1
                    : !down && chosen != order.begin()  ? chosen - 1
                                                        : chosen;
  if (next != order.end() && *next < figures.size()) {
    state_.mark_site(figures[*next].site);
  }
}

void PanelView::use_overview_character(unsigned character) {
  TimeAxis& axis = state_.overview();
  const double pixel = pixel_over(marks_.bars, axis);
  switch (character) {
    case 'W':
      axis.zoom(0.8, pixel);
      break;
    case 'S':
      axis.zoom(1.25, pixel);
      break;
    case 'A':
      axis.pan(axis.width() * 0.1);
      break;
    default:
      axis.pan(-axis.width() * 0.1);
      break;
  }
  state_.hold();
}

void PanelView::use_character(unsigned character) {
  TimeAxis& flame = state_.flame();
  if (shows_statistics_ && character >= '1' && character <= '9') {
    sort_column_ = static_cast<int>(character - '1');
    return;
  }
  switch (character) {
    case ' ':
      state_.toggle_pause();
      break;
    case 'w':
    case '+':
      flame.zoom(0.8, pixel_over(marks_.flame, flame));
      state_.hold();
      break;
    case 's':
    case '-':
      flame.zoom(1.25, pixel_over(marks_.flame, flame));
      state_.hold();
      break;
    case 'a':
      flame.pan(flame.width() * 0.1);
      state_.hold();
      break;
    case 'd':
      flame.pan(-flame.width() * 0.1);
      state_.hold();
      break;
    case 'W':
    case 'S':
    case 'A':
    case 'D':
      use_overview_character(character);
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
      state_.jump(true);
      break;
    case 'p':
      state_.jump(false);
      break;
    case '/':
      is_searching_ = is_searching_ || !shows_statistics_;
      focuses_search_ = !shows_statistics_;
      focuses_filter_ = shows_statistics_;
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
      shows_statistics_ = !shows_statistics_;
      break;
    case '?':
      shows_help_ = !shows_help_;
      break;
    default:
      break;
  }
}

}  // namespace kymo::panel
