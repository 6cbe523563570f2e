// From opens and closes to spans: what everybody who reads scope events needs, once.
//
// A close of depth d ends the scope of depth d and every deeper one. What such a close ended besides its own scope did
// not close itself (an exception, a longjmp, a missing exit hook) and is marked unbalanced; so is what the recorder
// closed when a thread ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// A scope that has ended.
struct ScopeSpan {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< never negative
  std::int64_t self_ns = 0;      ///< the duration less those of the scopes directly inside; never negative
  SiteId site = 0;
  std::uint32_t close_event = 0;  ///< the event of the run that ended it; its arguments have positions up to this
  std::uint16_t depth = 0;
  std::uint16_t flags = 0;

  /// It did not close itself: the close of an outer scope or the end of its thread ended it.
  static constexpr std::uint16_t unbalanced = 1;
  /// It was open when the run began.
  static constexpr std::uint16_t started_before = 2;
  /// Scopes inside it ended before the first event seen, so self_ns is too large by an unknown amount.
  static constexpr std::uint16_t self_is_bound = 4;
};

/// The scopes that are open on one track. Holds 48 bytes a level of the deepest nesting seen.
class ScopeStack {
 public:
  ScopeStack() = default;
  ScopeStack(ScopeStack&&) noexcept = default;
  ScopeStack& operator=(ScopeStack&&) noexcept = default;
  ScopeStack(const ScopeStack&) = delete;
  ScopeStack& operator=(const ScopeStack&) = delete;
  ~ScopeStack() = default;

  /// An open scope; inner_ns is what the scopes directly inside that have ended took so far.
  struct Level {
    std::int64_t start_ns = 0;
    std::uint64_t inner_ns = 0;
    SiteId site = 0;
    std::uint16_t flags = 0;  ///< those of the span it will be
  };

  /// Scopes open now.
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// The open scope of a depth below depth(); 0 is the outermost.
  [[nodiscard]] Level operator[](std::size_t depth) const {
    const ScopeEvent& open = *opens_[depth];
    return {open.time_ns, levels_[depth + 1].inner_ns(), open.site, open.flags};
  }
  /// The event that opened the open scope of a depth below depth().
  [[nodiscard]] const ScopeEvent& opening(std::size_t depth) const { return *opens_[depth]; }
  /// What the scopes of this depth that have ended took, in all, modulo 2^64. depth <= 16, or <= depth().
  [[nodiscard]] std::uint64_t ended_ns(std::size_t depth) const { return levels_[depth].ended_ns; }
  /// The site of the scope of this depth that ended last; 0: none has.
  [[nodiscard]] SiteId last_ended(std::size_t depth) const { return levels_[depth].last_ended; }

  /// Opens a scope inside the innermost one with what is known of it; next_sequence: reading goes on with this number.
  void restore(const Level& open, std::uint64_t next_sequence) {
    next_sequence_ = next_sequence;
    if (depth_ < deepest) {
      keep(open);
      point_to_kept();
    }
  }

  /// Makes the stack that of a run's start: scopes that it holds already keep what is known of them, others are taken
  /// over without the times of what ended inside them. The run must stay until end().
  void begin(const ScopeRun& run);

  /// Takes the run's events from the first to before the last, which follow those taken before, and calls
  /// on_span(const ScopeSpan&) for each scope that ends in them, in the order they end.
  template <typename OnSpan>
  void take(const ScopeRun& run, std::size_t first, std::size_t last, OnSpan&& on_span);

  /// The run may go: copies the opening events of what is open.
  void end();

  /// The sequence number after the last event taken.
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  /// Closes that had nothing to close so far: more than 0 only in damaged input.
  [[nodiscard]] std::uint64_t ignored_closes() const { return ignored_closes_; }

 private:
  static constexpr std::size_t deepest = 65535;

  /// What has ended on one depth.
  struct EndedLevel {
    std::uint64_t ended_ns = 0;   ///< the durations of all that ended here
    std::uint64_t passed_ns = 0;  ///< the part of it that belongs to scopes outside of it that have ended
    SiteId last_ended = 0;

    /// The part of it that ended within the scope that is open outside of it.
    [[nodiscard]] std::uint64_t inner_ns() const { return ended_ns - passed_ns; }
  };

  void keep(const Level& level) {
    reserve(1);
    kept_.resize(opens_.size());
    kept_[depth_] = {level.start_ns, level.site, static_cast<std::uint16_t>(depth_), level.flags};
    ++depth_;
    levels_[depth_].passed_ns = levels_[depth_].ended_ns - level.inner_ns;
    levels_[depth_ + 1].passed_ns = levels_[depth_ + 1].ended_ns;
  }

  void point_to_kept() {
    for (std::size_t depth = 0; depth < depth_; ++depth) {
      opens_[depth] = &kept_[depth];
    }
  }

  /// Room for so many scopes more and one place beyond them.
  void reserve(std::size_t more) {
    if (opens_.size() < depth_ + more + 1) {
      opens_.resize(2 * (depth_ + more) + 1);
      levels_.resize(opens_.size() + 1);
    }
  }

