// Matches opens and closes to spans, for every reader of scope events.
//
// A close of depth d ends the scope of depth d and every deeper one. The deeper ones did not close themselves (an
// exception, a longjmp, a missing exit hook) and are marked unbalanced. So are scopes closed by the recorder at a
// thread's end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Scopes nest no deeper: one that opens inside so many others is ignored.
inline constexpr std::size_t deepest_scope = 65'535;

/// How many of a track's open scopes, from the outermost on, are open at a run's start as well. The others ended in a
/// missing part. `open`: the open scopes by depth, each with `site` and `start_ns`.
template <typename OpenScopes>
[[nodiscard]] std::size_t count_kept(const OpenScopes& open, std::size_t depth, const ScopeRun& run) {
  const std::size_t most = std::min(depth, run.open_at_start.size());
  std::size_t kept = 0;
  while (kept < most && open[kept].site == run.open_at_start[kept].site &&
         open[kept].start_ns == run.open_at_start[kept].start_ns) {
    ++kept;
  }
  return kept;
}

/// An ended scope.
struct ScopeSpan {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< never negative
  std::int64_t self_ns = 0;      ///< the duration minus those of the scopes directly inside; never negative
  SiteId site = 0;
  std::uint32_t close_event = 0;  ///< the event of the run that ended it; its arguments have positions up to this
  std::uint16_t depth = 0;
  std::uint16_t flags = 0;

  // Numbered as those of kymo::Span.
  /// It did not close itself: an outer scope's close or its thread's end ended it.
  static constexpr std::uint16_t unbalanced = 1;
  /// Inner scopes ended before the first event seen, so self_ns is too large by an unknown amount.
  static constexpr std::uint16_t self_is_bound = 16;
  /// It was open when the run began. No flag of a kymo::Span.
  static constexpr std::uint16_t started_before = 256;
};

/// The open scopes of one track. Takes 40 bytes per level of the deepest nesting seen.
class ScopeStack {
 public:
  ScopeStack() = default;
  ScopeStack(ScopeStack&&) noexcept = default;
  ScopeStack& operator=(ScopeStack&&) noexcept = default;
  ScopeStack(const ScopeStack&) = delete;
  ScopeStack& operator=(const ScopeStack&) = delete;
  ~ScopeStack() = default;

  /// An open scope; inner_ns is the time so far of ended scopes directly inside.
  struct Level {
    std::int64_t start_ns = 0;
    std::uint64_t inner_ns = 0;
    SiteId site = 0;
    std::uint16_t flags = 0;  ///< flags of its future span
  };

  /// The common case: shorter than 4.29 s, opened after the stack began, closed normally.
  struct PlainScope {
    SiteId site = 0;
    std::uint32_t duration_ns = 0;
    std::uint32_t self_ns = 0;
  };

  /// Number of open scopes.
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// The open scope at a depth below depth(); 0 is the outermost.
  [[nodiscard]] Level operator[](std::size_t depth) const {
    const Place& place = places_[depth];
    return {place.start_ns, places_[depth + 1].ended_ns - place.ended_inside_ns, place.site,
            static_cast<std::uint16_t>(place.flags)};
  }
  /// Total time of this depth's ended scopes, modulo 2^64. depth <= 16, or <= depth().
  [[nodiscard]] std::uint64_t ended_ns(std::size_t depth) const { return places_[depth].ended_ns; }
  /// The site of this depth's last ended scope; 0: none.
  [[nodiscard]] SiteId last_ended(std::size_t depth) const { return places_[depth].last_ended; }

  /// Opens a scope with known data inside the innermost one. next_sequence: reading continues with this number.
  void restore(const Level& open, std::uint64_t next_sequence) {
    next_sequence_ = next_sequence;
    push(open);
  }

  /// Sets the stack to a run's start. Scopes already on it keep their data; others are added without the times of
  /// scopes that ended inside them.
  void begin(const ScopeRun& run);

  /// Takes the run's events from `first` to before `last`, which follow those taken before. Calls on_span(const
  /// ScopeSpan&) for each scope that ends, in order of ending.
  template <typename OnSpan>
  void take(const ScopeRun& run, std::size_t first, std::size_t last, OnSpan&& on_span);

  /// The same up to the first event that does not open or end a plain scope: calls on_scope(const PlainScope&) and
  /// returns that event's index. Takes half the time, and less for scopes without inner ones.
  template <typename OnScope>
  [[nodiscard]] std::size_t take_plain(const ScopeRun& run, std::size_t first, std::size_t last, OnScope&& on_scope);

  /// The sequence number after the last event taken.
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  /// Closes without an open scope so far; more than 0 only in damaged input.
  [[nodiscard]] std::uint64_t ignored_closes() const { return ignored_closes_; }

 private:
  /// Limit of events taken one by one before pairs are tried again. Odd, or every try would begin at a close.
  static constexpr std::size_t at_once = 63;

  /// A depth: its open scope, if any, and the totals of ended ones.
  struct Place {
    std::int64_t start_ns = 0;
    std::uint64_t ended_inside_ns = 0;  ///< total of the next deeper level when it opened
    std::uint64_t ended_ns = 0;         ///< total duration of all scopes ended here
    SiteId last_ended = 0;
    SiteId site = 0;
    std::uint32_t flags = 0;
  };

