#include "stats/statistics/site_run_times.hpp"

#include <algorithm>

namespace kymo::stats {

void RunTimesOfSites::add(SiteId site, std::int64_t duration_ns, const RunTimes& times) {
  const std::uint32_t row = rows_.row_of(site);
  if (row >= times_.size()) {
    times_.resize(row + std::size_t{1});
  }
  ++times_[row].scopes;
  times_[row].total_ns += duration_ns;
  times_[row].times.add(times);
}

RunTimesOfSites gather_run_times(const Timeline& timeline, const RunTimesOptions& options) {
  RunTimesOfSites found(timeline, options.by_process);
  const ThreadStates states(timeline);
  if (states.empty()) {
    return found;
  }
  const auto take = [&](const Span& span) {
    const TrackDeclaration& track = timeline.track(span.track);
    const TimeRange part = options.selection.range_of(track.process);
    const TimeRange range{std::max(span.start_ns, part.start_ns), std::min(span.end_ns(), part.end_ns)};
    const bool is_whole = (span.flags & (Span::open | Span::end_unknown)) == 0;
    const bool is_selected = range.start_ns < range.end_ns || (range.start_ns == range.end_ns && is_whole);
    // A scope without an end counts up to that of the interval.
    if (!span.site || !is_selected || (!is_whole && !options.selection.cuts_time()) ||
        !options.selection.takes_track(track)) {
      return;
    }
    if (const auto times = states.times(span.track, range)) {
      found.add(span.site, range.end_ns - range.start_ns, *times);
    }
  };
  timeline.visit_spans(
      [&](const SpanList& list) {
        std::for_each(list.spans.begin(), list.spans.end(), take);
        return true;
      },
      options.on_progress);
  return found;
}

}  // namespace kymo::stats
