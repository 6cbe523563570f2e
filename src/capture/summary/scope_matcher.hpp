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
#include <utility>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Scopes nest no deeper: one that opens inside so many others is ignored.
inline constexpr std::size_t deepest_scope = 65'535;

/// Before all times.
inline constexpr std::int64_t always_ns = std::numeric_limits<std::int64_t>::min();

/// How many of a track's open scopes, from the outermost on, are open at a run's start as well. The others ended in a
/// missing part. `open`: the open scopes by depth, each with `site` and `start_ns`, which is at least `least_ns`.
template <typename OpenScopes>
[[nodiscard]] std::size_t count_kept(const OpenScopes& open, std::size_t depth, const ScopeRun& run,
                                     std::int64_t least_ns = always_ns) {
  const std::size_t most = std::min(depth, run.open_at_start.size());
  std::size_t kept = 0;
  while (kept < most && open[kept].site == run.open_at_start[kept].site &&
         open[kept].start_ns == std::max(run.open_at_start[kept].start_ns, least_ns)) {
    ++kept;
  }
  return kept;
}

/// An ended scope of a run. Not a kymo::Span: the reading path makes one per scope, and its visitors know the track and
/// find arguments by `close_event`.
struct ScopeSpan {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< never negative
  std::int64_t self_ns = 0;      ///< the duration minus those of the scopes directly inside; never negative
  SiteId site;
  std::uint32_t close_event = 0;  ///< the event of the run that ended it; its arguments have positions up to this
  std::uint16_t depth = 0;
  std::uint16_t flags = 0;

  // Numbered as those of kymo::Span.
  /// It did not close itself: an outer scope's close or its thread's end ended it.
  static constexpr std::uint16_t unbalanced = 1;
  /// Scopes inside it are not known: they ended before the first event seen, or its thread dropped some in this run. So
  /// self_ns may be too large by an unknown amount.
  static constexpr std::uint16_t self_is_bound = 16;
  /// It was open when the run began. No flag of a kymo::Span.
  static constexpr std::uint16_t started_before = 256;
};

