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

using timeline::DetailFrames;
using timeline::DetailSeries;
using timeline::FrameGroup;
using timeline::SampleGroup;

const DetailFrames* frames_of(const Detail& piece, FrameStreamId stream) {
  for (const DetailFrames& frames : piece.frames) {
    if (frames.stream == stream) {
      return &frames;
    }
  }
  return nullptr;
}

/// Calls visit(FrameGroup) for the frames of a stream that overlap the range, by ascending time. Frames longer than
/// least_ns on average are visited individually, others in groups.
template <typename Visit>
void visit_frames(const std::vector<Piece>& pieces, FrameStreamId stream, TimeRange range, double least_ns,
                  Visit&& visit) {
  bool has_mark = false;
  std::int64_t last_mark = 0;
  const auto offer = [&](const FrameGroup& group) {
    if (overlaps(group.start_ns, group.end_ns, range)) {
      visit(group);
    }
  };
  for (const Piece& piece : pieces) {
    const DetailFrames* const frames = frames_of(*piece, stream);
    if (frames == nullptr || (has_mark && frames->last_mark_ns <= last_mark)) {
      continue;
    }
    if (!frames->marks_ns.empty() && has_mark && frames->first_mark_ns > last_mark) {
      const std::int64_t length = length_between(last_mark, frames->first_mark_ns);
      offer({last_mark, frames->first_mark_ns, last_mark, length, 1});
    }
    std::size_t mark = 0;
    for (const FrameGroup& group : frames->groups) {
      const double mean_ns =
          static_cast<double>(length_between(group.start_ns, group.end_ns)) / static_cast<double>(group.count);
      const std::size_t first = mark;
      mark += static_cast<std::size_t>(group.count);
      if (frames->marks_ns.empty() || mean_ns < least_ns || !overlaps(group.start_ns, group.end_ns, range)) {
        offer(group);
        continue;
      }
      for (std::size_t i = first; i < mark; ++i) {
        const std::int64_t start = frames->marks_ns[i];
        const std::int64_t end = frames->marks_ns[i + 1];
        offer({start, end, start, length_between(start, end), 1});
      }
    }
    has_mark = true;
    last_mark = frames->last_mark_ns;
  }
}

void put_bar(const TimeAxis& axis, double least_pixels, const FrameGroup& group, FrameBars& out) {
  FrameBar bar;
  bar.left = static_cast<float>(std::max(axis.to_pixel(group.start_ns), -1.0));
  bar.right = static_cast<float>(std::min(axis.to_pixel(group.end_ns), axis.width() + 1));
  bar.start_ns = group.longest_start_ns;
  bar.duration_ns = group.longest_ns;
  bar.count = group.count;
  out.longest_ns = std::max(out.longest_ns, bar.duration_ns);
  out.count += bar.count;
  if (!out.bars.empty()) {
    FrameBar& last = out.bars.back();
    const bool is_near = double{bar.right} < double{last.left} + least_pixels;
    if (is_near) {
      last.right = std::max(last.right, bar.right);
      last.count += bar.count;
      if (bar.duration_ns > last.duration_ns) {
        last.duration_ns = bar.duration_ns;
        last.start_ns = bar.start_ns;
      }
      return;
    }
  }
  out.bars.push_back(bar);
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

FrameBars lay_out_frames(const std::vector<Piece>& pieces, FrameStreamId stream, const TimeAxis& axis,
                         double least_pixels) {
  FrameBars out;
  visit_frames(pieces, stream, axis.range(), least_pixels * axis.ns_per_pixel(), [&](const FrameGroup& group) {
    put_bar(axis, least_pixels, group, out);
    if (group.count == 1 && (!out.latest || group.start_ns >= out.latest->start_ns)) {
      out.latest = Frame{group.start_ns, group.longest_ns};
    }
  });
  // The last group of marks ends where the latest frame ends.
  for (const Piece& piece : pieces) {
    const DetailFrames* const frames = frames_of(*piece, stream);
    if (frames != nullptr && frames->marks_ns.size() >= 2) {
      const std::int64_t start = frames->marks_ns[frames->marks_ns.size() - 2];
      if (!out.latest || start > out.latest->start_ns) {
        out.latest = Frame{start, length_between(start, frames->last_mark_ns)};
      }
    }
  }
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

std::optional<Frame> longest_frame(const std::vector<Piece>& pieces, FrameStreamId stream, TimeRange range) {
  std::optional<Frame> within;
  std::optional<Frame> overlapping;
  visit_frames(pieces, stream, range, 0, [&](const FrameGroup& group) {
    const Frame frame{group.longest_start_ns, group.longest_ns};
    const bool is_within = group.start_ns >= range.start_ns && group.end_ns <= range.end_ns;
    std::optional<Frame>& best = is_within ? within : overlapping;
    if (!best || frame.duration_ns > best->duration_ns) {
      best = frame;
    }
  });
  return within ? within : overlapping;
}

std::optional<Frame> neighbour_frame(const std::vector<Piece>& pieces, FrameStreamId stream, std::int64_t start_ns,
                                     bool forward) {
  std::optional<Frame> best;
  visit_frames(pieces, stream, TimeRange{}, 0, [&](const FrameGroup& group) {
    const bool is_candidate = forward ? group.start_ns > start_ns : group.start_ns < start_ns;
    if (group.count == 1 && is_candidate && (!best || !forward)) {
      best = Frame{group.start_ns, group.longest_ns};
    }
  });
  return best;
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
