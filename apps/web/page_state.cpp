// The state of the view as JSON.
#include "page_state.hpp"

#include <cstddef>
#include <string_view>

#include "panel/data/time_math.hpp"
#include "panel/draw/text.hpp"

namespace kymo::web {

namespace {

using panel::Area;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(character) < 0x20 ? '?' : character;
  }
  return out + '"';
}

std::string pair_text(std::int64_t first, std::int64_t second) {
  return '[' + std::to_string(first) + ',' + std::to_string(second) + ']';
}

const char* name_of(panel::Arrival arrival) {
  switch (arrival) {
    case panel::Arrival::recording:
      return "recording";
    case panel::Arrival::cut_off:
      return "cut_off";
    case panel::Arrival::unreachable:
      return "unreachable";
    case panel::Arrival::complete:
      break;
  }
  return "complete";
}

std::string truth(bool is_so) {
  return is_so ? "true" : "false";
}

std::string place(const Area& area, float ratio) {
  return '[' + std::to_string(area.left / ratio) + ',' + std::to_string(area.top / ratio) + ',' +
         std::to_string(area.right / ratio) + ',' + std::to_string(area.bottom / ratio) + ']';
}

}  // namespace

std::string describe_view(panel::PanelView& view, float ratio, std::uint64_t drawn) {
  panel::ViewState& state = view.state();
  const panel::BlockProvider& provider = state.data().provider();
  const TimeRange all = state.data().range();
  const auto since = [&all](std::int64_t time_ns) { return panel::length_between(all.start_ns, time_ns); };
  const auto range_text = [&](TimeRange range) { return pair_text(since(range.start_ns), since(range.end_ns)); };
  const auto site_text = [&](SiteId id) {
    return id ? quoted(panel::clean_text(provider.site(id).name)) : std::string("null");
  };
  std::size_t blocks = 0;
  for (const timeline::CaptureBlocks& capture : provider.blocks()) {
    blocks += capture.blocks.size();
  }
  std::string out = "{\"length_ns\":" + std::to_string(since(all.end_ns));
  out += ",\"overview_ns\":" + range_text(state.overview().range());
  out += ",\"flame_ns\":" + range_text(state.flame().range());
  out += ",\"arrival\":" + quoted(name_of(provider.arrival()));
  out += ",\"follows\":" + truth(state.follows());
  out += ",\"is_paused\":" + truth(state.is_paused());
  out += ",\"is_busy\":" + truth(state.is_busy());
  constexpr double bar_pixels = 3;  // the width used for drawing, so that no new layout is computed
  out += ",\"frames\":" + std::to_string(state.frame_bars(bar_pixels).count);
  out += ",\"pinned_ns\":" +
         (state.pinned() ? pair_text(since(state.pinned()->start_ns), state.pinned()->duration_ns) : "null");
  const auto& selected = state.selected();
  out += ",\"selected_site\":" + site_text(selected ? base::site_of(selected->what) : SiteId{});
  out += ",\"marked_site\":" + site_text(state.marked_site());
  out += ",\"is_searching\":" + truth(view.is_searching());
  out += ",\"tab\":" + quoted(view.tab());
  out += ",\"shows_help\":" + truth(view.shows_help());
  out += ",\"sites\":" + std::to_string(provider.declarations().sites.size());
  out += ",\"tracks\":" + std::to_string(provider.declarations().tracks.size());
  out += ",\"captures\":" + std::to_string(provider.blocks().size());
  out += ",\"blocks\":" + std::to_string(blocks);
  out += ",\"drawn\":" + std::to_string(drawn);
  out += ",\"bars\":" + place(view.marks().bars, ratio);
  out += ",\"rows\":" + place(view.marks().rows, ratio);
  out += ",\"flame\":" + place(view.marks().flame, ratio);
  return out + '}';
}

std::string describe_comparison(panel::CompareView& view, float ratio, std::uint64_t drawn) {
  std::string out = describe_view(view.changed(), ratio, drawn);
  out.pop_back();
  out += ",\"base\":" + describe_view(view.base(), ratio, drawn);
  const panel::Judged* const judged = view.judged();
  return out + ",\"verdicts\":" + (judged != nullptr ? std::to_string(judged->comparison.things.size()) : "null") + '}';
}

}  // namespace kymo::web
