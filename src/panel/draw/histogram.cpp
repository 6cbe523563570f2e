// Draws a histogram of durations.
#include "panel/draw/histogram.hpp"

#include <algorithm>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"

namespace kymo::panel {

namespace {

/// Where a duration lies among the bars, from 0 to 1; less or more outside.
double place_of(const std::vector<double>& edges_ns, double duration_ns) {
  const auto above = std::upper_bound(edges_ns.begin(), edges_ns.end(), duration_ns);
  if (above == edges_ns.begin() || above == edges_ns.end()) {
    return above == edges_ns.begin() ? -1 : 2;
  }
  const double inside = (duration_ns - *(above - 1)) / std::max(*above - *(above - 1), 1e-9);
  return (static_cast<double>(above - 1 - edges_ns.begin()) + inside) / static_cast<double>(edges_ns.size() - 1);
}

LengthRange lengths_of(const stats::SiteFigures& figures, std::size_t bar) {
  const auto [least_ns, most_ns] = figures.bar_lengths_ns(bar);
  return {least_ns, most_ns};
}

}  // namespace

std::optional<LengthRange> draw_histogram(const stats::SiteFigures& figures, const HistogramLook& look,
                                          const Theme& theme, std::string& tip) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float line = ImGui::GetTextLineHeight();
  const float top = at.y + line;
  const float bottom = at.y + std::max(room.y - line, line);
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(at.x, top, at.x + room.x, bottom, theme.back);
  canvas.text(at.x, at.y, room.x, theme.text, look.title);
  const std::vector<std::uint64_t>& counts = figures.bars;
  if (counts.empty()) {
    return std::nullopt;
  }
  std::vector<double> edges_ns;
  for (std::size_t i = 0; i <= counts.size(); ++i) {
    edges_ns.push_back(figures.bar_start_ns(i));
  }
  const auto most = static_cast<float>(*std::max_element(counts.begin(), counts.end()));
  const float width = room.x / static_cast<float>(counts.size());
  const std::size_t label_step = static_cast<std::size_t>(std::max(ImGui::GetFontSize() * 5 / width, 1.0F)) + 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const float left = at.x + static_cast<float>(i) * width;
    const float share = most > 0 ? static_cast<float>(counts[i]) / most : 0;
    if (counts[i] != 0) {
      canvas.fill(left, bottom - std::max(share * (bottom - top), 2.0F), left + std::max(width - 1, 1.0F), bottom,
                  theme.metric);
    }
    const double middle_ns = (edges_ns[i] + edges_ns[i + 1]) / 2;
    if (!(look.marked == LengthRange{}) && look.marked.holds(static_cast<std::int64_t>(middle_ns))) {
      canvas.outline(left, top, left + width, bottom, theme.chosen, 1);
    }
    const bool has_label = i % label_step == 0 && left + width * static_cast<float>(label_step) <= at.x + room.x;
    if (has_label) {
      canvas.text(left, bottom, width * static_cast<float>(label_step), theme.faint_text,
                  duration_text(static_cast<std::int64_t>(edges_ns[i])));
    }
  }
  for (const double target_ns : look.targets_ns) {
    if (const double place = place_of(edges_ns, target_ns); place >= 0 && place <= 1) {
      const float x = at.x + static_cast<float>(place) * room.x;
      canvas.fill(x, top, x + 2, bottom, theme.slow);
      canvas.text(x + 4, top, room.x, theme.text, duration_text(static_cast<std::int64_t>(target_ns)));
    }
  }
  ImGui::InvisibleButton("bars", ImVec2(std::max(room.x, 1.0F), std::max(bottom - at.y, 1.0F)));
  const float x = ImGui::GetIO().MousePos.x - at.x;
  if (!ImGui::IsItemHovered() || x < 0 || x >= room.x) {
    return std::nullopt;
  }
  const std::size_t bar = std::min(static_cast<std::size_t>(x / width), counts.size() - 1);
  tip = count_text(counts[bar]) + " from " + duration_text(static_cast<std::int64_t>(edges_ns[bar])) + " to " +
        duration_text(static_cast<std::int64_t>(edges_ns[bar + 1])) + "; click to light these";
  if (!ImGui::IsItemClicked()) {
    return std::nullopt;
  }
  const LengthRange clicked = lengths_of(figures, bar);
  return clicked == look.marked ? LengthRange{} : clicked;
}

LengthRange next_lengths(const stats::SiteFigures& figures, LengthRange marked) {
  for (std::size_t bar = 0; bar < figures.bars.size(); ++bar) {
    const LengthRange lengths = lengths_of(figures, bar);
    if (figures.bars[bar] != 0 && (marked == LengthRange{} || lengths.least_ns > marked.most_ns)) {
      return lengths;
    }
  }
  return {};
}

}  // namespace kymo::panel
