// Converts counts to nanoseconds of CLOCK_MONOTONIC.
//
// The collector reads a pair of both clocks before each drain. Between two pairs the map is a straight line; after the
// last one it continues at the rate of the last 100 to 200 ms. The line is wrong if a clock was stepped, its rate bent,
// or the machine slept or was moved. If the next pair shows an error above a microsecond, add() reports the interval
// and the bound of the error. The map never decreases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <kymo/events.hpp>

#include "record/clock/clock.hpp"

namespace kymo::record {

/// The mapping from counts to nanoseconds, built from successive pairs. Not thread-safe.
class ClockMap {
 public:
  class Converter;
  struct Line;

  /// Counts more than this many pairs old are converted at the present rate instead of between the pairs around them.
  static constexpr std::size_t kept_segments = 128;
  /// The map's greatest unreported error, if the clock's rate changes by at most 1 ppm per second.
  static constexpr std::int64_t tolerance_ns = 1000;

  /// `nominal_step_ns` is the rate until two pairs are known.
  explicit ClockMap(double nominal_step_ns = 1.0);

  /// A map from a spool's pairs, oldest first. Impossible pairs are skipped.
  explicit ClockMap(std::span<const ClockPair> pairs, double nominal_step_ns = 1.0);

  /// Takes the next pair. If conversions by this map, earlier ones included, can be off by more than tolerance_ns,
  /// returns the interval in converted time and the bound. A doubt about one segment may be reported with the next
  /// pair. About 70 ns.
  std::optional<ClockUncertainty> add(const ClockPair& pair);

  /// Marks counts up to this one as converted and handed on. Later pairs leave their times unchanged, so that later
  /// counts cannot come out earlier. Call it after a drain with the greatest converted count.
  void commit(std::uint64_t counter);

  /// Converts runs of counts.
  [[nodiscard]] Converter converter() const;

  [[nodiscard]] std::int64_t to_ns(std::uint64_t counter) const;

 private:
  /// The map from one knot to the next: ns + (counter - this counter) * rate.
  struct Knot {
    std::uint64_t counter = 0;
    std::int64_t ns = 0;
    std::uint64_t rate = 0;  ///< nanoseconds a count, times 2^48, rounded down
  };

  /// A new pair compared with the map's prediction.
  struct Comparison {
    std::uint64_t span = 0;          ///< counts since the last pair
    std::int64_t span_ns = 0;        ///< the same, at the rate known before
    std::int64_t departure_ns = 0;   ///< distance of the pair from the line through the last one
    std::int64_t noise_ns = 0;       ///< possible error from both pairs' brackets
    std::int64_t wander_ns = 0;      ///< possible error from a slow change of the clock's rate
    std::uint64_t rate = 0;          ///< from pair to pair
    bool departs = false;            ///< by more than tolerance_ns, noise included
    bool is_plausible_rate = false;  ///< within the range of slewing; otherwise the clock was stepped
  };

  /// The segment before that of the new pair.
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

  std::vector<Knot> knots_;  // ascending in both; rate_ applies after the last one
  std::uint64_t rate_ = 0;   // the present rate
  std::uint64_t reach_ = 0;  // counts after the last knot at which the map stops advancing
  std::int64_t lag_ns_ = 0;  // lead of the map over the last pair, because it cannot go back
  bool is_rate_known_ = false;
  ClockPair first_;
  ClockPair last_;
  ClockPair baseline_;       // rate_ is measured from here ...
  ClockPair next_baseline_;  // ... and soon from here
  Previous previous_;
};

/// A straight stretch of the map; a loop keeps it in registers.
struct ClockMap::Line {
  std::uint64_t counter = 0;  ///< first count
  std::uint64_t size = 0;     ///< counts, below 2^47
  std::int64_t ns = 0;        ///< time at its first count
  std::uint64_t rate = 0;     ///< nanoseconds a count, times 2^48, rounded down

  /// The time of a count, given its distance from the first. offset < size.
  [[nodiscard]] std::int64_t at(std::uint64_t offset) const {
    __extension__ using Wide = unsigned __int128;
    // The product times 2^16, so that its upper half is the result.
    return ns + static_cast<std::int64_t>((static_cast<Wide>(offset << 16U) * rate) >> 64U);
  }
};

/// Converts counts in any order; fastest if neighbours lie in the same segment, about 1 ns each. A small value: create
/// one per batch, as add() and commit() on its map invalidate it.
class ClockMap::Converter {
 public:
  explicit Converter(const ClockMap& map);

  [[nodiscard]] std::int64_t operator()(std::uint64_t counter) {
    const std::uint64_t offset = counter - line_.counter;
    return offset < line_.size ? line_.at(offset) : convert_elsewhere(counter);
  }

  /// The line of the last count, or one near the map's end.
  [[nodiscard]] const Line& line() const { return line_; }

 private:
  [[nodiscard]] std::int64_t convert_elsewhere(std::uint64_t counter);
  std::uint64_t enter(std::size_t index);

  const ClockMap* map_;
  Line line_;
};

}  // namespace kymo::record
