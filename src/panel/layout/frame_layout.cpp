// Computes the bars of frames and the steps of metrics.
#include "panel/layout/frame_layout.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

using timeline::DetailSeries;
using timeline::FrameGroup;
using timeline::SampleGroup;

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

void put_step(const TimeAxis& axis, double least_pixels, const SampleGroup& group, MetricSteps& out) {
  MetricStep step;
  step.left = static_cast<float>(std::max(axis.to_pixel(group.start_ns), -1.0));
  step.right = static_cast<float>(std::min(axis.to_pixel(group.end_ns), axis.width() + 1));
  step.min = group.min;
  step.max = group.max;
  step.last = group.last;
  step.is_stale = group.is_stale;
  if (group.min <= group.max && std::isfinite(group.min) && std::isfinite(group.max)) {
    out.min = out.has_values ? std::min(out.min, group.min) : group.min;
    out.max = out.has_values ? std::max(out.max, group.max) : group.max;
    out.has_values = true;
    out.latest = std::isfinite(group.last) ? group.last : out.latest;
  }
  if (!out.steps.empty() && double{step.right} < double{out.steps.back().left} + least_pixels) {
    MetricStep& last = out.steps.back();
    last.right = std::max(last.right, step.right);
    last.min = std::min(last.min, step.min);
    last.max = std::max(last.max, step.max);
    last.last = step.last;
    last.is_stale = last.is_stale && step.is_stale;
    return;
  }
  out.steps.push_back(step);
}

}  // namespace

FrameBars lay_out_frames(const FrameCover& frames, const TimeAxis& axis, double least_pixels) {
  FrameBars out;
  frames.visit(axis.range(), least_pixels * axis.ns_per_pixel(),
               [&](const FrameGroup& group, bool is_exact) { put_bar(axis, least_pixels, group, is_exact, out); });
  out.latest = frames.latest();
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

std::vector<MetricSteps> lay_out_metrics(const std::vector<Piece>& pieces, const TimeAxis& axis, double least_pixels) {
  std::map<MetricId, MetricSteps> all;
  auto next = all.begin();  // pieces usually have the same metrics in the same order
  const TimeRange range = axis.range();
  const double least_ns = least_pixels * axis.ns_per_pixel();
  for (const Piece& piece : pieces) {
    for (const DetailSeries& series : piece->series) {
      if (next == all.end() || next->first != series.metric) {
        next = all.try_emplace(series.metric).first;
      }
      MetricSteps& out = next->second;
      next = std::next(next) == all.end() ? all.begin() : std::next(next);
      out.metric = series.metric;
      for (std::size_t i = 0; i < series.groups.size(); ++i) {
        const SampleGroup& group = series.groups[i];
        if (!overlaps(group.start_ns, group.end_ns, range)) {
          continue;
        }
        const std::size_t first = i * DetailSeries::group_size;
        const std::size_t end = std::min(series.samples.size(), first + DetailSeries::group_size);
        if (first >= end || static_cast<double>(length_between(group.start_ns, group.end_ns)) < least_ns) {
          put_step(axis, least_pixels, group, out);
          continue;
        }
        for (std::size_t sample = first; sample < end; ++sample) {
          if (overlaps(series.samples[sample].start_ns, series.samples[sample].end_ns, range)) {
            put_step(axis, least_pixels, series.samples[sample], out);
          }
        }
      }
    }
  }
  std::vector<MetricSteps> result;
  result.reserve(all.size());
  for (auto& entry : all) {
    result.push_back(std::move(entry.second));
  }
  return result;
}

}  // namespace kymo::panel
