// Timeline queries other than spans: frames, samples, messages, flows, sync points.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <kymo/batch_cursor.hpp>

#include "capture/summary/frame_walk.hpp"
#include "timeline/metric_samples.hpp"
#include "timeline/timeline_implementation.hpp"

namespace kymo {

using timeline::Source;

namespace {

/// The events of one kind in the range, by ascending time; `events` is their list in a batch.
template <typename Event>
std::vector<Event> gather(const Timeline& timeline, TimeRange range, std::vector<Event> EventBatch::*events) {
  std::vector<Event> found;
  BatchCursor cursor(timeline, range, BatchParts::others);
  for (EventBatch batch; cursor.next(batch);) {
    for (const Event& event : batch.*events) {
      if (event.time_ns >= range.start_ns && event.time_ns < range.end_ns) {
        found.push_back(event);
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return found;
}

/// The stream's marks and breaks in a block.
std::vector<FrameMark> marks_in(const Source& source, std::size_t block, FrameStreamId stream, EventBatch& batch) {
  std::vector<FrameMark> marks;
  if (source.read(block, BatchParts::others, batch)) {
    std::copy_if(batch.frame_marks.begin(), batch.frame_marks.end(), std::back_inserter(marks),
                 [stream](const FrameMark& mark) { return mark.stream == stream; });
  }
  return marks;
}

/// The stream's marks and breaks in the range, with the last one before it and the first one after it, and possibly
/// more around. In the order of the file: between the blocks that reach into the range all are read, as a mark may
/// count at the time of an earlier one.
std::vector<FrameMark> marks_around(const Source& source, FrameStreamId stream, TimeRange range) {
  std::size_t first = 0;
  std::size_t end = source.block_count();
  while (first < end && source.end_ns(first) < range.start_ns) {
    ++first;
  }
  while (first < end && source.start_ns(end - 1) >= range.end_ns) {
    --end;
  }
  EventBatch batch;
  std::vector<FrameMark> marks;
  bool reaches_end = false;
  for (std::size_t block = first; block < source.block_count() && (block < end || !reaches_end); ++block) {
    for (const FrameMark& mark : marks_in(source, block, stream, batch)) {
      marks.push_back(mark);
      reaches_end = reaches_end || mark.time_ns >= range.end_ns;
    }
  }
  capture::FrameWalk walk;
  std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
  for (const FrameMark& mark : marks) {
    walk.take(mark);
    if (walk.mark_ns() > range.start_ns) {
      break;
    }
    latest_ns = walk.mark_ns();
  }
  for (std::size_t block = first; block-- > 0;) {
    if (source.end_ns(block) > latest_ns) {
      const std::vector<FrameMark> before = marks_in(source, block, stream, batch);
      marks.insert(marks.begin(), before.begin(), before.end());
      for (const FrameMark& mark : before) {
        latest_ns = std::max(latest_ns, mark.time_ns);
      }
    }
  }
  return marks;
}

}  // namespace

std::vector<Frame> Timeline::frames(FrameStreamId stream, TimeRange range) const {
  std::vector<Frame> frames;
  const ProcessId owner = frame_stream(stream).process;
  const std::size_t index = owner ? process(owner).capture : 0;
  if (index >= implementation_->sources_.size()) {
    return frames;
  }
  capture::FrameWalk walk;
  for (const FrameMark& mark : marks_around(*implementation_->sources_[index], stream, range)) {
    const bool ends_frame = walk.take(mark);
    const bool overlaps =
        walk.start_ns() < range.end_ns && (walk.mark_ns() > range.start_ns || walk.start_ns() >= range.start_ns);
    if (ends_frame && overlaps) {
      frames.push_back({walk.start_ns(), walk.duration_ns()});
    }
  }
  return frames;
}

MetricSeries Timeline::series(MetricId metric, TimeRange range) const {
  MetricSeries series;
  const auto is_wanted = [range](std::int64_t time_ns) { return time_ns >= range.start_ns && time_ns < range.end_ns; };
  BatchCursor cursor(*this, range, BatchParts::samples);
  for (EventBatch batch; cursor.next(batch);) {
    for (const SampleRun& run : batch.samples) {
      if (run.metric == metric) {
        timeline::append_samples(run, is_wanted, series);
      }
    }
  }
  timeline::sort_by_time(series);
  return series;
}

std::vector<Message> Timeline::messages(TimeRange range) const {
  return gather(*this, range, &EventBatch::messages);
}

std::vector<FlowEvent> Timeline::flows(TimeRange range) const {
  return gather(*this, range, &EventBatch::flows);
}

std::vector<SyncPoint> Timeline::sync_points(TimeRange range) const {
  return gather(*this, range, &EventBatch::sync_points);
}

std::vector<Phase> Timeline::phases() const {
  std::map<ProcessId, std::vector<SyncPoint>> points;
  for (const SyncPoint& point : sync_points()) {
    points[track(point.track).process].push_back(point);
  }
  std::vector<Phase> phases;
  for (const auto& [owner, of_process] : points) {
    const std::size_t capture = process(owner).capture;
    const std::int64_t end_ns = implementation_->sources_[capture]->range().end_ns;
    std::set<std::uint64_t> numbers;
    for (const SyncPoint& point : of_process) {
      numbers.insert(point.number);
    }
    for (std::size_t i = 0; i < of_process.size(); ++i) {
      const bool is_last = i + 1 == of_process.size();
      if (!is_last && numbers.count(of_process[i].number + 1) == 0) {
        continue;  // the point that ends it is missing
      }
      phases.push_back({of_process[i].number, owner, of_process[i].time_ns,
                        is_last ? std::max(end_ns, of_process[i].time_ns) : of_process[i + 1].time_ns});
    }
  }
  std::stable_sort(phases.begin(), phases.end(),
                   [](const Phase& a, const Phase& b) { return a.start_ns < b.start_ns; });
  return phases;
}

}  // namespace kymo
