// Makes the Detail of an event block.
#include "timeline/detail.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/time_math.hpp"
#include "capture/summary/coverage.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "timeline/detail_parts.hpp"

namespace kymo::timeline {

namespace {

using capture::Coverage;
using capture::CoverageRow;

/// Emitted spans of one track may overlap; beyond this number, lanes are merged.
constexpr std::size_t most_lanes = 16;
constexpr std::uint16_t deepest_lane = 255;

unsigned shift_for(std::int64_t start_ns, std::int64_t end_ns) {
  const auto length = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
  unsigned shift = Coverage::least_shift;
  while (shift < 57 && (length >> shift) >= 127) {
    ++shift;
  }
  return shift;
}

/// Makes the lanes and bins of a batch.
class SpanTaker {
 public:
  SpanTaker(const EventBatch& batch, bool with_spans, Detail& out)
      : with_spans_(with_spans),
        out_(out),
        scopes_(shift_for(batch.start_ns, batch.end_ns)),
        handed_in_(shift_for(batch.start_ns, batch.end_ns)) {}

  void take_run(const ScopeRun& run) {
    capture::ScopeStack stack;
    lanes_.clear();
    const auto on_span = [&](const capture::ScopeSpan& span) {
      const bool unbalanced = (span.flags & capture::ScopeSpan::unbalanced) != 0;
      add(run.track, {span.start_ns, base::add_length(span.start_ns, span.duration_ns), span.site.value(), span.depth,
                      unbalanced ? DetailSpan::unbalanced : std::uint16_t{0}});
    };
    capture::match(run, stack, on_span);
    for (std::size_t depth = 0; depth < stack.depth(); ++depth) {
      const capture::ScopeStack::Level open = stack[depth];
      add(run.track, {open.start_ns, std::max(out_.end_ns, open.start_ns), open.site.value(),
                      static_cast<std::uint16_t>(std::min<std::size_t>(depth, 65535)), DetailSpan::goes_on});
    }
    put_lanes(run.track, false);
    for (const ScopeEvent& event : run.events) {
      out_.scopes += event.is_open() ? 1U : 0U;
    }
    out_.dropped_scopes += run.dropped_scopes;
  }

  void take_spans(const EventBatch& batch) {
    std::vector<const SpanEvent*> spans;
    spans.reserve(batch.spans.size());
    for (const SpanEvent& span : batch.spans) {
      spans.push_back(&span);
    }
    std::stable_sort(spans.begin(), spans.end(), [](const SpanEvent* a, const SpanEvent* b) {
      return std::tie(a->track, a->start_ns) < std::tie(b->track, b->start_ns);
    });
    for (std::size_t i = 0; i < spans.size();) {
      const TrackId track = spans[i]->track;
      lanes_.clear();
      for (; i < spans.size() && spans[i]->track == track; ++i) {
        place_in_lane(track, *spans[i]);
      }
      put_lanes(track, true);
    }
  }

  void finish() {
    std::sort(out_.lanes.begin(), out_.lanes.end(), [](const DetailLane& a, const DetailLane& b) {
      return std::tie(a.track, a.named, a.depth) < std::tie(b.track, b.named, b.depth);
    });
    put_rows(scopes_, out_.bins);
    put_rows(handed_in_, out_.bins);
    sort_rows(out_.bins);
  }

 private:
  void add(TrackId track, DetailSpan span) {
    // A bin covers only the block's own time: the earlier part of a span that began before is in earlier blocks.
    scopes_.add(track, span.depth, SiteId{span.name}, std::max(span.start_ns, out_.start_ns),
                std::min(span.end_ns, out_.end_ns));
    if (with_spans_ && span.depth <= deepest_lane) {
      if (lanes_.size() <= span.depth) {
        lanes_.resize(std::size_t{span.depth} + 1);
      }
      lanes_[span.depth].push_back(span);
    }
  }

  void place_in_lane(TrackId track, const SpanEvent& event) {
    const std::int64_t end_ns = base::add_length(event.start_ns, event.duration_ns);
    std::size_t lane = 0;
    while (lane < lanes_.size() && lanes_[lane].back().end_ns > event.start_ns) {
      ++lane;
    }
    handed_in_.add(track, 0, event.name, event.start_ns, end_ns);
    if (lane >= most_lanes) {
      return;
    }
    if (lane == lanes_.size()) {
      lanes_.emplace_back();
    }
    if (!with_spans_) {
      lanes_[lane].clear();
    }
    lanes_[lane].push_back({event.start_ns, end_ns, event.name.value(), static_cast<std::uint16_t>(lane), 0});
  }

