// A simulated pair of clocks, of which the true time of every count is known, and a recording made with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "record/clock/clock_map.hpp"

namespace kymo::record::simulation {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t hour = 3600 * second;

/// A counter of constant rate, and a CLOCK_MONOTONIC whose rate against it is written down piece by piece. `at` is the
/// nanosecond since the simulation began, by an ideal clock.
class SimulatedClock {
 public:
  explicit SimulatedClock(long double frequency_hz) : frequency_hz_(frequency_hz) {
    pieces_.push_back({0, start_ns, 1, 0});
  }

  /// From `at` on, CLOCK_MONOTONIC runs at `rate`, which itself changes by `rate_change` a second.
  void set_rate(std::int64_t at, long double rate, long double rate_change = 0) {
    pieces_.push_back({at, monotonic(at), rate, rate_change});
  }
  void step(std::int64_t at, std::int64_t by_ns) {
    Piece piece = pieces_.back();
    piece.rate = rate(at);
    piece.monotonic = monotonic(at) + by_ns;
    piece.at = at;
    pieces_.push_back(piece);
  }
  /// From `at` on, the counter shows `counter`.
  void set_counter(std::int64_t at, std::uint64_t counter) { epochs_.push_back({at, counter}); }

  [[nodiscard]] long double monotonic(std::int64_t at) const {
    const Piece& piece = piece_at(at);
    const long double since = static_cast<long double>(at - piece.at);
    return piece.monotonic + since * piece.rate + piece.rate_change * since * since / 2 / second;
  }
  [[nodiscard]] long double rate(std::int64_t at) const {
    const Piece& piece = piece_at(at);
    return piece.rate + piece.rate_change * static_cast<long double>(at - piece.at) / second;
  }
  [[nodiscard]] std::uint64_t counter(long double at) const {
    const Epoch* epoch = &epochs_.front();
    for (const Epoch& next : epochs_) {
      epoch = static_cast<long double>(next.at) <= at ? &next : epoch;
    }
    const long double counts = (at - static_cast<long double>(epoch->at)) * frequency_hz_ / second;
    return epoch->counter + static_cast<std::uint64_t>(std::max(counts, 0.0L));
  }

  /// A pair whose clock read lies anywhere in a bracket of `bracket_ns`.
  template <typename Random>
  [[nodiscard]] ClockPair pair(std::int64_t at, std::int64_t bracket_ns, Random& random) const {
    std::uniform_real_distribution<double> anywhere(-0.5, 0.5);
    const long double middle = static_cast<long double>(at) + anywhere(random) * static_cast<long double>(bracket_ns);
    ClockPair pair;
    pair.counter = counter(middle);
    pair.monotonic_ns = static_cast<std::int64_t>(monotonic(at));
    pair.bracket = static_cast<std::uint32_t>(static_cast<long double>(bracket_ns) * frequency_hz_ / second);
    return pair;
  }

 private:
  static constexpr long double start_ns = 5e12L;
  struct Piece {
    std::int64_t at;
    long double monotonic;
    long double rate;
    long double rate_change;
  };
  struct Epoch {
    std::int64_t at;
    std::uint64_t counter;
  };

  [[nodiscard]] const Piece& piece_at(std::int64_t at) const {
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                        [](std::int64_t value, const Piece& piece) { return value < piece.at; });
    return *(after - 1);
  }

