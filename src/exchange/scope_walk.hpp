// The scopes of one track as they begin and end, event by event: for formats that are written in that order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::exchange {

/// How a scope came to its end.
enum class ScopeEnding : std::uint8_t {
  closed,      ///< it closed itself
  unbalanced,  ///< the close of an outer scope or the end of its thread ended it
  lost,        ///< its end is in a part that is missing
  open,        ///< the capture ends first
};

/// Takes the runs of one track in order. Any input is taken, by the rules of capture::match; the times handed out never
/// go back behind the start of the scope that ends. Holds 16 bytes a level of what is open.
///
/// A visitor has
///   reach(position, event)          before each event of a run: all that came before `position` has been handed out
///   begin(scope, depth)             the scope has begun inside `depth` others
///   end(scope, depth, end_ns, how)  the innermost scope has ended
class ScopeWalk {
 public:
  template <typename Visitor>
  void take(const ScopeRun& run, Visitor& visitor) {
    adopt(run, visitor);
    for (std::size_t position = 0; position < run.events.size(); ++position) {
      const ScopeEvent& event = run.events[position];
      visitor.reach(position, event);
      last_ns_ = event.time_ns;
      if (event.is_open()) {
        end_down_to(event.depth, event.time_ns, ScopeEnding::unbalanced, visitor);
        if (open_.size() < deepest) {
          begin({event.time_ns, event.site}, visitor);
        }
      } else if (event.depth < open_.size()) {
        end_down_to(std::size_t{event.depth} + 1, event.time_ns, ScopeEnding::unbalanced, visitor);
        const bool is_forced = (event.flags & ScopeEvent::forced) != 0;
        end_down_to(event.depth, event.time_ns, is_forced ? ScopeEnding::unbalanced : ScopeEnding::closed, visitor);
      }
    }
  }

  /// Ends all that is open at this time.
  template <typename Visitor>
  void finish(std::int64_t end_ns, Visitor& visitor) {
    end_down_to(0, end_ns, ScopeEnding::open, visitor);
  }

  /// Scopes open now.
  [[nodiscard]] std::size_t depth() const { return open_.size(); }

 private:
  static constexpr std::size_t deepest = 65535;

  /// Makes what is open that of a run's start: what it does not name any more has ended unseen.
  template <typename Visitor>
  void adopt(const ScopeRun& run, Visitor& visitor) {
    std::size_t same = 0;
    while (same < open_.size() && same < run.open_at_start.size() && open_[same].site == run.open_at_start[same].site &&
           open_[same].start_ns == run.open_at_start[same].start_ns) {
      ++same;
    }
    end_down_to(same, last_ns_, ScopeEnding::lost, visitor);
    for (; same < run.open_at_start.size() && same < deepest; ++same) {
      begin(run.open_at_start[same], visitor);
      last_ns_ = std::max(last_ns_, run.open_at_start[same].start_ns);
    }
  }

  template <typename Visitor>
  void begin(const OpenScope& scope, Visitor& visitor) {
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
  std::int64_t last_ns_ = INT64_MIN;
};

}  // namespace kymo::exchange
