#include "capture/summary/summary.hpp"

#include <algorithm>
#include <cmath>

namespace kymo::capture {

namespace {

template <typename Entry>
void merge_table(KeyedTable<Entry>& into, const KeyedTable<Entry>& from) {
  for (const Entry& entry : from) {
    if (!entry.empty()) {
      into[entry.id].merge(entry);
    }
  }
}

template <typename Entry>
void clear_table(KeyedTable<Entry>& table) {
  for (Entry& entry : table) {
    entry.clear();
  }
}

void merge_tracks(Summary& into, const Summary& from) {
  const bool is_later = into.blocks == 0 || from.last_block > into.last_block;
  if (is_later) {
    for (TrackSummary& track : into.tracks) {
      track.open.clear();  // the later summary lists all open scopes
    }
    if (into.tracks.size() > 2 * from.tracks.size() + 1024) {
      into.tracks.drop([](const TrackSummary& track) { return track.empty(); });
    }
  }
  for (const TrackSummary& track : from.tracks) {
    if (into.tracks.size() > most_summary_entries) {
      return;  // no block holds them
    }
    TrackSummary& to = into.tracks[track.id];
    to.dropped_scopes = std::max(to.dropped_scopes, track.dropped_scopes);
    to.dropped_others = std::max(to.dropped_others, track.dropped_others);
    if (is_later) {
      to.next_sequence = track.next_sequence;
      to.open = track.open;
    }
  }
}

}  // namespace

void SiteSummary::merge(const SiteSummary& other) {
  durations.merge(other.durations);
  self_ns += other.self_ns;
  unbalanced += other.unbalanced;
  self_is_bound += other.self_is_bound;
}

void SiteSummary::clear() {
  durations.clear();
  self_ns = 0;
  unbalanced = 0;
  self_is_bound = 0;
}

void FrameStreamSummary::merge(const FrameStreamSummary& other) {
  frame_times.merge(other.frame_times);
  last_mark_ns = marks == 0 ? other.last_mark_ns : std::max(last_mark_ns, other.last_mark_ns);
  marks += other.marks;
}

void FrameStreamSummary::clear() {
  frame_times.clear();
  marks = 0;
  last_mark_ns = 0;
}

void MetricSummary::add(std::int64_t time_ns, double value) {
  if (!std::isnan(value)) {
    merge({id, 1, value, value, value, time_ns, time_ns, value, value});
  }
}

void MetricSummary::merge(const MetricSummary& other) {
  if (other.count == 0) {
    return;
  }
  if (count == 0) {
    const MetricId own = id;
    *this = other;
    id = own;
    return;
  }
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
  if (other.first_ns < first_ns) {
    first_ns = other.first_ns;
    first = other.first;
  }
  if (other.last_ns >= last_ns) {
    last_ns = other.last_ns;
    last = other.last;
  }
}

void Summary::merge(const Summary& other) {
  if (other.blocks == 0) {
    return;
  }
  merge_table(sites, other.sites);
  merge_table(span_names, other.span_names);
  merge_table(frame_streams, other.frame_streams);
  merge_table(metrics, other.metrics);
  merge_tracks(*this, other);
  coverage.merge(other.coverage);
  states.merge(other.states);
  const bool first_use = blocks == 0;
  start_ns = first_use ? other.start_ns : std::min(start_ns, other.start_ns);
  end_ns = first_use ? other.end_ns : std::max(end_ns, other.end_ns);
  first_block = first_use ? other.first_block : std::min(first_block, other.first_block);
  last_block = first_use ? other.last_block : std::max(last_block, other.last_block);
  blocks += other.blocks;
  scope_events += other.scope_events;
}

void Summary::clear(unsigned shift) {
  clear_table(sites);
  clear_table(span_names);
  clear_table(frame_streams);
  clear_table(metrics);
  tracks.clear();
  coverage.clear(shift);
  states.clear(shift);
  start_ns = 0;
  end_ns = 0;
  first_block = 0;
  last_block = 0;
  blocks = 0;
  scope_events = 0;
}

}  // namespace kymo::capture
