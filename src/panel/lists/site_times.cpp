// When scopes of a site were open.
#include "panel/lists/site_times.hpp"

#include <algorithm>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

void SiteTimes::join() {
  std::sort(ranges.begin(), ranges.end(),
            [](const TimeRange& a, const TimeRange& b) { return a.start_ns < b.start_ns; });
  std::size_t kept = 0;
  for (const TimeRange& range : ranges) {
    if (kept != 0 && range.start_ns <= ranges[kept - 1].end_ns) {
      ranges[kept - 1].end_ns = std::max(ranges[kept - 1].end_ns, range.end_ns);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
  if (kept > most) {
    end_ns = ranges[most].start_ns;
    ranges.resize(most);
  }
}

bool SiteTimes::hold(std::int64_t time_ns) const {
  const auto behind = std::upper_bound(ranges.begin(), ranges.end(), time_ns,
                                       [](std::int64_t time, const TimeRange& range) { return time < range.start_ns; });
  return behind != ranges.begin() && time_ns < (behind - 1)->end_ns;
}

bool SiteTimes::overlap(TimeRange range) const {
  const auto at = std::upper_bound(ranges.begin(), ranges.end(), range.start_ns,
                                   [](std::int64_t time, const TimeRange& one) { return time < one.end_ns; });
  return at != ranges.end() && at->start_ns < range.end_ns;
}

void SiteTimesGatherer::take(std::size_t /*capture*/, const EventBatch* batch) {
  if (batch == nullptr) {
    return;  // the stacks see the gap in the sequence numbers
  }
  last_ns_ = std::max(last_ns_, batch->end_ns);
  for (const ScopeRun& run : batch->runs) {
    capture::match(run, stacks_[run.track], [this](const capture::ScopeSpan& span) {
      if (span.site == SiteId{key_.id} && span.start_ns < times_.end_ns) {
        times_.ranges.push_back({span.start_ns, add_length(span.start_ns, span.duration_ns)});
      }
    });
  }
  if (times_.ranges.size() > joined_ + SiteTimes::most) {
    times_.join();
    joined_ = times_.ranges.size();
  }
}

SiteTimes SiteTimesGatherer::result() {
  SiteTimes times = times_;
  for (const auto& entry : stacks_) {
    const capture::ScopeStack& stack = entry.second;
    for (std::size_t depth = 0; depth < stack.depth(); ++depth) {
      if (const auto open = stack[depth]; open.site == SiteId{key_.id} && open.start_ns < times.end_ns) {
        // The last event may be at the end of the last block.
        times.ranges.push_back({open.start_ns, add_length(std::max(open.start_ns, last_ns_), 1)});
      }
    }
  }
  times.join();
  return times;
}

}  // namespace kymo::panel