/// The open scopes of one track. Takes 48 bytes per level of the deepest nesting seen.
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
    SiteId site;
    std::uint16_t flags = 0;  ///< flags of its future span
  };

  /// The common case: shorter than 4.29 s, opened after the stack began, closed normally.
  struct PlainScope {
    SiteId site;
    std::uint32_t duration_ns = 0;
    std::uint32_t self_ns = 0;
  };

  /// Number of open scopes.
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// The open scope at a depth below depth(); 0 is the outermost.
  [[nodiscard]] Level operator[](std::size_t depth) const {
    const Opened& open = opens_[depth];
    return {open.start_ns, ended_[depth + 1].total_ns - ended_[depth + 1].counted_ns, open.site,
            static_cast<std::uint16_t>(open.flags | loss_)};
  }
  /// Total time of this depth's ended scopes, modulo 2^64. depth <= 16, or <= depth().
  [[nodiscard]] std::uint64_t ended_ns(std::size_t depth) const { return ended_[depth].total_ns; }
  /// The site of this depth's last ended scope; 0: none.
  [[nodiscard]] SiteId last_ended(std::size_t depth) const { return ended_[depth].last; }

  /// Says how many scopes the track dropped before the next run. Otherwise that is known where it begins.
  void set_dropped(std::uint64_t scopes) {
    dropped_scopes_ = scopes;
    knows_drops_ = true;
  }
  /// Takes over a track whose earlier runs are not taken: reading continues with this number.
  void resume(std::uint64_t next_sequence) {
    next_sequence_ = next_sequence;
    has_begun_ = true;
  }
  /// Opens a scope of such a track inside the innermost one.
  void restore(const Level& open) {
    // If the scope began before the capture, its start is the time from which it counts.
    least_ns_ = depth_ == 0 ? open.start_ns : least_ns_;
    push(open);
  }

  /// Sets the stack to a run's start. Scopes already on it keep their data; others are added without the times of
  /// scopes that ended inside them. Those that were open before the track's first run begin at `first_ns`, if that is
  /// later: who adds up times passes the start of the run's block, so that only time within the capture counts. It is
  /// used in the first call, unless the stack was restored.
  void begin(const ScopeRun& run, std::int64_t first_ns = always_ns);

  /// How many of the open scopes are open at the start of the track's next run as well. The others ended in a missing
  /// part.
  [[nodiscard]] std::size_t count_kept(const ScopeRun& run) const {
    return capture::count_kept(opens_, depth_, run, least_ns_);
  }

  /// Takes the run's events from `first` to before `last`, which follow those taken before. Calls on_span(const
  /// ScopeSpan&) for each scope that ends, in order of ending.
  template <typename OnSpan>
  void take(const ScopeRun& run, std::size_t first, std::size_t last, OnSpan&& on_span);

  /// The same, but calls on_scope(const PlainScope&) for plain scopes. Takes half the time, and less for scopes without
  /// inner ones.
  template <typename OnScope, typename OnSpan>
  void take(const ScopeRun& run, std::size_t first, std::size_t last, OnScope&& on_scope, OnSpan&& on_span);

  /// The sequence number after the last event taken.
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }

 private:
  /// Limit of events taken one by one before pairs are tried again. Odd, or every try would begin at a close.
  static constexpr std::size_t at_once = 127;
  /// Events in pairs that are worth a try, whose end is a mispredicted branch.
  static constexpr std::size_t enough_in_pairs = 16;

  /// The open scope of a depth; laid out as its event.
  struct Opened {
    std::int64_t start_ns = 0;
    SiteId site;
    std::uint16_t depth = 0;
    std::uint16_t flags = 0;
  };

  /// Copies the event as a whole: parts would be read back at once, before they are one in the cache.
  static void open_by(const ScopeEvent& event, Opened& place) {
    static_assert(sizeof place == sizeof event && offsetof(Opened, flags) == offsetof(ScopeEvent, flags));
    std::memcpy(static_cast<void*>(&place), &event, sizeof event);
  }

  /// The ended scopes of a depth.
  struct Ended {
    std::uint64_t total_ns = 0;
    std::uint64_t counted_ns = 0;  ///< of the total: in scopes around them that have ended too
    SiteId last;
  };

  void push(const Level& level) {
    if (depth_ < deepest_scope) {
      reserve(1);
      opens_[depth_] = {level.start_ns, level.site, static_cast<std::uint16_t>(depth_), level.flags};
      ++depth_;
      ended_[depth_].counted_ns = ended_[depth_].total_ns - level.inner_ns;
    }
  }

  /// Makes room for so many more scopes and one place beyond them.
  void reserve(std::size_t more) {
    if (opens_.size() < depth_ + more + 2) {
      opens_.resize(2 * (depth_ + more + 2));
      ended_.resize(opens_.size());
    }
  }

  /// The span of a scope whose close is at close_ns. ended: ended_ at its depth.
  [[nodiscard]] static ScopeSpan end_scope(const Opened& open, std::int64_t close_ns, std::size_t number,
                                           Ended* ended) {
    // Unsigned arithmetic: times of damaged captures may be arbitrarily far apart.
    ScopeSpan span;
    span.start_ns = open.start_ns;
    span.duration_ns =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(close_ns) - static_cast<std::uint64_t>(open.start_ns));
    if (close_ns < open.start_ns || span.duration_ns < 0) [[unlikely]] {
      span.duration_ns = close_ns < open.start_ns ? 0 : std::numeric_limits<std::int64_t>::max();
    }
    const std::uint64_t inner_ns = ended[1].total_ns - ended[1].counted_ns;
    const auto self = static_cast<std::int64_t>(static_cast<std::uint64_t>(span.duration_ns) - inner_ns);
    span.self_ns = self < 0 ? 0 : self;
    span.site = open.site;
    span.close_event = static_cast<std::uint32_t>(number);
    span.depth = open.depth;
    span.flags = open.flags;
    ended[1].counted_ns = ended[1].total_ns;
    ended[0].total_ns += static_cast<std::uint64_t>(span.duration_ns);
    ended[0].last = open.site;
    return span;
  }

  /// Notes whether the run's thread dropped scopes, anywhere in it.
  void note_drops(const ScopeRun& run) {
    if (!std::exchange(knows_drops_, true) && run.first_sequence != 0) {
      dropped_scopes_ = run.dropped_scopes;
    }
    loss_ = run.dropped_scopes > dropped_scopes_ ? ScopeSpan::self_is_bound : std::uint16_t{0};
    dropped_scopes_ = std::max(dropped_scopes_, run.dropped_scopes);
  }

  template <typename OnSpan>
  void end_innermost(const ScopeEvent& close, std::size_t number, unsigned flags, OnSpan&& on_span) {
    --depth_;
    ScopeSpan span = end_scope(opens_[depth_], close.time_ns, number, &ended_[depth_]);
    span.flags = static_cast<std::uint16_t>(span.flags | (close.flags & ScopeEvent::forced) | flags | loss_);
    on_span(static_cast<const ScopeSpan&>(span));
  }

  /// Takes any event: also one that ends several scopes or matches nothing.
  template <typename OnSpan>
  void take_odd(const ScopeEvent& event, std::size_t number, OnSpan&& on_span) {
    if (!event.is_open() && event.depth >= depth_) {
      return;  // a close without an open scope
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
  template <typename OnScope, typename OnSpan>
  std::size_t take_each(const ScopeEvent* events, std::size_t first, std::size_t last, OnScope&& on_scope,
                        OnSpan&& on_span);

  // By depth, with one beyond the innermost.
  std::vector<Opened> opens_ = std::vector<Opened>(18);
  std::vector<Ended> ended_ = std::vector<Ended>(18);
  std::size_t depth_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::int64_t least_ns_ = always_ns;  // no scope begins earlier
  std::uint64_t dropped_scopes_ = 0;
  std::uint16_t loss_ = 0;  // flags of all spans of the run
  bool has_begun_ = false;
  bool knows_drops_ = false;
};

inline void ScopeStack::begin(const ScopeRun& run, std::int64_t first_ns) {
  const unsigned gap = (run.first_sequence == next_sequence_ ? 0U : unsigned{ScopeSpan::self_is_bound}) | loss_;
  note_drops(run);
  const bool is_first = !std::exchange(has_begun_, true);
  if (is_first) {
    least_ns_ = first_ns;
  }
  next_sequence_ = run.end_sequence;
  const std::size_t depth_before = std::exchange(depth_, count_kept(run));
  for (std::size_t depth = depth_ + 1; depth <= depth_before; ++depth) {
    ended_[depth].counted_ns = ended_[depth].total_ns;
  }
  for (std::size_t depth = 0; depth < depth_; ++depth) {
    opens_[depth].flags = static_cast<std::uint16_t>(opens_[depth].flags | ScopeSpan::started_before | gap);
  }
  while (depth_ < run.open_at_start.size() && depth_ < deepest_scope) {
    const OpenScope& open = run.open_at_start[depth_];
    // All is known of the time that counts if it begins with the first run.
    const unsigned bound = is_first && open.start_ns < least_ns_ ? 0U : unsigned{ScopeSpan::self_is_bound};
    push({std::max(open.start_ns, least_ns_), 0, open.site,
          static_cast<std::uint16_t>(ScopeSpan::started_before | bound)});
  }
}

template <typename OnSpan>
void ScopeStack::take(const ScopeRun& run, std::size_t first, std::size_t last, OnSpan&& on_span) {
  const ScopeEvent* const events = run.events.data();
  const std::uint16_t loss = loss_;
  while (first != last) {
    const std::size_t stop = last - first < 256 ? last : first + 256;
    reserve(256);
    Opened* const opens = opens_.data();
    Ended* const ended = ended_.data();
    std::size_t depth = depth_;
    for (; first != stop; ++first) {
      const ScopeEvent& event = events[first];
      if (event.flags != 0) [[unlikely]] {
        break;
      }
      if (event.is_open()) {
        if (event.depth != depth) [[unlikely]] {
          break;
        }
        open_by(event, opens[depth++]);
      } else {
        if (std::size_t{event.depth} + 1 != depth) [[unlikely]] {
          break;
        }
        --depth;
        ScopeSpan span = end_scope(opens[depth], event.time_ns, first, ended + depth);
        span.flags |= loss;
        on_span(static_cast<const ScopeSpan&>(span));
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
  Ended& here = ended_[depth_];
  const std::uint64_t depth = std::uint64_t{depth_} << 32U;
  std::uint64_t total_ns = here.total_ns;
  std::uint64_t last_ended = here.last.value();
  for (; last - first >= 2; first += 2) {
    const std::uint64_t site = place_of(events[first]) ^ depth;
    const std::uint64_t elapsed =
        static_cast<std::uint64_t>(events[first + 1].time_ns) - static_cast<std::uint64_t>(events[first].time_ns);
    if (site - 1 >= std::numeric_limits<std::uint32_t>::max() || place_of(events[first + 1]) != depth ||
        (elapsed >> 32U) != 0) {
      break;
    }
    total_ns += elapsed;
    last_ended = site;
    const auto duration_ns = static_cast<std::uint32_t>(elapsed);
    on_scope(PlainScope{SiteId{static_cast<std::uint32_t>(site)}, duration_ns, duration_ns});
  }
  here.total_ns = total_ns;
  here.last = SiteId{static_cast<std::uint32_t>(last_ended)};
  return first;
}

/// Takes at most at_once events, up to the first that does not open or end one scope normally. No branch depends on
/// whether an event opens or closes: in a random sequence, every third would be mispredicted.
template <typename OnScope, typename OnSpan>
std::size_t ScopeStack::take_each(const ScopeEvent* events, std::size_t first, std::size_t last, OnScope&& on_scope,
                                  OnSpan&& on_span) {
  struct Pair {
    Opened open;
    std::int64_t close_ns;
    std::size_t close_event;
  };
  // Not initialized: bytes, because an array of pairs would be.
  alignas(Pair) std::array<std::byte, (at_once + 1) * sizeof(Pair)> bytes;
  auto* const pairs = reinterpret_cast<Pair*>(bytes.data());
  std::size_t count = 0;
  reserve(last - first);
  Opened* const opens = opens_.data();
  std::uint64_t depth = depth_;
  for (; first != last; ++first) {
    const std::uint64_t event = place_of(events[first]);
    const std::uint64_t closes = static_cast<std::uint32_t>(event) == 0 ? 1 : 0;
    const std::uint64_t own_depth = depth - closes;
    if (event >> 32U != own_depth) [[unlikely]] {
      break;
    }
    // For an open this pair is overwritten by the next; a close leaves at its depth what no scope uses.
    Pair& pair = pairs[count];
    std::memcpy(static_cast<void*>(&pair.open), &opens[own_depth], sizeof pair.open);
    pair.close_ns = events[first].time_ns;
    pair.close_event = first;
    count += closes;
    open_by(events[first], opens[own_depth]);
    depth = own_depth + 1 - closes;
  }
  depth_ = static_cast<std::size_t>(depth);
  Ended* const ended = ended_.data();
  for (const Pair* pair = pairs; pair != pairs + count; ++pair) {
    Ended& here = ended[pair->open.depth];
    Ended& inside = ended[pair->open.depth + 1];
    const std::uint64_t elapsed =
        static_cast<std::uint64_t>(pair->close_ns) - static_cast<std::uint64_t>(pair->open.start_ns);
    const std::uint64_t self = elapsed - (inside.total_ns - inside.counted_ns);
    if ((((elapsed | self) >> 32U) | pair->open.flags) != 0) [[unlikely]] {
      on_span(static_cast<const ScopeSpan&>(end_scope(pair->open, pair->close_ns, pair->close_event, &here)));
      continue;
    }
    inside.counted_ns = inside.total_ns;
    here.total_ns += elapsed;
    here.last = pair->open.site;
    on_scope(PlainScope{pair->open.site, static_cast<std::uint32_t>(elapsed), static_cast<std::uint32_t>(self)});
  }
  return first;
}

template <typename OnScope, typename OnSpan>
void ScopeStack::take(const ScopeRun& run, std::size_t first, std::size_t last, OnScope&& on_scope, OnSpan&& on_span) {
  if (loss_ != 0) {
    take(run, first, last, on_span);
    return;
  }
  const ScopeEvent* const events = run.events.data();
  std::size_t one_by_one = 1;
  while (first != last) {
    const std::size_t leaves_end = take_leaves(events, first, last, on_scope);
    one_by_one =
        leaves_end - first >= std::min(one_by_one, enough_in_pairs) ? 1 : std::min(2 * one_by_one + 1, at_once);
    const std::size_t stop = last - leaves_end < one_by_one ? last : leaves_end + one_by_one;
    first = take_each(events, leaves_end, stop, on_scope, on_span);
    if (first != stop) {
      take_odd(events[first], first, on_span);
      ++first;
    }
  }
}

/// Calls on_span(const ScopeSpan&) for each scope that ends in a run, in order of ending, and leaves the still open
/// scopes on the stack. The stack must be that of the run's track; a new one if reading begins with this run.
/// `first_ns`: as of ScopeStack::begin. About 2 ns per event.
///
/// Accepts any input:
/// - a close without an open scope is ignored,
/// - an open that is too shallow ends deeper scopes,
/// - an open that is too deep opens inside the innermost scope.
template <typename OnSpan>
void match(const ScopeRun& run, ScopeStack& stack, OnSpan&& on_span, std::int64_t first_ns = always_ns) {
  stack.begin(run, first_ns);
  stack.take(run, 0, run.events.size(), on_span);
}

}  // namespace kymo::capture
