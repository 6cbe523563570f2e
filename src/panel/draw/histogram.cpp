// Draws a histogram of durations.
#include "panel/draw/histogram.hpp"

#include <algorithm>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"

namespace kymo::panel {

namespace {

/// Where a duration lies among the bars, from 0 to 1; less or more outside.
double place_of(const HistogramBars& bars, double duration_ns) {
  const auto above = std::upper_bound(bars.edges_ns.begin(), bars.edges_ns.end(), duration_ns);
  if (above == bars.edges_ns.begin() || above == bars.edges_ns.end()) {
    return above == bars.edges_ns.begin() ? -1 : 2;
  }
  const double inside = (duration_ns - *(above - 1)) / std::max(*above - *(above - 1), 1e-9);
  return (static_cast<double>(above - 1 - bars.edges_ns.begin()) + inside) / static_cast<double>(bars.counts.size());
}

}  // namespace

HistogramBars bars_of(const stats::SiteFigures& figures) {
  HistogramBars bars;
  bars.counts = figures.bars;
  for (std::size_t i = 0; i <= figures.bars.size(); ++i) {
    bars.edges_ns.push_back(figures.bar_start_ns(i));
  }
  return bars;
}

std::optional<std::size_t> draw_histogram(const HistogramBars& bars, const Theme& theme, std::string& tip) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float line = ImGui::GetTextLineHeight();
  const float top = at.y + line;
  const float bottom = at.y + std::max(room.y - line, line);
  Canvas canvas(ImGui::GetWindowDrawList());
  canvas.fill(at.x, top, at.x + room.x, bottom, theme.back);
  canvas.text(at.x, at.y, room.x, theme.text, bars.title);
  if (bars.counts.empty() || bars.edges_ns.size() != bars.counts.size() + 1) {
    return std::nullopt;
  }
  const auto most = static_cast<float>(*std::max_element(bars.counts.begin(), bars.counts.end()));
  const float width = room.x / static_cast<float>(bars.counts.size());
  const std::size_t label_step = static_cast<std::size_t>(std::max(ImGui::GetFontSize() * 5 / width, 1.0F)) + 1;
  for (std::size_t i = 0; i < bars.counts.size(); ++i) {
    const float left = at.x + static_cast<float>(i) * width;
    const float share = most > 0 ? static_cast<float>(bars.counts[i]) / most : 0;
    if (bars.counts[i] != 0) {
      canvas.fill(left, bottom - std::max(share * (bottom - top), 2.0F), left + std::max(width - 1, 1.0F), bottom,
                  theme.metric);
    }
    const double middle_ns = (bars.edges_ns[i] + bars.edges_ns[i + 1]) / 2;
    if (!(bars.marked == LengthRange{}) && bars.marked.holds(static_cast<std::int64_t>(middle_ns))) {
      canvas.outline(left, top, left + width, bottom, theme.chosen, 1);
    }
    const bool has_label = i % label_step == 0 && left + width * static_cast<float>(label_step) <= at.x + room.x;
    if (has_label) {
      canvas.text(left, bottom, width * static_cast<float>(label_step), theme.faint_text,
                  duration_text(static_cast<std::int64_t>(bars.edges_ns[i])));
    }
  }
  for (const double target_ns : bars.targets_ns) {
    if (const double place = place_of(bars, target_ns); place >= 0 && place <= 1) {
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
  const std::size_t bar = std::min(static_cast<std::size_t>(x / width), bars.counts.size() - 1);
  tip = count_text(bars.counts[bar]) + " from " + duration_text(static_cast<std::int64_t>(bars.edges_ns[bar])) +
        " to " + duration_text(static_cast<std::int64_t>(bars.edges_ns[bar + 1])) + "; click to light these";
  return ImGui::IsItemClicked() ? std::optional(bar) : std::nullopt;
}

LengthRange next_lengths(const stats::SiteFigures& figures, LengthRange marked) {
  for (std::size_t bar = 0; bar < figures.bars.size(); ++bar) {
    const auto [least_ns, most_ns] = figures.bar_lengths_ns(bar);
    if (figures.bars[bar] != 0 && (marked == LengthRange{} || least_ns > marked.most_ns)) {
      return {least_ns, most_ns};
    }
  }
  return {};
}

LengthRange lengths_after_click(const stats::SiteFigures& figures, std::size_t bar, LengthRange marked) {
  const auto [least_ns, most_ns] = figures.bar_lengths_ns(bar);
  const LengthRange lengths{least_ns, most_ns};
  return lengths == marked ? LengthRange{} : lengths;
}

}  // namespace kymo::panel
