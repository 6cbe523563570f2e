// Walks the scopes of one track event by event as they begin and end, for formats written in that order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <kymo/events.hpp>

#include "capture/summary/scope_matcher.hpp"

namespace kymo::capture {

/// The scopes open at a run's end, outermost first, by the rules of capture::match.
[[nodiscard]] inline std::vector<OpenScope> open_at_end(const ScopeRun& run) {
  std::vector<OpenScope> open = run.open_at_start;
  for (const ScopeEvent& event : run.events) {
    if (event.depth < open.size()) {
      open.resize(event.depth);
    }
    if (event.is_open()) {
      open.push_back({event.time_ns, event.site});
    }
  }
  return open;
}

/// How a scope ended.
enum class ScopeEnding : std::uint8_t {
  closed,      ///< it closed itself
  unbalanced,  ///< the close of an outer scope or the end of its thread ended it
  lost,        ///< its end is in a part that is missing
  open,        ///< the capture ends first
};

/// Takes the runs of one track in order. Accepts any input, by the rules of capture::match. Reported times never
/// precede the start of the scope that ends. Uses 16 bytes per open level.
///
/// A visitor has
///   begin(scope, depth)             the scope has begun inside `depth` others
///   end(scope, depth, end_ns, how)  the innermost scope has ended
/// and for whole runs
///   reach(position, event)          before each event of a run: everything before `position` has been reported
class ScopeWalk {
 public:
  template <typename Visitor>
  void take(const ScopeRun& run, Visitor& visitor) {
    begin(run, visitor);
    for (std::size_t position = 0; position < run.events.size(); ++position) {
      visitor.reach(position, run.events[position]);
      take(run.events[position], visitor);
    }
  }

  /// Takes over the open scopes of a run's start. Scopes that it does not list have ended in a missing part.
  template <typename Visitor>
  void begin(const ScopeRun& run, Visitor& visitor) {
    std::size_t depth = count_kept(open_, open_.size(), run);
    end_down_to(depth, last_ns_, ScopeEnding::lost, visitor);
    for (; depth < run.open_at_start.size() && depth < deepest_scope; ++depth) {
      open(run.open_at_start[depth], visitor);
      last_ns_ = std::max(last_ns_, run.open_at_start[depth].start_ns);
    }
  }

  /// The next event of the run that was begun.
  template <typename Visitor>
  void take(const ScopeEvent& event, Visitor& visitor) {
    last_ns_ = event.time_ns;
    if (event.is_open()) {
      end_down_to(event.depth, event.time_ns, ScopeEnding::unbalanced, visitor);
      if (open_.size() < deepest_scope) {
        open({event.time_ns, event.site}, visitor);
      }
    } else if (event.depth < open_.size()) {
      end_down_to(std::size_t{event.depth} + 1, event.time_ns, ScopeEnding::unbalanced, visitor);
      const bool is_forced = (event.flags & ScopeEvent::forced) != 0;
      end_down_to(event.depth, event.time_ns, is_forced ? ScopeEnding::unbalanced : ScopeEnding::closed, visitor);
    }
  }

  /// Ends all open scopes at this time.
  template <typename Visitor>
  void finish(std::int64_t end_ns, Visitor& visitor) {
    end_down_to(0, end_ns, ScopeEnding::open, visitor);
  }

  /// Number of open scopes.
  [[nodiscard]] std::size_t depth() const { return open_.size(); }

 private:
  template <typename Visitor>
  void open(const OpenScope& scope, Visitor& visitor) {
    visitor.begin(scope, open_.size());
    open_.push_back(scope);
  }

  template <typename Visitor>
  void end_down_to(std::size_t stays, std::int64_t end_ns, ScopeEnding how, Visitor& visitor) {
    while (open_.size() > stays) {
      const OpenScope scope = open_.back();
      open_.pop_back();
      visitor.end(scope, open_.size(), std::max(end_ns, scope.start_ns), how);
    }
  }

  std::vector<OpenScope> open_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace kymo::capture
