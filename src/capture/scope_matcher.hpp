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

/// The scopes that are open on one track, between two runs. Holds 32 bytes a level of the deepest nesting seen.
class ScopeStack {
 public:
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
    return {kept_[depth].time_ns, inner_ns_[depth + 1], kept_[depth].site, kept_[depth].flags};
  }

  /// Opens a scope inside the innermost one with what is known of it; next_sequence: reading goes on with this number.
  void restore(const Level& open, std::uint64_t next_sequence) {
    next_sequence_ = next_sequence;
    if (depth_ < deepest) {
      keep(open);
    }
  }

  /// The sequence number after the last event taken.
  [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
  /// Closes that had nothing to close so far: more than 0 only in damaged input.
  [[nodiscard]] std::uint64_t ignored_closes() const { return ignored_closes_; }

 private:
  template <typename OnSpan>
  friend void match(const ScopeRun& run, ScopeStack& stack, OnSpan&& on_span);

  static constexpr std::size_t deepest = 65535;

  /// Makes the stack that of a run's start: scopes that it holds already keep what is known of them, others are taken
  /// over without the times of what ended inside them.
  void begin(const ScopeRun& run) {
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
      inner_ns_[depth_] = 0;  // what has gone without an end takes its inner time with it
    }
    while (depth_ < run.open_at_start.size() && depth_ < deepest) {
      const OpenScope& open = run.open_at_start[depth_];
      keep({open.start_ns, 0, open.site, ScopeSpan::started_before | ScopeSpan::self_is_bound});
    }
    for (std::size_t depth = 0; depth < depth_; ++depth) {
      opens_[depth] = &kept_[depth];
    }
  }

  /// Copies the opening events of what is open, as the run that holds them may go.
  void end() {
    std::size_t from_before = 0;
    while (from_before < depth_ && opens_[from_before] == &kept_[from_before]) {
      ++from_before;
    }
    kept_.resize(opens_.size());
    for (std::size_t depth = from_before; depth < depth_; ++depth) {
      kept_[depth] = *opens_[depth];
      kept_[depth].flags = 0;
    }
  }

  void keep(const Level& level) {
    reserve(1);
    kept_.resize(opens_.size());
    kept_[depth_] = {level.start_ns, level.site, static_cast<std::uint16_t>(depth_), level.flags};
    inner_ns_[depth_ + 1] = level.inner_ns;
    inner_ns_[++depth_ + 1] = 0;
  }

  /// Room for so many scopes more and one place beyond them.
  void reserve(std::size_t more) {
    if (opens_.size() < depth_ + more + 1) {
      opens_.resize(2 * (depth_ + more) + 1);
      inner_ns_.resize(opens_.size() + 1);
    }
  }

  /// The span of a scope of this depth; adds its duration to its parent's inner time. inner_ns is inner_ns_.
  [[nodiscard]] static ScopeSpan end_scope(const ScopeEvent& open, const ScopeEvent& close, std::size_t depth,
                                           std::size_t number, std::uint64_t* inner_ns) {
    // Unsigned arithmetic: times of damaged captures may be any distance apart.
    const std::uint64_t elapsed = static_cast<std::uint64_t>(close.time_ns) - static_cast<std::uint64_t>(open.time_ns);
    ScopeSpan span;
    span.start_ns = open.time_ns;
    span.duration_ns = static_cast<std::int64_t>(elapsed);
    if (close.time_ns < open.time_ns || span.duration_ns < 0) [[unlikely]] {
      span.duration_ns = close.time_ns < open.time_ns ? 0 : std::numeric_limits<std::int64_t>::max();
    }
    const auto self = static_cast<std::int64_t>(static_cast<std::uint64_t>(span.duration_ns) - inner_ns[depth + 1]);
    span.self_ns = self < 0 ? 0 : self;
    span.site = open.site;
    span.close_event = static_cast<std::uint32_t>(number);
    span.depth = static_cast<std::uint16_t>(depth);
    span.flags = static_cast<std::uint16_t>(open.flags | (close.flags & ScopeEvent::forced));
    inner_ns[depth + 1] = 0;
    inner_ns[depth] += static_cast<std::uint64_t>(span.duration_ns);
    return span;
  }

  template <typename OnSpan>
  void end_innermost(const ScopeEvent& close, std::size_t number, unsigned flags, OnSpan&& on_span) {
    --depth_;
    ScopeSpan span = end_scope(*opens_[depth_], close, depth_, number, inner_ns_.data());
    span.flags = static_cast<std::uint16_t>(span.flags | flags);
    on_span(static_cast<const ScopeSpan&>(span));
  }

  /// Takes any event: one that ends more than its own scope, or one that fits nothing.
  template <typename OnSpan>
  void take(const ScopeEvent& event, std::size_t number, OnSpan&& on_span) {
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
  // the current run or, for what was open when it began, those in kept_. What ended directly inside the scope of depth
  // d took inner_ns_[d + 1] so far; inner_ns_[0] stands for outside of all, so that every scope has a parent.
  std::vector<ScopeEvent> kept_ = std::vector<ScopeEvent>(16);
  std::vector<const ScopeEvent*> opens_ = std::vector<const ScopeEvent*>(16);
  std::vector<std::uint64_t> inner_ns_ = std::vector<std::uint64_t>(17);
  std::size_t depth_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t ignored_closes_ = 0;
};

