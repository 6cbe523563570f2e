// The clock map: a line through pairs of both clocks, and bounds of its error.
//
// Why the bounds hold. Let D be the distance of the next pair from the line through the last pair at the known rate.
// Assume that the clock did one thing in between: a step, a stop or a change of rate. Its distance from that line then
// grows from 0 to D and stays within that range. The same holds for the distance between the map and that line. The map
// either followed the line to its end (events handed on before the pair was read) or the chord between the pairs. Hence
// clock and map differ by at most D.
//
// The bounds add three terms:
// - the brackets of both pairs;
// - the clock's possible wander, which is nothing in 100 ms and a lot in hours;
// - the distance by which the map had to stay ahead of a clock that went back.
//
// A bend late in a segment shows only in the next one: if the rates differ, both segments are reported. Pairs cannot
// show a clock that bends twice between two pairs in just the way that looks straight. The same holds for such bends in
// several segments in a row.
#include "record/clock/clock_map.hpp"

#include <algorithm>
#include <limits>

namespace kymo::record {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned rate_bits = 48;
constexpr std::int64_t latest_ns = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kept_knots = 2 * ClockMap::kept_segments;  // a pair adds one, the commit before it another

// Over shorter distances, pairs reveal more about their brackets than about the clock's rate.
constexpr std::int64_t shortest_segment_ns = 1'000'000;
// A pair read by an interrupted thread is skipped, but not for longer than this.
constexpr std::int64_t loose_noise_ns = 400;
constexpr std::int64_t longest_without_pair_ns = 1'000'000'000;
// Age at which a baseline is replaced; its successor is half as old then. At 50 ns of noise the rate is accurate to 1
// ppm.
constexpr std::int64_t baseline_ns = 200'000'000;
// Events read after the counter went back but stamped before come out at most this late.
constexpr std::int64_t restart_reach_ns = 1'000'000'000;
// NTP slews by at most 500 ppm and adjtime by as much again; twice that is a step.
constexpr std::uint64_t plausible_fraction = 500;

std::int64_t scale(std::uint64_t counts, std::uint64_t rate) {
  const Wide ns = (static_cast<Wide>(counts) * rate) >> rate_bits;
  return ns > static_cast<Wide>(latest_ns) ? latest_ns : static_cast<std::int64_t>(ns);
}

// Saturates. Both not negative.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return a > latest_ns - b ? latest_ns : a + b;
}

// Both not negative, so it cannot overflow.
std::int64_t distance(std::int64_t a, std::int64_t b) {
  return a > b ? a - b : b - a;
}

// Rounded down, so that a line never passes its end point.
std::uint64_t rate_of(std::int64_t ns, std::uint64_t counts) {
  const Wide rate = (static_cast<Wide>(ns) << rate_bits) / counts;
  constexpr Wide most = std::numeric_limits<std::uint64_t>::max();
  return rate > most ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(rate);
}

std::uint64_t nominal_rate(double step_ns) {
  constexpr double greatest_step_ns = 65535.0;
  constexpr double scale_factor = 281474976710656.0;  // 2^rate_bits
  const bool is_usable = step_ns > 0 && step_ns <= greatest_step_ns;
  return static_cast<std::uint64_t>((is_usable ? step_ns : 1.0) * scale_factor);
}

std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

bool is_near(std::uint64_t rate, std::uint64_t other) {
  return difference(rate, other) <= other / plausible_fraction;
}

// The farthest a clock can leave its tangent in this time if its rate changes by 1 ppm per second, within 500 ppm of
// the correct rate. From a chord it departs by a quarter of that.
std::int64_t wander_from_line_ns(std::int64_t span_ns) {
  const double span_seconds = static_cast<double>(span_ns) * 1e-9;
  const double change_ppm = std::min(span_seconds / 2, 1000.0);
  return static_cast<std::int64_t>(std::min(change_ppm * span_seconds * 1000, 1e18));
}

void widen(std::optional<ClockUncertainty>& all, const ClockUncertainty& one) {
  if (!all) {
    all = one;
    return;
  }
  all->start_ns = std::min(all->start_ns, one.start_ns);
  all->end_ns = std::max(all->end_ns, one.end_ns);
  all->bound_ns = std::max(all->bound_ns, one.bound_ns);
}

}  // namespace

