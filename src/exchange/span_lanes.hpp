// Where spans that may overlap can be drawn: peers drop or misdraw two spans of one track that overlap without nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace kymo::exchange {

/// Decides which spans of a queue stand on its own track: those that overlap nothing there without nesting.
///
/// Remembers the latest few hundred spans. One that begins before all that is remembered is refused, since nobody knows
/// any more what it would overlap; a queue that hands in its spans roughly in order never meets that.
class NestingTrack {
 public:
  /// How a format tells where a span is: by its start and its duration, or by two events. Of events with one time the
  /// one written first comes first, so a span that is written later can neither end where another one began nor begin
  /// around another one that began with it.
  enum class Form : std::uint8_t { whole, two_events };

  /// True, and the span is remembered, where it fits. About 5 ns for a span after all others, else up to 0.3 us.
  [[nodiscard]] bool admit(std::int64_t start_ns, std::int64_t end_ns, Form form = Form::whole);

 private:
  struct Interval {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  static constexpr std::size_t kept = 256;

  [[nodiscard]] static bool clashes(const Interval& other, const Interval& span, Form form);
  void forget_earliest();

  std::vector<Interval> recent_;
  std::int64_t latest_end_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t forgotten_end_ns_ = std::numeric_limits<std::int64_t>::min();  ///< nothing forgotten ends later
};

/// Gives the spans of an async lane ids so that spans of one id never overlap and as few ids as possible are used: a
/// peer draws one row an id.
class LaneIds {
 public:
  /// An id for a span that begins here and whose end is not known yet. Release it with close(). New ids are counted on
  /// in last_id.
  [[nodiscard]] std::uint64_t open(std::int64_t start_ns, std::uint64_t& last_id);
  void close(std::uint64_t id, std::int64_t end_ns);

 private:
  struct Slot {
    std::uint64_t id = 0;
    std::int64_t end_ns = 0;
    bool is_open = false;
  };
  // Ids beyond these are used once.
  static constexpr std::size_t reused = 64;

  std::vector<Slot> slots_;
};

}  // namespace kymo::exchange
