// The panel's header: the state of the view, the cost and losses of recording, and buttons.
#include <cstdint>
#include <string>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

namespace {

/// Continues on the current line if that width fits.
void next_to(float width) {
  const float gap = ImGui::GetFontSize();
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  if (ImGui::GetItemRectMax().x + gap + width <= right) {
    ImGui::SameLine(0, gap);
  }
}

std::string drops_text(const DropCounts& drops, std::uint64_t lost_stacks, Arrival arrival) {
  if (drops.scopes + drops.others + lost_stacks == 0) {
    const bool is_known = arrival == Arrival::complete || arrival == Arrival::recording;
    return !is_known ? "nothing dropped up to there" : drops.is_whole ? "nothing dropped" : "nothing dropped lately";
  }
  return std::string("! dropped") + (drops.is_whole ? ": " : ", at least: ") + count_text(drops.scopes) + " scopes, " +
         count_text(drops.others) + " others" + (lost_stacks != 0 ? ", " + count_text(lost_stacks) + " stacks" : "");
}

}  // namespace

void PanelView::put_word(const std::string& text) {
  next_to(text_width(text));
  say(text);
  header_ += text + "\n";
}

bool PanelView::draw_button(const char* label, Area& mark) {
  if (&mark != &marks_.pause) {
    next_to(ImGui::CalcTextSize(label).x);
  }
  const bool is_pressed = ImGui::SmallButton(label);
  mark = last_item();
  return is_pressed;
}

void PanelView::draw_buttons() {
  if (draw_button(state_.is_paused() ? "Resume" : "Pause", marks_.pause)) {
    state_.toggle_pause();
  }
  if (state_.data().provider().is_live() && draw_button("Follow", marks_.follow)) {
    state_.follow_newest();
  }
  if (draw_button("<", marks_.back)) {
    state_.go_back();
  }
  if (draw_button(">", marks_.forward)) {
    state_.go_forward();
  }
  if (draw_button("All", marks_.everything)) {
    state_.reset_flame();
    state_.reset_overview();
  }
  if (draw_button("Search", marks_.search)) {
    is_searching() ? end_search() : start_search();
  }
  if (draw_button("?", marks_.help)) {
    shows_help_ = !shows_help_;
  }
}

std::string PanelView::stream_text() const {
  const auto& streams = state_.data().provider().declarations().frame_streams;
  const auto shown = std::find_if(streams.begin(), streams.end(), [this](const FrameStreamDeclaration& stream) {
    return stream.id == state_.stream();
  });
  return shown == streams.end() || shown->name.empty() ? "frames" : "frames " + clean_text(shown->name, 60);
}

void PanelView::draw_streams() {
  const auto& streams = state_.data().provider().declarations().frame_streams;
  if (streams.size() < 2) {
    return;
  }
  next_to(ImGui::GetFontSize() * 10);
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 10);
  const std::string shown = stream_text();
  header_ += shown + "\n";
  if (ImGui::BeginCombo("##stream", shown.c_str())) {
    for (const FrameStreamDeclaration& stream : streams) {
      ImGui::PushID(static_cast<int>(stream.id.value()));
      const bool is_chosen = stream.id == state_.stream();
      if (ImGui::Selectable("##choose", is_chosen)) {
        state_.choose_stream(stream.id);
      }
      ImGui::SameLine(0, ImGui::GetFontSize());
      say(stream.name.empty() ? "(main)" : clean_text(stream.name, 60));
      ImGui::PopID();
    }
    ImGui::EndCombo();
  }
}

void PanelView::draw_header() {
  header_.clear();
  if (options_.side) {
    say(options_.side->title);
    header_ = options_.side->title + "\n";
  } else {
    draw_buttons();
  }
  const BlockProvider& provider = state_.data().provider();
  put_word(state_.pinned()                           ? "pinned, " + frame_text(*state_.pinned(), Asker::pin_number)
           : state_.is_paused()                      ? "paused"
           : state_.follows()                        ? "live, following"
           : provider.is_live()                      ? "live, held"
           : provider.arrival() == Arrival::complete ? "whole capture"
                                                     : "capture so far");
  if (provider.arrival() == Arrival::cut_off) {
    put_word("! the program ended without closing it");
  } else if (provider.arrival() == Arrival::unreachable) {
    put_word("! the server does not answer");
  }
  draw_streams();
  const ProviderFacts facts = provider.facts();
  put_word(drops_text(state_.data().drops(), facts.lost_stacks, provider.arrival()));
  if (facts.collector_cpu_ns != 0 && facts.collector_wall_ns > 0) {
    const double share = static_cast<double>(facts.collector_cpu_ns) / static_cast<double>(facts.collector_wall_ns);
    put_word("collector " + value_text(100.0 * share, "% of a core"));
  }
  if (facts.empty_scope_ns > 0) {
    put_word("a scope costs " + value_text(facts.empty_scope_ns, "ns"));
  }
  if (provider.is_live() && draw_ms_ > 0) {
    constexpr int frames_shown = 30;  // so that it can be read; while paused, everything stands still
    if (draw_text_.empty() || (!state_.is_paused() && ImGui::GetFrameCount() % frames_shown == 0)) {
      draw_text_ = "the panel takes " + stats::value_text(draw_ms_, "ms", {2, false}) + " a frame";
    }
    put_word(draw_text_);
  }
  if (state_.data().is_busy()) {
    put_word("reading...");
  }
  if (state_.has_jumped_in_vain()) {
    put_word("no more of this site");
  }
}

}  // namespace kymo::panel