ClockMap::ClockMap(double nominal_step_ns) : rate_(nominal_rate(nominal_step_ns)) {
  knots_.reserve(2 * kept_knots + 2);
}

ClockMap::ClockMap(std::span<const ClockPair> pairs, double nominal_step_ns) : ClockMap(nominal_step_ns) {
  for (const ClockPair& pair : pairs) {
    add(pair);
  }
}

std::optional<ClockUncertainty> ClockMap::add(const ClockPair& pair) {
  if (pair.monotonic_ns <= 0) {  // an empty slot or damage: the clock starts above zero
    return std::nullopt;
  }
  if (knots_.empty()) {
    begin(pair);
    return std::nullopt;
  }
  if (pair.counter <= knots_.back().counter) {
    return add_backward(pair);
  }
  const Comparison comparison = compare(pair);
  if (!is_worth_taking(pair, comparison)) {
    return std::nullopt;
  }

  const std::int64_t start_ns = sum(last_.monotonic_ns, lag_ns_);
  const std::int64_t start_lag_ns = lag_ns_;
  append_knot(pair);

  std::optional<ClockUncertainty> uncertainty;
  const ClockUncertainty verdict = judge(pair, comparison, start_ns, start_lag_ns);
  const bool is_lagging = sum(std::max(start_lag_ns, lag_ns_), comparison.noise_ns) > tolerance_ns;
  if (is_lagging || (comparison.departs && !is_first_guess_wrong(comparison))) {
    widen(uncertainty, verdict);
    judge_previous(comparison, uncertainty);
  }
  previous_ = {verdict.start_ns, verdict.end_ns, comparison.span, comparison.rate};
  follow_rate(pair, comparison, comparison.departs && is_rate_known_);
  last_ = pair;
  return uncertainty;
}

void ClockMap::begin(const ClockPair& pair) {
  knots_.push_back({pair.counter, pair.monotonic_ns, rate_});
  first_ = last_ = baseline_ = next_baseline_ = pair;
  lag_ns_ = 0;
  set_reach(latest_ns);
}

// A pair at or before settled counts. Either it agrees with the map, or the counter itself was set back.
std::optional<ClockUncertainty> ClockMap::add_backward(const ClockPair& pair) {
  const Knot& end = knots_.back();
  if (pair.counter > last_.counter) {
    const bool is_just_behind = scale(end.counter - pair.counter, rate_) <= restart_reach_ns;
    return is_just_behind ? std::nullopt : std::optional(restart(pair));
  }
  const std::int64_t since_ns = scale(last_.counter - pair.counter, rate_);
  const std::int64_t missed_ns = distance(sum(pair.monotonic_ns, since_ns), last_.monotonic_ns);
  if (missed_ns <= sum(tolerance_ns, noise_ns(pair) + noise_ns(last_))) {
    return std::nullopt;
  }
  return restart(pair);
}

// The counter went back. Its older values would contradict the new ones, so the map drops them.
ClockUncertainty ClockMap::restart(const ClockPair& pair) {
  const Knot end = knots_.back();
  const std::int64_t missed_ns = distance(pair.monotonic_ns, last_.monotonic_ns);
  // Before it went back, the counter may have advanced beyond the last value seen.
  const std::int64_t overrun_ns = std::min(restart_reach_ns, sum(scale(end.counter - pair.counter, rate_), missed_ns));
  const std::int64_t start_ns = std::min(pair.monotonic_ns, last_.monotonic_ns);
  const std::int64_t pair_noise_ns = noise_ns(pair) + noise_ns(last_);

  knots_.clear();
  previous_ = {};
  begin(pair);
  knots_.back().ns = std::max(pair.monotonic_ns, end.ns);
  lag_ns_ = knots_.back().ns - pair.monotonic_ns;
  set_reach(restart_reach_ns);
  return {start_ns, sum(knots_.back().ns, overrun_ns), sum(sum(missed_ns, overrun_ns), sum(lag_ns_, pair_noise_ns))};
}