  void put_lanes(TrackId track, bool named) {
    for (std::size_t depth = 0; with_spans_ && depth < lanes_.size(); ++depth) {
      if (lanes_[depth].empty()) {
        continue;
      }
      DetailLane& lane = out_.lanes.emplace_back();
      lane.track = track;
      lane.depth = static_cast<std::uint16_t>(depth);
      lane.named = named;
      lane.spans = std::move(lanes_[depth]);
      lane.spans.shrink_to_fit();
      make_disjoint(lane.spans);
    }
  }

  /// Times of damaged captures may descend; binary searches rely on their order.
  static void make_disjoint(std::vector<DetailSpan>& spans) {
    const auto before = [](const DetailSpan& a, const DetailSpan& b) { return a.start_ns < b.start_ns; };
    if (!std::is_sorted(spans.begin(), spans.end(), before)) {
      std::stable_sort(spans.begin(), spans.end(), before);
    }
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i - 1].end_ns > spans[i].start_ns) {
        spans[i - 1].end_ns = spans[i].start_ns;
      }
    }
  }

  bool with_spans_;
  Detail& out_;
  Coverage scopes_;
  Coverage handed_in_;
  std::vector<std::vector<DetailSpan>> lanes_;  // of the current track, by depth
};

/// Adds a stream's marks, by ascending time, as runs without a break.
void put_frames(FrameStreamId stream, const std::vector<FrameMark>& marks, Detail& out) {
  const auto is_break = [](const FrameMark& mark) { return mark.is_break; };
  for (auto first = marks.begin(); first != marks.end();) {
    const bool is_broken = first->is_break;
    const auto end = is_broken ? first + 1 : std::find_if(first, marks.end(), is_break);
    std::vector<std::int64_t> times;
    std::transform(first, end, std::back_inserter(times), [](const FrameMark& mark) { return mark.time_ns; });
    out.frames.push_back(make_frames(stream, std::move(times)));
    out.frames.back().is_break = is_broken;
    first = end;
  }
}

void take_frames(const EventBatch& batch, Detail& out) {
  std::map<FrameStreamId, std::vector<FrameMark>> streams;
  for (const FrameMark& mark : batch.frame_marks) {
    streams[mark.stream].push_back(mark);
  }
  for (auto& [stream, marks] : streams) {
    std::stable_sort(marks.begin(), marks.end(),
                     [](const FrameMark& a, const FrameMark& b) { return a.time_ns < b.time_ns; });
    put_frames(stream, marks, out);
  }
}

/// Adds a following group to a group.
void join(SampleGroup& group, const SampleGroup& later) {
  group.end_ns = later.end_ns;
  group.min = std::min(group.min, later.min);
  group.max = std::max(group.max, later.max);
  group.last = later.last;
  group.is_stale = group.is_stale && later.is_stale;
}

