// The stretches of one track in which some scope was the innermost one, within requested intervals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <kymo/thread_states.hpp>
#include <kymo/timeline.hpp>

#include "capture/summary/scope_walk.hpp"
#include "stats/paths/owners.hpp"

namespace kymo::stats {

/// An interval of a track whose owners are asked for.
struct PathRequest {
  TimeRange range;
  Actor actor;
  std::uint32_t instance = 0;  ///< for which
  ChainId chain = 0;           ///< the waits that led to it
};

/// A request while its interval is walked.
struct ActiveRequest {
  PathRequest request;
  ThreadId thread{};                ///< whose states are known; none: nobody's
  std::vector<ThreadState> states;  ///< of the thread in the interval, as far as they are known
  std::size_t next_state = 0;
};

/// Takes the runs of one track in order. Requests may overlap. A receiver has
///   activate(active)                 the interval begins
///   stretch(active, site, range)     the site's scope is the innermost; no site: no scope is open
///   call(active, site, outer)        a scope of the site begins, in one of the other; no site: in none
///   argument(active, site, value)    the innermost scope gets an argument
/// The stretches of a request follow each other without gaps and fill its interval.
template <typename Receiver>
class TrackWalk {
 public:
  TrackWalk(Receiver& receiver, std::vector<PathRequest> requests)
      : receiver_(receiver), requests_(std::move(requests)) {
    std::stable_sort(requests_.begin(), requests_.end(),
                     [](const PathRequest& a, const PathRequest& b) { return a.range.start_ns < b.range.start_ns; });
  }

  void take(const ScopeRun& run) {
    arguments_ = &run.arguments;
    next_argument_ = 0;
    walk_.take(run, *this);
    take_arguments(std::numeric_limits<std::size_t>::max());
  }

  /// Nothing is open: the block that comes next holds no run of the track.
  void close_all() {
    const ScopeRun nothing;
    walk_.begin(nothing, *this);
  }

  void finish() { advance(std::numeric_limits<std::int64_t>::max()); }

  // Of the walk over scopes:
  void reach(std::size_t position, const ScopeEvent& /*event*/) { take_arguments(position); }
  void begin(const OpenScope& scope, std::size_t /*depth*/) {
    advance(scope.start_ns);
    const SiteId outer = sites_.empty() ? SiteId{} : sites_.back();
    sites_.push_back(scope.site);
    for (ActiveRequest& active : active_) {
      if (scope.start_ns >= active.request.range.start_ns) {
        receiver_.call(active, scope.site, outer);
      }
    }
  }
  void end(const OpenScope& /*scope*/, std::size_t /*depth*/, std::int64_t end_ns, capture::ScopeEnding /*how*/) {
    advance(end_ns);
    sites_.pop_back();
  }

 private:
  void take_arguments(std::size_t position) {
    for (; next_argument_ < arguments_->size() && (*arguments_)[next_argument_].position <= position;
         ++next_argument_) {
      for (ActiveRequest& active : active_) {
        receiver_.argument(active, sites_.empty() ? SiteId{} : sites_.back(), (*arguments_)[next_argument_].value);
      }
    }
  }

  /// The innermost scope stays the same until this time.
  void advance(std::int64_t time_ns) {
    if (time_ns < reached_ns_) {
      return;
    }
    for (; next_ < requests_.size() && requests_[next_].range.start_ns <= time_ns; ++next_) {
      active_.push_back({requests_[next_], {}, {}, 0});
      receiver_.activate(active_.back());
    }
    const SiteId site = sites_.empty() ? SiteId{} : sites_.back();
    bool is_any_over = false;
    for (ActiveRequest& active : active_) {
      const TimeRange& range = active.request.range;
      const TimeRange part{std::max(reached_ns_, range.start_ns), std::min(time_ns, range.end_ns)};
      if (part.start_ns < part.end_ns) {
        receiver_.stretch(active, site, part);
      }
      is_any_over = is_any_over || range.end_ns <= time_ns;
    }
    if (is_any_over) {
      std::erase_if(active_, [time_ns](const ActiveRequest& one) { return one.request.range.end_ns <= time_ns; });
    }
    reached_ns_ = time_ns;
  }

  Receiver& receiver_;
  std::vector<PathRequest> requests_;
  std::size_t next_ = 0;
  std::vector<ActiveRequest> active_;
  std::vector<SiteId> sites_;
  std::int64_t reached_ns_ = std::numeric_limits<std::int64_t>::min();
  capture::ScopeWalk walk_;
  const std::vector<ScopeArgument>* arguments_ = nullptr;
  std::size_t next_argument_ = 0;
};

}  // namespace kymo::stats