  long double frequency_hz_;
  std::vector<Piece> pieces_;
  std::vector<Epoch> epochs_{{0, 123'456'789'012}};
};

/// Drains a simulated clock the way the collector does, and remembers what came out.
class Recording {
 public:
  struct Event {
    std::uint64_t counter;
    long double true_ns;
    std::int64_t time_ns;
  };

  Recording(const SimulatedClock& clock, unsigned seed, double nominal_step_ns = 1.0)
      : map_(nominal_step_ns), clock_(clock), random_(seed) {}

  /// Reads a pair, then converts events from the last drain up to `drain_ns` after the pair.
  void drain(std::int64_t at, std::int64_t drain_ns, int event_count = 60, std::int64_t widest_bracket_ns = 80) {
    take_pair(at, widest_bracket_ns);
    std::vector<std::int64_t> moments;
    std::uniform_int_distribution<std::int64_t> moment(drained_, at + drain_ns);
    for (int i = 0; i < event_count; ++i) {
      moments.push_back(moment(random_));
    }
    std::sort(moments.begin(), moments.end());
    ClockMap::Converter convert = map_.converter();
    for (const std::int64_t when : moments) {
      const std::uint64_t counter = clock_.counter(static_cast<long double>(when));
      events_.push_back({counter, clock_.monotonic(when), convert(counter)});
    }
    if (drain_ns > 0 && !moments.empty()) {
      map_.commit(events_.back().counter);
    }
    drained_ = at + drain_ns;
  }

  void drain_evenly(std::int64_t from, std::int64_t to, std::int64_t every_ns, std::int64_t drain_ns) {
    for (std::int64_t at = from; at < to; at += every_ns) {
      drain(at, drain_ns);
    }
  }

  /// Lets the map see one more pair, which judges the last segment.
  void take_pair(std::int64_t at, std::int64_t widest_bracket_ns = 80) {
    std::uniform_int_distribution<std::int64_t> bracket(20, widest_bracket_ns);
    const ClockPair pair = clock_.pair(at, bracket(random_), random_);
    pairs_.push_back(pair);
    if (const auto uncertainty = map_.add(pair)) {
      EXPECT_LE(uncertainty->start_ns, uncertainty->end_ns);
      EXPECT_GT(uncertainty->bound_ns, ClockMap::tolerance_ns);
      uncertainties_.push_back(*uncertainty);
    }
  }

  [[nodiscard]] std::int64_t allowed_ns(std::int64_t time_ns) const {
    std::int64_t allowed = ClockMap::tolerance_ns;
    for (const ClockUncertainty& uncertainty : uncertainties_) {
      if (time_ns >= uncertainty.start_ns && time_ns <= uncertainty.end_ns) {
        allowed = std::max(allowed, uncertainty.bound_ns);
      }
    }
    return allowed;
  }

  void expect_errors_are_bounded() const {
    for (const Event& event : events_) {
      const long double error_ns = std::fabs(static_cast<long double>(event.time_ns) - event.true_ns);
      ASSERT_LE(error_ns, static_cast<long double>(allowed_ns(event.time_ns)))
          << "event at " << event.time_ns << ", " << static_cast<std::int64_t>(event.true_ns) << " in truth";
    }
  }
  void expect_times_never_go_back() const {
    for (std::size_t i = 1; i < events_.size(); ++i) {
      ASSERT_GE(events_[i].time_ns, events_[i - 1].time_ns) << "event " << i;
    }
  }
  /// The uncertain time in all, overlaps counted once.
  [[nodiscard]] std::int64_t uncertain_ns() const {
    std::vector<ClockUncertainty> ordered = uncertainties_;
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    std::int64_t total = 0;
    std::int64_t reached = 0;
    for (const ClockUncertainty& uncertainty : ordered) {
      total += std::max<std::int64_t>(uncertainty.end_ns - std::max(uncertainty.start_ns, reached), 0);
      reached = std::max(reached, uncertainty.end_ns);
    }
    return total;
  }
  [[nodiscard]] std::int64_t greatest_bound_ns() const {
    std::int64_t greatest = 0;
    for (const ClockUncertainty& uncertainty : uncertainties_) {
      greatest = std::max(greatest, uncertainty.bound_ns);
    }
    return greatest;
  }

  [[nodiscard]] const std::vector<ClockUncertainty>& uncertainties() const { return uncertainties_; }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] const std::vector<ClockPair>& pairs() const { return pairs_; }
  [[nodiscard]] ClockMap& map() { return map_; }
  [[nodiscard]] std::mt19937_64& random() { return random_; }

 private:
  ClockMap map_;
  const SimulatedClock& clock_;
  std::mt19937_64 random_;
  std::int64_t drained_ = 0;
  std::vector<Event> events_;
  std::vector<ClockPair> pairs_;
  std::vector<ClockUncertainty> uncertainties_;
};

}  // namespace kymo::record::simulation