void take_samples(const EventBatch& batch, Detail& out) {
  std::map<MetricId, DetailSeries> all;
  for (const SampleRun& run : batch.samples) {
    DetailSeries& series = all[run.metric];
    series.metric = run.metric;
    const std::size_t count = std::min(run.times_ns.size(), run.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double value = run.values[i];
      const bool stale = i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0;
      const auto most = std::numeric_limits<double>::infinity();
      const bool is_number = std::isfinite(value);
      series.samples.push_back(
          {run.times_ns[i], run.times_ns[i], is_number ? value : most, is_number ? value : -most, value, stale});
    }
  }
  for (auto& entry : all) {
    DetailSeries& series = entry.second;
    std::stable_sort(series.samples.begin(), series.samples.end(),
                     [](const SampleGroup& a, const SampleGroup& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 0; i < series.samples.size(); ++i) {
      if (i % DetailSeries::group_size == 0) {
        series.groups.push_back(series.samples[i]);
      } else {
        join(series.groups.back(), series.samples[i]);
      }
    }
    out.series.push_back(std::move(series));
  }
}

template <typename Mark>
bool is_earlier(const Mark& a, const Mark& b) {
  return a.time_ns < b.time_ns;
}

void take_messages(const EventBatch& batch, Detail& out) {
  std::map<TrackId, std::vector<const Message*>> by_track;
  for (const Message& message : batch.messages) {
    by_track[message.track].push_back(&message);
  }
  const std::size_t together = batch.messages.size() / Detail::most_marks + 1;
  for (auto& [track, messages] : by_track) {
    std::stable_sort(messages.begin(), messages.end(),
                     [](const Message* a, const Message* b) { return a->time_ns < b->time_ns; });
    for (std::size_t i = 0; i < messages.size() && out.messages.size() < Detail::most_marks; i += together) {
      DetailMessage& mark = out.messages.emplace_back();
      mark.time_ns = messages[i]->time_ns;
      mark.track = track;
      mark.count = static_cast<std::uint32_t>(std::min(together, messages.size() - i));
      mark.is_cut = messages[i]->is_cut || messages[i]->text.size() > DetailMessage::most_bytes;
      mark.text = messages[i]->text.substr(0, DetailMessage::most_bytes);
    }
  }
  std::stable_sort(out.messages.begin(), out.messages.end(), is_earlier<DetailMessage>);
}

/// Spreads ascending ids.
std::uint64_t mixed(std::uint64_t id) {
  id ^= id >> 31U;
  id *= 0x9E3779B97F4A7C15U;
  return id ^ (id >> 29U);
}

void take_flows(const EventBatch& batch, Detail& out) {
  // Flows are selected by id, so that the selected ones are complete in every block.
  std::uint64_t mask = 0;
  while (batch.flows.size() / (mask + 1) > Detail::most_marks / 2 && mask + 1 != 0) {
    mask = 2 * mask + 1;
  }
  for (const FlowEvent& flow : batch.flows) {
    if ((mixed(flow.flow_id) & mask) == 0 && out.flows.size() < Detail::most_marks) {
      out.flows.push_back(flow);
    }
  }
  std::stable_sort(out.flows.begin(), out.flows.end(), is_earlier<FlowEvent>);
}

void take_stack_samples(const EventBatch& batch, Detail& out) {
  const std::size_t step = batch.stack_samples.size() / Detail::most_marks + 1;
  for (std::size_t i = 0; i < batch.stack_samples.size(); i += step) {
    out.stack_samples.push_back(batch.stack_samples[i]);
  }
  std::stable_sort(out.stack_samples.begin(), out.stack_samples.end(), is_earlier<StackSample>);
}

/// Events at points in time: messages, flows, sync points, samples of stacks.
void take_marks(const EventBatch& batch, Detail& out) {
  take_messages(batch, out);
  take_flows(batch, out);
  take_stack_samples(batch, out);
  out.sync_points.assign(
      batch.sync_points.begin(),
      batch.sync_points.begin() + static_cast<std::ptrdiff_t>(std::min(batch.sync_points.size(), Detail::most_marks)));
  std::stable_sort(out.sync_points.begin(), out.sync_points.end(), is_earlier<SyncPoint>);
}

/// Times of damaged captures may descend or overlap; binary searches rely on their order.
void make_disjoint(std::vector<ThreadState>& states) {
  std::stable_sort(states.begin(), states.end(),
                   [](const ThreadState& a, const ThreadState& b) { return a.start_ns < b.start_ns; });
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].duration_ns = std::max<std::int64_t>(states[i].duration_ns, 0);
    const std::int64_t end_ns = base::add_length(states[i].start_ns, states[i].duration_ns);
    const std::int64_t most_ns = i + 1 < states.size() ? states[i + 1].start_ns : end_ns;
    states[i].duration_ns = base::length_between(states[i].start_ns, std::min(end_ns, most_ns));
  }
}

/// Run states. `with_states`: each one, too.
void take_states(const EventBatch& batch, bool with_states, Detail& out) {
  if (batch.states.empty() && batch.wakes.empty()) {
    return;
  }
  capture::Coverage coverage;
  for (const StateRun& run : batch.states) {
    coverage.add(run);
  }
  if (with_states) {
    out.wakes = batch.wakes;
    std::stable_sort(out.wakes.begin(), out.wakes.end(),
                     [](const ThreadWake& a, const ThreadWake& b) { return a.time_ns < b.time_ns; });
    out.states = batch.states;
    std::stable_sort(out.states.begin(), out.states.end(),
                     [](const StateRun& a, const StateRun& b) { return a.thread < b.thread; });
    for (StateRun& run : out.states) {
      make_disjoint(run.states);
    }
  }
  put_rows(coverage, out.state_bins);
  sort_rows(out.state_bins);
}

}  // namespace