  void push(const Level& level) {
    if (depth_ < deepest_scope) {
      reserve(1);
      Place& place = places_[depth_++];
      place.start_ns = level.start_ns;
      place.ended_inside_ns = places_[depth_].ended_ns - level.inner_ns;
      place.site = level.site;
      place.flags = level.flags;
    }
  }

  /// Makes room for so many more scopes and one place beyond them.
  void reserve(std::size_t more) {
    if (places_.size() < depth_ + more + 2) {
      places_.resize(2 * (depth_ + more + 2));
    }
  }

  /// Ends the open scope at a depth and returns its span. places is places_.
  [[nodiscard]] static ScopeSpan end_scope(const ScopeEvent& close, std::size_t depth, std::size_t number,
                                           Place* places) {
    Place& place = places[depth];
    // Unsigned arithmetic: times of damaged captures may be arbitrarily far apart.
    const std::uint64_t elapsed =
        static_cast<std::uint64_t>(close.time_ns) - static_cast<std::uint64_t>(place.start_ns);
    ScopeSpan span;
    span.start_ns = place.start_ns;
    span.duration_ns = static_cast<std::int64_t>(elapsed);
    if (close.time_ns < place.start_ns || span.duration_ns < 0) [[unlikely]] {
      span.duration_ns = close.time_ns < place.start_ns ? 0 : std::numeric_limits<std::int64_t>::max();
    }
    const std::uint64_t inner_ns = places[depth + 1].ended_ns - place.ended_inside_ns;
    const auto self = static_cast<std::int64_t>(static_cast<std::uint64_t>(span.duration_ns) - inner_ns);
    span.self_ns = self < 0 ? 0 : self;
    span.site = place.site;
    span.close_event = static_cast<std::uint32_t>(number);
    span.depth = static_cast<std::uint16_t>(depth);
    span.flags = static_cast<std::uint16_t>(place.flags | (close.flags & ScopeEvent::forced));
    place.ended_ns += static_cast<std::uint64_t>(span.duration_ns);
    place.last_ended = place.site;
    return span;
  }

  template <typename OnSpan>
  void end_innermost(const ScopeEvent& close, std::size_t number, unsigned flags, OnSpan&& on_span) {
    --depth_;
    ScopeSpan span = end_scope(close, depth_, number, places_.data());
    span.flags = static_cast<std::uint16_t>(span.flags | flags);
    on_span(static_cast<const ScopeSpan&>(span));
  }

  /// Takes any event: also one that ends several scopes or matches nothing.
  template <typename OnSpan>
  void take_odd(const ScopeEvent& event, std::size_t number, OnSpan&& on_span) {
    if (!event.is_open() && event.depth >= depth_) {
      ++ignored_closes_;
      return;
    }
    const std::size_t stays = std::size_t{event.depth} + (event.is_open() ? 0 : 1);
    while (depth_ > stays) {
      end_innermost(event, number, ScopeSpan::unbalanced, on_span);
    }
    if (!event.is_open()) {
      end_innermost(event, number, 0, on_span);
    } else {
      push({event.time_ns, 0, event.site, 0});
    }
  }

  template <typename OnScope>
  std::size_t take_leaves(const ScopeEvent* events, std::size_t first, std::size_t last, OnScope&& on_scope);
  template <typename OnScope>
  std::size_t take_each(const ScopeEvent* events, std::size_t first, std::size_t last, OnScope&& on_scope);

  std::vector<Place> places_ = std::vector<Place>(18);  // by depth, with one beyond the innermost
  std::size_t depth_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t ignored_closes_ = 0;
};

inline void ScopeStack::begin(const ScopeRun& run) {
  const unsigned gap = run.first_sequence == next_sequence_ ? 0U : unsigned{ScopeSpan::self_is_bound};
  next_sequence_ = run.end_sequence;
  depth_ = count_kept(places_, depth_, run);
  for (std::size_t depth = 0; depth < depth_; ++depth) {
    places_[depth].flags |= ScopeSpan::started_before | gap;
  }
  while (depth_ < run.open_at_start.size() && depth_ < deepest_scope) {
    const OpenScope& open = run.open_at_start[depth_];
    push({open.start_ns, 0, open.site, ScopeSpan::started_before | ScopeSpan::self_is_bound});
  }
}

template <typename OnSpan>
void ScopeStack::take(const ScopeRun& run, std::size_t first, std::size_t last, OnSpan&& on_span) {
  static_assert(ScopeEvent::forced == ScopeSpan::unbalanced, "a forced close is an unbalanced span's flag");
  const ScopeEvent* const events = run.events.data();
  while (first != last) {
    const std::size_t stop = last - first < 256 ? last : first + 256;
    reserve(256);
    Place* const places = places_.data();
    std::size_t depth = depth_;
    for (; first != stop; ++first) {
      const ScopeEvent& event = events[first];
      if (event.is_open()) {
        if (event.depth != depth) [[unlikely]] {
          break;
        }
        Place& place = places[depth++];
        place.start_ns = event.time_ns;
        place.ended_inside_ns = places[depth].ended_ns;
        place.site = event.site;
        place.flags = 0;
      } else {
        if (std::size_t{event.depth} + 1 != depth) [[unlikely]] {
          break;
        }
        --depth;
        on_span(static_cast<const ScopeSpan&>(end_scope(event, depth, first, places)));
      }
    }
    depth_ = depth;
    if (first != stop) {
      take_odd(events[first], first, on_span);
      ++first;
    }
  }
}