  /// The span of a scope of this depth; counts it as ended. levels is levels_.
  [[nodiscard]] static ScopeSpan end_scope(const ScopeEvent& open, const ScopeEvent& close, std::size_t depth,
                                           std::size_t number, EndedLevel* levels) {
    // Unsigned arithmetic: times of damaged captures may be any distance apart.
    const std::uint64_t elapsed = static_cast<std::uint64_t>(close.time_ns) - static_cast<std::uint64_t>(open.time_ns);
    ScopeSpan span;
    span.start_ns = open.time_ns;
    span.duration_ns = static_cast<std::int64_t>(elapsed);
    if (close.time_ns < open.time_ns || span.duration_ns < 0) [[unlikely]] {
      span.duration_ns = close.time_ns < open.time_ns ? 0 : std::numeric_limits<std::int64_t>::max();
    }
    EndedLevel& inner = levels[depth + 1];
    const auto self = static_cast<std::int64_t>(static_cast<std::uint64_t>(span.duration_ns) - inner.inner_ns());
    span.self_ns = self < 0 ? 0 : self;
    span.site = open.site;
    span.close_event = static_cast<std::uint32_t>(number);
    span.depth = static_cast<std::uint16_t>(depth);
    span.flags = static_cast<std::uint16_t>(open.flags | (close.flags & ScopeEvent::forced));
    inner.passed_ns = inner.ended_ns;
    levels[depth].ended_ns += static_cast<std::uint64_t>(span.duration_ns);
    levels[depth].last_ended = open.site;
    return span;
  }

  template <typename OnSpan>
  void end_innermost(const ScopeEvent& close, std::size_t number, unsigned flags, OnSpan&& on_span) {
    --depth_;
    ScopeSpan span = end_scope(*opens_[depth_], close, depth_, number, levels_.data());
    span.flags = static_cast<std::uint16_t>(span.flags | flags);
    on_span(static_cast<const ScopeSpan&>(span));
  }

  /// Takes any event: one that ends more than its own scope, or one that fits nothing.
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
    } else if (depth_ < deepest) {
      reserve(1);
      opens_[depth_++] = &event;
    }
  }

  // opens_ points, by depth and with a place beyond the innermost, to the opening events of the open scopes: events of
  // the current run or, for what was open when it began and between runs, those in kept_.
  std::vector<ScopeEvent> kept_ = std::vector<ScopeEvent>(16);
  std::vector<const ScopeEvent*> opens_ = std::vector<const ScopeEvent*>(16);
  std::vector<EndedLevel> levels_ = std::vector<EndedLevel>(17);
  std::size_t depth_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t ignored_closes_ = 0;
};

inline void ScopeStack::begin(const ScopeRun& run) {
  const unsigned gap = run.first_sequence == next_sequence_ ? 0U : unsigned{ScopeSpan::self_is_bound};
  next_sequence_ = run.end_sequence;
  const std::size_t known = depth_ < run.open_at_start.size() ? depth_ : run.open_at_start.size();
  std::size_t same = 0;
  for (; same < known; ++same) {
    ScopeEvent& open = kept_[same];
    if (open.site != run.open_at_start[same].site || open.time_ns != run.open_at_start[same].start_ns) {
      break;
    }
    open.flags = static_cast<std::uint16_t>(open.flags | ScopeSpan::started_before | gap);
  }
  for (; depth_ > same; --depth_) {
    // What has gone without an end takes its inner time with it.
    levels_[depth_].passed_ns = levels_[depth_].ended_ns;
  }
  while (depth_ < run.open_at_start.size() && depth_ < deepest) {
    const OpenScope& open = run.open_at_start[depth_];
    keep({open.start_ns, 0, open.site, ScopeSpan::started_before | ScopeSpan::self_is_bound});
  }
  point_to_kept();
}

inline void ScopeStack::end() {
  std::size_t from_before = 0;
  while (from_before < depth_ && opens_[from_before] == &kept_[from_before]) {
    ++from_before;
  }
  kept_.resize(opens_.size());
  for (std::size_t depth = from_before; depth < depth_; ++depth) {
    kept_[depth] = *opens_[depth];
    kept_[depth].flags = 0;
  }
  point_to_kept();
}

template <typename OnSpan>
void ScopeStack::take(const ScopeRun& run, std::size_t first, std::size_t last, OnSpan&& on_span) {
  static_assert(ScopeEvent::forced == ScopeSpan::unbalanced, "a forced close is an unbalanced span's flag");
  const ScopeEvent* const events = run.events.data();
  while (first != last) {
    const std::size_t stop = last - first < 256 ? last : first + 256;
    reserve(256);
    const ScopeEvent** const opens = opens_.data();
    EndedLevel* const levels = levels_.data();
    std::size_t depth = depth_;
    for (; first != stop; ++first) {
      const ScopeEvent& event = events[first];
      if (event.is_open()) {
        if (event.depth != depth) [[unlikely]] {
          break;
        }
        opens[depth++] = &event;
      } else {
        if (std::size_t{event.depth} + 1 != depth) [[unlikely]] {
          break;
        }
        --depth;
        on_span(static_cast<const ScopeSpan&>(end_scope(*opens[depth], event, depth, first, levels)));
      }
    }
    depth_ = depth;
    if (first != stop) {
      take_odd(events[first], first, on_span);
      ++first;
    }
  }
}

/// Calls on_span(const ScopeSpan&) for each scope that ends in a run, in the order they end, and leaves in the stack
/// what is open after it. The stack must be that of the run's track; a fresh one where reading begins with this run.
///
/// Any input is taken: a close with nothing to close is ignored (ScopeStack::ignored_closes), an open that comes too
/// shallow ends what is deeper, one that comes too deep opens inside the innermost scope. Costs about 2 ns an event.
template <typename OnSpan>
void match(const ScopeRun& run, ScopeStack& stack, OnSpan&& on_span) {
  stack.begin(run);
  stack.take(run, 0, run.events.size(), on_span);
  stack.end();
}

}  // namespace kymo::capture
