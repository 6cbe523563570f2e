// Timeline queries other than spans: frames, samples, messages, flows, sync points.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <kymo/batch_cursor.hpp>

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

struct Mark {
  std::int64_t time_ns;
  bool is_break;
};

/// Appends the stream's marks in one block.
void take_marks(const Source& source, std::size_t block, FrameStreamId stream, EventBatch& batch,
                std::vector<Mark>& marks) {
  if (source.read(block, BatchParts::others, batch)) {
    for (const FrameMark& mark : batch.frame_marks) {
      if (mark.stream == stream) {
        marks.push_back({mark.time_ns, mark.is_break});
      }
    }
  }
}

/// The stream's marks and breaks in the range, with the last one before it and the first one after it, and possibly
/// more around.
///
/// A block is read if its declared range can contain one of them. Once a mark closer to the range is known, blocks
/// farther away are skipped.
std::vector<Mark> marks_around(const Source& source, FrameStreamId stream, TimeRange range) {
  std::vector<Mark> marks;
  EventBatch batch;
  std::vector<std::size_t> before;
  std::vector<std::size_t> after;
  std::vector<bool> is_read(source.block_count());
  const auto take = [&](std::size_t block) {
    if (!is_read[block]) {
      is_read[block] = true;
      take_marks(source, block, stream, batch, marks);
    }
  };
  for (std::size_t block = 0; block < source.block_count(); ++block) {
    if (source.start_ns(block) < range.end_ns && source.end_ns(block) >= range.start_ns) {
      take(block);
    }
    if (source.start_ns(block) <= range.start_ns) {
      before.push_back(block);
    }
    if (source.end_ns(block) >= range.end_ns) {
      after.push_back(block);
    }
  }
  const auto latest_before = [&] {
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const Mark& mark : marks) {
      latest = mark.time_ns <= range.start_ns ? std::max(latest, mark.time_ns) : latest;
    }
    return latest;
  };
  const auto earliest_after = [&] {
    std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
    for (const Mark& mark : marks) {
      earliest = mark.time_ns >= range.end_ns ? std::min(earliest, mark.time_ns) : earliest;
    }
    return earliest;
  };
  std::sort(before.begin(), before.end(),
            [&](std::size_t a, std::size_t b) { return source.end_ns(a) > source.end_ns(b); });
  for (std::size_t i = 0; i < before.size() && std::min(source.end_ns(before[i]), range.start_ns) > latest_before();
       ++i) {
    take(before[i]);
  }
  std::sort(after.begin(), after.end(),
            [&](std::size_t a, std::size_t b) { return source.start_ns(a) < source.start_ns(b); });
  for (std::size_t i = 0; i < after.size() && std::max(source.start_ns(after[i]), range.end_ns) < earliest_after();
       ++i) {
    take(after[i]);
  }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
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
  const std::vector<Mark> marks = marks_around(*implementation_->sources_[index], stream, range);
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    const std::int64_t start_ns = marks[i].time_ns;
    const std::int64_t end_ns = marks[i + 1].time_ns;
    const bool overlaps = start_ns < range.end_ns && (end_ns > range.start_ns || start_ns >= range.start_ns);
    if (overlaps && !marks[i].is_break && !marks[i + 1].is_break) {
      frames.push_back({start_ns, end_ns - start_ns});
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