ClockMap::Comparison ClockMap::compare(const ClockPair& pair) const {
  Comparison comparison;
  comparison.span = pair.counter - last_.counter;
  comparison.span_ns = scale(comparison.span, rate_);
  comparison.departure_ns = distance(sum(last_.monotonic_ns, comparison.span_ns), pair.monotonic_ns);
  const std::uint64_t committed = knots_.back().counter - last_.counter;
  comparison.noise_ns = noise_ns(last_) + noise_ns(pair);
  comparison.wander_ns = wander_from_line_ns(comparison.span_ns) / 4 + wander_from_line_ns(scale(committed, rate_));
  comparison.rate = rate_of(std::max<std::int64_t>(pair.monotonic_ns - last_.monotonic_ns, 0), comparison.span);
  comparison.departs = sum(comparison.departure_ns, comparison.noise_ns + comparison.wander_ns) > tolerance_ns;
  comparison.is_plausible_rate =
      !is_rate_known_ || is_near(comparison.rate, rate_) || is_near(comparison.rate, previous_.rate);
  return comparison;
}

bool ClockMap::is_worth_taking(const ClockPair& pair, const Comparison& comparison) const {
  if (!is_rate_known_ || lag_ns_ > 0) {
    return true;
  }
  if (comparison.span_ns < shortest_segment_ns && !comparison.departs) {
    return false;
  }
  const bool says_nothing = noise_ns(pair) > loose_noise_ns && comparison.departure_ns <= comparison.noise_ns;
  return !says_nothing || comparison.span_ns > longest_without_pair_ns;
}

// Whether the pair departs only because the first rate was measured over too short a time. The line between the pairs
// is then still correct, and the next pair confirms that or not. False if events were handed on too far beyond the last
// pair.
bool ClockMap::is_first_guess_wrong(const Comparison& comparison) const {
  const bool is_short = last_.counter - first_.counter < comparison.span / 2;
  if (!is_short || !comparison.is_plausible_rate || comparison.wander_ns > tolerance_ns) {
    return false;
  }
  const Knot& committed = knots_[knots_.size() - 2];
  const Wide error_ns =
      static_cast<Wide>(comparison.departure_ns) * (committed.counter - last_.counter) / comparison.span;
  return sum(static_cast<std::int64_t>(error_ns), comparison.noise_ns) <= tolerance_ns;
}

ClockUncertainty ClockMap::judge(const ClockPair& pair, const Comparison& comparison, std::int64_t start_ns,
                                 std::int64_t start_lag_ns) const {
  const std::int64_t end_ns = knots_.back().ns;
  std::int64_t off_ns = sum(sum(comparison.departure_ns, comparison.wander_ns), std::max(start_lag_ns, lag_ns_));
  if (pair.monotonic_ns >= last_.monotonic_ns) {
    // Neither the clock nor the map left the time between the pairs.
    off_ns = std::min(off_ns, end_ns - last_.monotonic_ns);
  }
  return {start_ns, end_ns, sum(off_ns, comparison.noise_ns)};
}

// A bend seen in this segment may have begun late in the one before, too late to be seen there.
void ClockMap::judge_previous(const Comparison& comparison, std::optional<ClockUncertainty>& uncertainty) const {
  if (previous_.span == 0 || !comparison.is_plausible_rate) {
    return;
  }
  const std::int64_t off_ns =
      sum(scale(previous_.span, difference(comparison.rate, previous_.rate)), comparison.noise_ns);
  if (off_ns > tolerance_ns) {
    const std::int64_t most_ns = sum(previous_.end_ns - previous_.start_ns, comparison.noise_ns);
    widen(uncertainty, {previous_.start_ns, previous_.end_ns, std::min(off_ns, most_ns)});
  }
}

// Leads the map to the pair. If the map would have to go back, it advances at half the clock's rate until the clock has
// caught up.
void ClockMap::append_knot(const ClockPair& pair) {
  Knot& from = knots_.back();
  const std::uint64_t counts = pair.counter - from.counter;
  const std::int64_t passed_ns = std::max<std::int64_t>(pair.monotonic_ns - last_.monotonic_ns, 0);
  const std::int64_t remaining_ns = scale(counts, rate_of(passed_ns, pair.counter - last_.counter));
  const std::int64_t ns = std::max(pair.monotonic_ns, sum(from.ns, remaining_ns / 2));
  from.rate = rate_of(ns - from.ns, counts);
  lag_ns_ = ns - pair.monotonic_ns;
  if (knots_.size() >= 2 * kept_knots) {
    knots_.erase(knots_.begin(), knots_.end() - kept_knots);
  }
  knots_.push_back({pair.counter, ns, rate_});
}

