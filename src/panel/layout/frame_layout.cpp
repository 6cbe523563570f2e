// Computes the bars of frames.
#include "panel/layout/frame_layout.hpp"

#include <algorithm>
#include <iterator>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

using timeline::FrameGroup;

LongestFrame longest_of(const FrameGroup& group, bool is_exact) {
  return {{group.longest_start_ns, group.longest_ns}, is_exact, {group.start_ns, group.end_ns}};
}

void put_bar(const TimeAxis& axis, double least_pixels, const FrameGroup& group, bool is_exact, FrameBars& out) {
  FrameBar bar;
  bar.left = static_cast<float>(std::max(axis.to_pixel(group.start_ns), -1.0));
  bar.right = static_cast<float>(std::min(axis.to_pixel(group.end_ns), axis.width() + 1));
  bar.longest = longest_of(group, is_exact);
  bar.count = group.count;
  out.longest_ns = std::max(out.longest_ns, group.longest_ns);
  out.count += bar.count;
  if (out.bars.empty() || double{bar.right} >= double{out.bars.back().left} + least_pixels) {
    out.bars.push_back(bar);
    return;
  }
  FrameBar& last = out.bars.back();
  if (bar.longest.frame.duration_ns > last.longest.frame.duration_ns) {
    last.longest = bar.longest;
  }
  last.right = std::max(last.right, bar.right);
  last.count += bar.count;
}

}  // namespace

FrameBars lay_out_frames(const FrameCover& frames, const TimeAxis& axis, double least_pixels) {
  FrameBars out;
  frames.visit(axis.range(), least_pixels * axis.ns_per_pixel(),
               [&](const FrameGroup& group, bool is_exact) { put_bar(axis, least_pixels, group, is_exact, out); });
  out.latest = frames.latest(axis.range());
  return out;
}

const FrameBar* find_bar(const FrameBars& bars, double pixel) {
  auto at = std::upper_bound(bars.bars.begin(), bars.bars.end(), pixel,
                             [](double x, const FrameBar& bar) { return x < double{bar.left}; });
  if (at == bars.bars.begin() || pixel > double{std::prev(at)->right} + 1) {
    return nullptr;
  }
  return &*std::prev(at);
}

std::optional<LongestFrame> longest_frame(const FrameCover& frames, TimeRange range) {
  std::optional<LongestFrame> within;
  std::optional<LongestFrame> overlapping;
  frames.visit(range, 0, [&](const FrameGroup& group, bool is_exact) {
    const bool is_within = group.start_ns >= range.start_ns && group.end_ns <= range.end_ns;
    std::optional<LongestFrame>& best = is_within ? within : overlapping;
    if (!best || group.longest_ns > best->frame.duration_ns) {
      best = longest_of(group, is_exact);
    }
  });
  return within ? within : overlapping;
}

}  // namespace kymo::panel
