// When scopes of a site were open.
#include "panel/lists/lists.hpp"

#include <algorithm>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

void SiteTimes::add_closed(const ScopeRun& run, SiteId site, capture::ScopeStack& stack) {
  capture::match(run, stack, [&](const capture::ScopeSpan& span) {
    if (span.site == site && span.start_ns < end_ns) {
      ranges.push_back({span.start_ns, add_length(span.start_ns, span.duration_ns)});
    }
  });
}

void SiteTimes::add_open(const capture::ScopeStack& stack, SiteId site, std::int64_t last_ns) {
  for (std::size_t depth = 0; depth < stack.depth(); ++depth) {
    if (const auto open = stack[depth]; open.site == site && open.start_ns < end_ns) {
      // The last event may be at the end of the last block.
      ranges.push_back({open.start_ns, add_length(std::max(open.start_ns, last_ns), 1)});
    }
  }
}

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

}  // namespace kymo::panel