// After a bend, measures the rate anew; otherwise over as long a time as a slewing clock allows.
void ClockMap::follow_rate(const ClockPair& pair, const Comparison& comparison, bool is_bend) {
  if (is_bend) {
    const bool is_long_enough = comparison.span_ns >= shortest_segment_ns;
    if (comparison.is_plausible_rate && is_long_enough && comparison.rate > 0) {
      rate_ = comparison.rate;
    }
    baseline_ = next_baseline_ = pair;
  } else if (pair.monotonic_ns > baseline_.monotonic_ns) {
    rate_ = std::max<std::uint64_t>(
        1, rate_of(pair.monotonic_ns - baseline_.monotonic_ns, pair.counter - baseline_.counter));
    is_rate_known_ = true;
    if (scale(pair.counter - next_baseline_.counter, rate_) >= baseline_ns / 2) {
      baseline_ = next_baseline_;
      next_baseline_ = pair;
    }
  }
  knots_.back().rate = rate_;
  set_reach(latest_ns);
}

void ClockMap::commit(std::uint64_t counter) {
  if (knots_.empty() || counter <= knots_.back().counter) {
    return;
  }
  const Knot& end = knots_.back();
  const std::uint64_t counts = std::min(counter - end.counter, reach_);
  if (counts == 0) {
    return;
  }
  const std::uint64_t settled = end.counter + counts;
  reach_ -= counts;
  if (knots_.size() > 1 && knots_[knots_.size() - 2].counter >= last_.counter) {
    knots_.pop_back();  // the end of an earlier commit on the same line
  }
  const Knot& from = knots_.back();
  const std::int64_t ns = from.ns + scale(settled - from.counter, from.rate);
  knots_.push_back({settled, ns, rate_});
}

// Limits the map after its last knot to the given time and to the range of both types.
void ClockMap::set_reach(std::int64_t reach_ns) {
  const Knot& end = knots_.back();
  const auto most_ns = static_cast<Wide>(std::min(reach_ns, latest_ns - end.ns));
  const Wide counts = end.rate == 0 ? 0 : (most_ns << rate_bits) / end.rate;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - end.counter;
  reach_ = counts > most ? most : static_cast<std::uint64_t>(counts);
}

// Half the bracket, one count and a nanosecond of rounding.
std::int64_t ClockMap::noise_ns(const ClockPair& pair) const {
  return scale(pair.bracket / 2 + 1ULL, rate_) + 1;
}

std::int64_t ClockMap::before_first(std::uint64_t counter) const {
  const Knot first = knots_.empty() ? Knot{} : knots_.front();
  return counter >= first.counter ? scale(counter - first.counter, rate_)
                                  : std::max<std::int64_t>(0, first.ns - scale(first.counter - counter, rate_));
}

ClockMap::Converter ClockMap::converter() const {
  return Converter(*this);
}

std::int64_t ClockMap::to_ns(std::uint64_t counter) const {
  return converter()(counter);
}

ClockMap::Converter::Converter(const ClockMap& map) : map_(&map) {
  if (const std::size_t knots = map.knots_.size(); knots > 0) {
    enter(knots > 1 ? knots - 2 : 0);
  }
}

std::int64_t ClockMap::Converter::convert_elsewhere(std::uint64_t counter) {
  const std::vector<Knot>& knots = map_->knots_;
  if (knots.empty() || counter < knots.front().counter) {
    return map_->before_first(counter);
  }
  const auto after = std::upper_bound(knots.begin(), knots.end(), counter,
                                      [](std::uint64_t value, const Knot& knot) { return value < knot.counter; });
  const std::uint64_t size = enter(static_cast<std::size_t>(after - knots.begin()) - 1);
  return line_.ns + scale(std::min(counter - line_.counter, size), line_.rate);
}

/// Selects the segment after a knot as the line; returns its size in counts.
std::uint64_t ClockMap::Converter::enter(std::size_t index) {
  constexpr std::uint64_t longest_line = std::uint64_t{1} << 47U;
  const std::vector<Knot>& knots = map_->knots_;
  const Knot& knot = knots[index];
  const std::uint64_t size = index + 1 < knots.size() ? knots[index + 1].counter - knot.counter : map_->reach_;
  line_ = {knot.counter, std::min(size, longest_line), knot.ns, knot.rate};
  return size;
}

}  // namespace kymo::record