/// Calls on_span(const ScopeSpan&) for each scope that ends in a run, in the order they end, and leaves in the stack
/// what is open after it. The stack must be that of the run's track; a fresh one where reading begins with this run.
///
/// Any input is taken: a close with nothing to close is ignored (ScopeStack::ignored_closes), an open that comes too
/// shallow ends what is deeper, one that comes too deep opens inside the innermost scope. Costs about 2 ns an event.
template <typename OnSpan>
void match(const ScopeRun& run, ScopeStack& stack, OnSpan&& on_span) {
  static_assert(ScopeEvent::forced == ScopeSpan::unbalanced, "a forced close is an unbalanced span's flag");
  // Whether the next event opens or closes is hard to foretell, so the first pass takes each event as both without a
  // branch: it notes an ended scope, which counts only where it was a close, and an open one, which matters only where
  // it was an open. The second pass sees nothing but ends.
  constexpr std::size_t stretch = 256;
  std::array<const ScopeEvent*, stretch> ended_opens;
  std::array<const ScopeEvent*, stretch> ended_closes;
  stack.begin(run);
  const ScopeEvent* const first = run.events.data();
  const ScopeEvent* const last = first + run.events.size();
  const ScopeEvent* event = first;
  while (event != last) {
    const ScopeEvent* const end = last - event < std::ptrdiff_t{stretch} ? last : event + stretch;
    stack.reserve(stretch);
    const ScopeEvent** const opens = stack.opens_.data();
    std::size_t depth = stack.depth_;
    std::size_t ended = 0;
    for (; event != end; ++event) {
      const std::size_t closes = event->is_open() ? 0 : 1;
      const std::size_t own = depth - closes;
      if (event->depth != own) [[unlikely]] {
        break;
      }
      ended_opens[ended] = opens[own];
      ended_closes[ended] = event;
      ended += closes;
      opens[own] = event;
      depth = own + 1 - closes;
    }
    stack.depth_ = depth;
    std::uint64_t* const inner_ns = stack.inner_ns_.data();
    for (std::size_t i = 0; i < ended; ++i) {
      const ScopeEvent& close = *ended_closes[i];
      on_span(static_cast<const ScopeSpan&>(ScopeStack::end_scope(*ended_opens[i], close, close.depth,
                                                                  static_cast<std::size_t>(&close - first), inner_ns)));
    }
    if (event != end) {
      stack.take(*event, static_cast<std::size_t>(event - first), on_span);
      ++event;
    }
  }
  stack.end();
}

}  // namespace kymo::capture