void put_rows(const Coverage& coverage, std::array<DetailBins, Detail::levels>& out) {
  Coverage coarse;
  const Coverage* from = &coverage;
  Coverage keeper;
  for (std::size_t level = 0; level < Detail::levels; ++level) {
    if (level != 0) {
      coarse.clear(std::min(from->shift() + 1, 57U));
      coarse.merge(*from);
      keeper = std::move(coarse);
      from = &keeper;
      coarse = Coverage();
    }
    DetailBins& to = out[level];
    for (const CoverageRow& row : from->rows()) {
      (row.named ? to.named_bin_ns : to.scopes_bin_ns) = from->bin_ns();
      DetailRow& added = to.rows.emplace_back();
      added.track = row.track;
      added.depth = row.depth;
      added.named = row.named;
      added.start_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(row.first_bin) << from->shift());
      added.first_bin = static_cast<std::uint32_t>(to.bins.size());
      added.bin_count = static_cast<std::uint32_t>(row.bins.size());
      for (const capture::CoverageBin& bin : row.bins) {
        const double share = static_cast<double>(bin.covered_ns) / static_cast<double>(from->bin_ns());
        to.bins.push_back({bin.vote.leader(), static_cast<float>(std::min(share, 1.0))});
      }
    }
  }
}

void sort_rows(std::array<DetailBins, Detail::levels>& all) {
  for (DetailBins& bins : all) {
    std::sort(bins.rows.begin(), bins.rows.end(), [](const DetailRow& a, const DetailRow& b) {
      return std::tie(a.track, a.named, a.depth) < std::tie(b.track, b.named, b.depth);
    });
  }
}

void count_bytes(Detail& out) {
  out.bytes = sizeof(Detail);
  for (const DetailLane& lane : out.lanes) {
    out.bytes += sizeof lane + lane.spans.capacity() * sizeof(DetailSpan);
  }
  for (const auto* const all : {&out.bins, &out.state_bins}) {
    for (const DetailBins& bins : *all) {
      out.bytes += bins.rows.capacity() * sizeof(DetailRow) + bins.bins.capacity() * sizeof(DetailBin);
    }
  }
  for (const StateRun& run : out.states) {
    out.bytes += sizeof run + run.states.capacity() * sizeof(ThreadState);
  }
  out.bytes += out.wakes.capacity() * sizeof(ThreadWake);
  for (const DetailFrames& frames : out.frames) {
    out.bytes += sizeof frames + frames.marks_ns.capacity() * 8 + frames.groups.capacity() * sizeof(FrameGroup);
  }
  for (const DetailSeries& series : out.series) {
    out.bytes += sizeof series + (series.samples.capacity() + series.groups.capacity()) * sizeof(SampleGroup);
  }
  for (const DetailMessage& message : out.messages) {
    out.bytes += sizeof message + message.text.capacity();
  }
  out.bytes += out.flows.capacity() * sizeof(FlowEvent) + out.sync_points.capacity() * sizeof(SyncPoint) +
               out.stack_samples.capacity() * sizeof(StackSample);
}

DetailFrames make_frames(FrameStreamId stream, std::vector<std::int64_t> marks_ns) {
  DetailFrames frames;
  frames.stream = stream;
  frames.marks_ns = std::move(marks_ns);
  std::sort(frames.marks_ns.begin(), frames.marks_ns.end());
  frames.first_mark_ns = frames.marks_ns.front();
  frames.last_mark_ns = frames.marks_ns.back();
  for (std::size_t i = 1; i < frames.marks_ns.size(); ++i) {
    const std::int64_t start = frames.marks_ns[i - 1];
    const std::int64_t end = frames.marks_ns[i];
    if ((i - 1) % DetailFrames::group_size == 0) {
      frames.groups.push_back({start, end, start, 0, 0});
    }
    FrameGroup& group = frames.groups.back();
    group.end_ns = end;
    ++group.count;
    if (const std::int64_t length = base::length_between(start, end); length > group.longest_ns) {
      group.longest_ns = length;
      group.longest_start_ns = start;
    }
  }
  return frames;
}

Detail make_detail(const EventBatch& batch, bool with_spans) {
  Detail out;
  out.start_ns = batch.start_ns;
  out.end_ns = std::max(batch.end_ns, batch.start_ns);
  out.is_exact = with_spans;
  SpanTaker taker(batch, with_spans, out);
  for (const ScopeRun& run : batch.runs) {
    taker.take_run(run);
  }
  taker.take_spans(batch);
  taker.finish();
  take_frames(batch, out);
  take_samples(batch, out);
  take_marks(batch, out);
  take_states(batch, with_spans, out);
  count_bytes(out);
  return out;
}

}  // namespace kymo::timeline
