// Turns counts into nanoseconds of CLOCK_MONOTONIC.
//
// The collector reads a pair of both clocks before each drain. Between two pairs the map is a straight line; after the
// last one it goes on at the rate of the last 100 to 200 ms. Where the next pair shows that the line was wrong by more
// than a microsecond (a clock was stepped or its rate bent, the machine slept or was moved), add() says from when to
// when and by how much at most. The map never decreases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <kymo/events.hpp>

#include "record/clock.hpp"

namespace kymo::record {

/// The mapping from counts to nanoseconds, built from pairs as they come. Not thread safe.
class ClockMap {
 public:
  class Converter;
  struct Line;

  /// Counts older than this many pairs are converted at the present rate instead of with the pairs around them.
  static constexpr std::size_t kept_segments = 128;
  /// What the map may be off by without saying so, as long as the clock's rate changes by at most 1 ppm a second.
  static constexpr std::int64_t tolerance_ns = 1000;

  /// `nominal_step_ns` is the rate until two pairs are known.
  explicit ClockMap(double nominal_step_ns = 1.0);

  /// A map from the pairs that a spool holds, oldest first. Pairs that cannot be are passed over.
  explicit ClockMap(std::span<const ClockPair> pairs, double nominal_step_ns = 1.0);

  /// Takes the next pair. Returns the stretch, in converted time, in which conversions by this map (those made before
  /// this call too) can be off by more than tolerance_ns, with its bound; a doubt about one segment may be told with
  /// the next pair. Costs about 70 ns.
  std::optional<ClockUncertainty> add(const ClockPair& pair);

  /// Counts up to this one were converted and handed on: later pairs leave their times as they are, so that what
  /// follows them cannot come out earlier. Call it after a drain with the greatest count that was converted.
  void commit(std::uint64_t counter);

  /// Converts runs of counts; see Converter.
  [[nodiscard]] Converter converter() const;

  /// Converts one count.
  [[nodiscard]] std::int64_t to_ns(std::uint64_t counter) const;

 private:
  /// The map from one knot to the next: ns + (counter - this counter) * rate.
  struct Knot {
    std::uint64_t counter = 0;
    std::int64_t ns = 0;
    std::uint64_t rate = 0;  ///< nanoseconds a count, times 2^48, rounded down
  };

  /// A new pair held against what the map expects there.
  struct Comparison {
    std::uint64_t span = 0;          ///< counts since the last pair
    std::int64_t span_ns = 0;        ///< the same, at the rate known so far
    std::int64_t departure_ns = 0;   ///< how far the pair lies from the line through the last one
    std::int64_t noise_ns = 0;       ///< what both pairs' brackets may account for
    std::int64_t wander_ns = 0;      ///< what a clock that changes its rate slowly may account for
    std::uint64_t rate = 0;          ///< from pair to pair
    bool departs = false;            ///< by more than tolerance_ns, noise included
    bool is_plausible_rate = false;  ///< a clock may be slewed to this rate; otherwise it was stepped
  };

  /// The segment before a new pair's.
  struct Previous {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t span = 0;
    std::uint64_t rate = 0;  ///< from pair to pair
  };

  void begin(const ClockPair& pair);
  std::optional<ClockUncertainty> add_backward(const ClockPair& pair);
  ClockUncertainty restart(const ClockPair& pair);
  [[nodiscard]] Comparison compare(const ClockPair& pair) const;
  [[nodiscard]] bool is_worth_taking(const ClockPair& pair, const Comparison& comparison) const;
  [[nodiscard]] bool is_first_guess_wrong(const Comparison& comparison) const;
  [[nodiscard]] ClockUncertainty judge(const ClockPair& pair, const Comparison& comparison, std::int64_t start_ns,
                                       std::int64_t start_lag_ns) const;
  void judge_previous(const Comparison& comparison, std::optional<ClockUncertainty>& uncertainty) const;
  void append_knot(const ClockPair& pair);
  void follow_rate(const ClockPair& pair, const Comparison& comparison, bool is_bend);
  void set_reach(std::int64_t reach_ns);
  [[nodiscard]] std::int64_t noise_ns(const ClockPair& pair) const;
  [[nodiscard]] std::int64_t before_first(std::uint64_t counter) const;

  std::vector<Knot> knots_;  // ascending in both; the last one goes on at rate_
  std::uint64_t rate_ = 0;   // the present rate
  std::uint64_t reach_ = 0;  // counts after the last knot from which on the map stands still
  std::int64_t lag_ns_ = 0;  // how far the map is ahead of the last pair, because it cannot go back
  bool is_rate_known_ = false;
  ClockPair first_;
  ClockPair last_;
  ClockPair baseline_;       // rate_ is measured from here ...
  ClockPair next_baseline_;  // ... and soon from here
  Previous previous_;
};

/// A stretch of the map in which it is a straight line; a loop keeps it in registers.
struct ClockMap::Line {
  std::uint64_t counter = 0;  ///< where it begins
  std::uint64_t size = 0;     ///< counts it holds, below 2^47
  std::int64_t ns = 0;        ///< at its begin
  std::uint64_t rate = 0;     ///< nanoseconds a count, times 2^48, rounded down

  /// The time so many counts after its begin. offset < size.
  [[nodiscard]] std::int64_t at(std::uint64_t offset) const {
    __extension__ using Wide = unsigned __int128;
    // The product times 2^16, so that its upper half is the result.
    return ns + static_cast<std::int64_t>((static_cast<Wide>(offset << 16U) * rate) >> 64U);
  }
};

/// Converts counts, fastest where neighbours lie in the same segment: about 1 ns each. A small value to be taken anew
/// for each batch: add() and commit() on its map make it invalid. Counts may come in any order.
class ClockMap::Converter {
 public:
  explicit Converter(const ClockMap& map);

  [[nodiscard]] std::int64_t operator()(std::uint64_t counter) {
    const std::uint64_t offset = counter - line_.counter;
    return offset < line_.size ? line_.at(offset) : convert_elsewhere(counter);
  }

  /// The line that the last count, or one near the map's end, lies on.
  [[nodiscard]] const Line& line() const { return line_; }

 private:
  [[nodiscard]] std::int64_t convert_elsewhere(std::uint64_t counter);
  std::uint64_t enter(std::size_t index);

  const ClockMap* map_;
  Line line_;
};

}  // namespace kymo::record