/// An event without its time: the site, the depth from bit 32 on, the flags from bit 48 on.
inline std::uint64_t place_of(const ScopeEvent& event) {
  static_assert(offsetof(ScopeEvent, site) == 8 && offsetof(ScopeEvent, depth) == 12 && sizeof(ScopeEvent) == 16 &&
                __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  std::uint64_t place = 0;
  std::memcpy(&place, &event.site, sizeof place);
  return place;
}

/// Takes pairs of an open and its close.
template <typename OnScope>
std::size_t ScopeStack::take_leaves(const ScopeEvent* events, std::size_t first, std::size_t last, OnScope&& on_scope) {
  Place& here = places_[depth_];
  const std::uint64_t depth = std::uint64_t{depth_} << 32U;
  std::uint64_t ended_ns = here.ended_ns;
  std::uint64_t last_ended = here.last_ended;
  for (; last - first >= 2; first += 2) {
    const std::uint64_t site = place_of(events[first]) ^ depth;
    const std::uint64_t elapsed =
        static_cast<std::uint64_t>(events[first + 1].time_ns) - static_cast<std::uint64_t>(events[first].time_ns);
    if (site - 1 >= std::numeric_limits<SiteId>::max() || place_of(events[first + 1]) != depth ||
        (elapsed >> 32U) != 0) {
      break;
    }
    ended_ns += elapsed;
    last_ended = site;
    const auto duration_ns = static_cast<std::uint32_t>(elapsed);
    on_scope(PlainScope{static_cast<SiteId>(site), duration_ns, duration_ns});
  }
  here.ended_ns = ended_ns;
  here.last_ended = static_cast<SiteId>(last_ended);
  return first;
}

/// Takes events one by one.
template <typename OnScope>
std::size_t ScopeStack::take_each(const ScopeEvent* events, std::size_t first, std::size_t last, OnScope&& on_scope) {
  reserve(last - first);
  Place* const places = places_.data();
  std::uint64_t depth = depth_;
  for (; first != last; ++first) {
    const auto time = static_cast<std::uint64_t>(events[first].time_ns);
    const std::uint64_t event = place_of(events[first]);
    if (const auto site = static_cast<SiteId>(event); site != 0) {
      if (event >> 32U != depth) [[unlikely]] {
        break;
      }
      Place& place = places[depth++];
      place.start_ns = static_cast<std::int64_t>(time);
      place.ended_inside_ns = places[depth].ended_ns;
      place.site = site;
      place.flags = 0;
    } else {
      const std::uint64_t own_depth = depth - 1;
      if (event >> 32U != own_depth) [[unlikely]] {
        break;
      }
      Place& place = places[own_depth];
      const std::uint64_t elapsed = time - static_cast<std::uint64_t>(place.start_ns);
      const std::uint64_t self = elapsed - (places[depth].ended_ns - place.ended_inside_ns);
      if ((((elapsed | self) >> 32U) | place.flags) != 0) [[unlikely]] {
        break;
      }
      depth = own_depth;
      place.ended_ns += elapsed;
      place.last_ended = place.site;
      on_scope(PlainScope{place.site, static_cast<std::uint32_t>(elapsed), static_cast<std::uint32_t>(self)});
    }
  }
  depth_ = static_cast<std::size_t>(depth);
  return first;
}

template <typename OnScope>
std::size_t ScopeStack::take_plain(const ScopeRun& run, std::size_t first, std::size_t last, OnScope&& on_scope) {
  const ScopeEvent* const events = run.events.data();
  for (std::size_t one_by_one = 1;;) {
    const std::size_t leaves_end = take_leaves(events, first, last, on_scope);
    one_by_one = leaves_end - first >= one_by_one ? 1 : std::min(2 * one_by_one + 1, at_once);
    const std::size_t stop = last - leaves_end < one_by_one ? last : leaves_end + one_by_one;
    first = take_each(events, leaves_end, stop, on_scope);
    if (first != stop || first == last) {
      return first;
    }
  }
}

/// Calls on_span(const ScopeSpan&) for each scope that ends in a run, in order of ending, and leaves the still open
/// scopes on the stack. The stack must be that of the run's track; a new one if reading begins with this run. About 2
/// ns per event.
///
/// Accepts any input:
/// - a close without an open scope is ignored (ScopeStack::ignored_closes),
/// - an open that is too shallow ends deeper scopes,
/// - an open that is too deep opens inside the innermost scope.
template <typename OnSpan>
void match(const ScopeRun& run, ScopeStack& stack, OnSpan&& on_span) {
  stack.begin(run);
  stack.take(run, 0, run.events.size(), on_span);
}

}  // namespace kymo::capture
