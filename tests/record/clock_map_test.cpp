// The clock map against simulated clocks, of which the true time of every count is known.
#include "record/clock/clock_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "record/simulated_clock.hpp"

namespace kymo::record {
namespace {

using simulation::hour;
using simulation::millisecond;
using simulation::Recording;
using simulation::second;
using simulation::SimulatedClock;

constexpr long double frequencies_hz[] = {2.596e9L, 1e9L, 31.25e6L, 19.2e6L};

class EveryFrequency : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static long double frequency_hz() { return frequencies_hz[GetParam()]; }
  [[nodiscard]] static double step_ns() { return static_cast<double>(1e9L / frequency_hz()); }
};
INSTANTIATE_TEST_SUITE_P(Counters, EveryFrequency, testing::Range(0, 4));

// Slew that wanders by up to 1 ppm a second within 50 ppm, changing its mind every 10 ms.
void wander(SimulatedClock& clock, std::int64_t until, std::mt19937_64& random) {
  std::uniform_real_distribution<double> change(-1e-6, 1e-6);
  long double rate = 1 + 30 * static_cast<long double>(change(random));
  clock.set_rate(0, rate);
  for (std::int64_t at = 0; at < until; at += 10 * millisecond) {
    long double slope = change(random) > 0 ? 1e-6L : -1e-6L;
    rate = clock.rate(at);
    slope = std::fabs(rate - 1) > 50e-6L ? std::copysign(1e-6L, 1 - rate) : slope;
    clock.set_rate(at, rate, slope);
  }
}

TEST_P(EveryFrequency, WanderingSlewIsFollowedWithinAMicrosecondAndWithoutAWord) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937_64 random(seed);
    SimulatedClock clock(frequency_hz());
    wander(clock, 12 * second, random);
    Recording recording(clock, seed, step_ns());
    std::uniform_int_distribution<std::int64_t> gap(5 * millisecond, 100 * millisecond);
    recording.take_pair(0);
    for (std::int64_t at = gap(random); at < 11 * second; at += gap(random)) {
      recording.drain(at, 2 * millisecond);
    }
    recording.take_pair(11 * second + 200 * millisecond);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
    EXPECT_LE(recording.uncertain_ns(),
              250 * millisecond);  // nothing but, at times, while the first rate is being found
    EXPECT_LE(recording.greatest_bound_ns(), 12'000);
  }
}

TEST_P(EveryFrequency, SteadySlewOfOnePpmASecondIsFollowedWithinAMicrosecond) {
  SimulatedClock clock(frequency_hz());
  clock.set_rate(0, 1, 1e-6L);
  clock.set_rate(10 * second, clock.rate(10 * second), -1e-6L);
  for (const std::int64_t every_ns : {5 * millisecond, 20 * millisecond, 100 * millisecond}) {
    Recording recording(clock, 1, step_ns());
    recording.drain_evenly(0, 20 * second, every_ns, every_ns / 10);
    recording.take_pair(20 * second);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
    EXPECT_TRUE(recording.uncertainties().empty());
  }
}

TEST_P(EveryFrequency, KinksAreBoundedAndNotMuchMoreThanTheirSegmentsAreDoubted) {
  for (const std::int64_t every_ns : {5 * millisecond, 33 * millisecond, 100 * millisecond}) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      std::mt19937_64 random(seed);
      std::uniform_int_distribution<std::int64_t> moment(second, 2 * second);
      SimulatedClock clock(frequency_hz());
      clock.set_rate(moment(random), 1 + 500e-6L);
      clock.set_rate(moment(random) + 2 * second, 1 - 500e-6L);
      Recording recording(clock, seed, step_ns());
      recording.drain_evenly(0, 6 * second, every_ns, every_ns / 20);
      recording.take_pair(6 * second);
      recording.expect_errors_are_bounded();
      recording.expect_times_never_go_back();
      EXPECT_LE(recording.uncertain_ns(), 2 * 3 * every_ns + millisecond);
      EXPECT_LE(recording.greatest_bound_ns(), every_ns / 750);
    }
  }
}

TEST_P(EveryFrequency, StepsForwardAreBounded) {
  for (const std::int64_t step_ns_by : {std::int64_t{3000}, 50 * millisecond, 10 * second, 5 * hour}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937_64 random(seed);
      std::uniform_int_distribution<std::int64_t> moment(second, 2 * second);
      SimulatedClock clock(frequency_hz());
      clock.step(moment(random), step_ns_by);
      Recording recording(clock, seed, step_ns());
      recording.drain_evenly(0, 4 * second, 20 * millisecond, millisecond);
      recording.take_pair(4 * second);
      recording.expect_errors_are_bounded();
      recording.expect_times_never_go_back();
      ASSERT_FALSE(recording.uncertainties().empty());
      EXPECT_LE(recording.greatest_bound_ns(), step_ns_by + 20 * millisecond / 4000 + 1000);
      EXPECT_LE(recording.uncertain_ns(), step_ns_by + 100 * millisecond);
    }
  }
}

TEST_P(EveryFrequency, StepsBackNeverGoBackAndSayHowFarAheadTheyAre) {
  for (const std::int64_t back_ns : {std::int64_t{3000}, 5 * millisecond, second}) {
    SimulatedClock clock(frequency_hz());
    clock.step(second + 7 * millisecond, -back_ns);
    Recording recording(clock, 5, step_ns());
    recording.drain_evenly(0, 5 * second, 20 * millisecond, millisecond);
    recording.take_pair(5 * second);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
    ASSERT_FALSE(recording.uncertainties().empty());
    // It has caught up by the end, and says so by saying nothing.
    EXPECT_LT(recording.uncertainties().back().end_ns, recording.events().back().time_ns - second);
    EXPECT_EQ(recording.allowed_ns(recording.events().back().time_ns), ClockMap::tolerance_ns);
  }
}

TEST_P(EveryFrequency, AClockThatWentBackIsCaughtUpWithWithoutStandingStill) {
  SimulatedClock clock(frequency_hz());
  clock.step(second + 7 * millisecond, -second);
  Recording recording(clock, 9, step_ns());
  recording.drain_evenly(0, 5 * second, 20 * millisecond, millisecond);
  recording.expect_times_never_go_back();
  const auto& events = recording.events();
  for (std::size_t i = 60; i < events.size(); i += 60) {
    const std::int64_t passed_ns = events[i].time_ns - events[i - 60].time_ns;
    const auto true_ns = static_cast<std::int64_t>(events[i].true_ns - events[i - 60].true_ns);
    if (true_ns > millisecond) {
      EXPECT_GE(passed_ns, true_ns / 3);
    }
  }
}

TEST_P(EveryFrequency, ARateMeasuredOverAMillisecondIsNotHeldAgainstTheClock) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SimulatedClock clock(frequency_hz());
    Recording recording(clock, seed, step_ns());
    recording.drain(0, 100'000);
    recording.drain(millisecond, 100'000);
    recording.drain_evenly(100 * millisecond, second, 100 * millisecond, millisecond);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
    EXPECT_TRUE(recording.uncertainties().empty());
  }
}

TEST_P(EveryFrequency, AKinkBetweenTheFirstTwoPairsIsToldWithTheNext) {
  for (const std::int64_t kink : {5 * millisecond, 25 * millisecond, 45 * millisecond}) {
    SimulatedClock clock(frequency_hz());
    clock.set_rate(kink, 1 + 500e-6L);
    Recording recording(clock, 16, step_ns());
    recording.drain_evenly(0, second, 50 * millisecond, millisecond / 10);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
    EXPECT_FALSE(recording.uncertainties().empty());
  }
}

TEST_P(EveryFrequency, BendsInNeighbouringSegmentsAreBothBounded) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> moment(0, 50 * millisecond);
    SimulatedClock clock(frequency_hz());
    clock.step(second + moment(random), 20'000);
    clock.step(second + 50 * millisecond + moment(random), 7'000);
    clock.set_rate(second + 300 * millisecond + moment(random), 1 + 300e-6L);
    clock.set_rate(second + 350 * millisecond + moment(random), 1 - 300e-6L);
    Recording recording(clock, seed, step_ns());
    recording.drain_evenly(0, 2 * second, 50 * millisecond, 0);
    recording.take_pair(2 * second);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
  }
}

TEST_P(EveryFrequency, SleepThatStopsOneClockIsBounded) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> moment(second, 2 * second);
    const std::int64_t falls_asleep = moment(random);
    const std::int64_t wakes_up = falls_asleep + 3 * hour;
    SimulatedClock clock(frequency_hz());
    clock.set_rate(falls_asleep, 0);
    clock.set_rate(wakes_up, 1);
    Recording recording(clock, seed, step_ns());
    // No drain while the machine sleeps, and no events either.
    recording.drain_evenly(0, falls_asleep, 50 * millisecond, 5 * millisecond);
    recording.drain_evenly(wakes_up + 20 * millisecond, wakes_up + 2 * second, 50 * millisecond, 5 * millisecond);
    recording.take_pair(wakes_up + 3 * second);
    recording.expect_errors_are_bounded();
    recording.expect_times_never_go_back();
    ASSERT_FALSE(recording.uncertainties().empty());
    // The clock moved by less than a drain or two meanwhile, so no event is off by more.
    EXPECT_LE(recording.greatest_bound_ns(), 200 * millisecond);
  }
}

TEST_P(EveryFrequency, HoursWithoutAPairAreBounded) {
  std::mt19937_64 random(3);
  SimulatedClock clock(frequency_hz());
  clock.set_rate(2 * second, 1, 0.5e-9L);
  clock.set_rate(2 * hour, clock.rate(2 * hour), -0.5e-9L);
  Recording recording(clock, 3, step_ns());
  recording.drain_evenly(0, 3 * second, 50 * millisecond, 5 * millisecond);
  for (std::int64_t at = hour; at < 9 * hour; at += hour) {
    recording.drain(at, 5 * millisecond);
  }
  recording.drain_evenly(9 * hour, 9 * hour + second, 50 * millisecond, 5 * millisecond);
  recording.take_pair(9 * hour + second);
  recording.expect_errors_are_bounded();
  recording.expect_times_never_go_back();
}

TEST_P(EveryFrequency, ACounterOfAnotherRateIsFollowedAfterAFewPairs) {
  SimulatedClock clock(frequency_hz());
  clock.set_rate(second, 1.25L);  // as if the machine had moved to one whose counter is slower
  Recording recording(clock, 4, step_ns());
  recording.drain_evenly(0, 3 * second, 20 * millisecond, millisecond);
  recording.take_pair(3 * second);
  recording.expect_errors_are_bounded();
  recording.expect_times_never_go_back();
  EXPECT_EQ(recording.allowed_ns(recording.events().back().time_ns), ClockMap::tolerance_ns);
  EXPECT_LE(recording.uncertain_ns(), 200 * millisecond);
}

TEST_P(EveryFrequency, AnInterruptedPairIsPassedOver) {
  SimulatedClock clock(frequency_hz());
  Recording recording(clock, 6, step_ns());
  recording.drain_evenly(0, second, 20 * millisecond, millisecond);
  for (std::int64_t at = second; at < 3 * second; at += 20 * millisecond) {
    const bool is_interrupted = (at / (20 * millisecond)) % 3 == 0;
    recording.drain(at, millisecond, 60, is_interrupted ? 4 * millisecond : 80);
  }
  recording.take_pair(3 * second);
  recording.expect_errors_are_bounded();
  recording.expect_times_never_go_back();
  EXPECT_TRUE(recording.uncertainties().empty());
}

TEST_P(EveryFrequency, PairsWithinMicrosecondsOfEachOtherDoNotSpoilTheRate) {
  SimulatedClock clock(frequency_hz());
  Recording recording(clock, 7, step_ns());
  recording.drain_evenly(0, 20 * millisecond, 5 * millisecond, 0);
  std::uniform_int_distribution<std::int64_t> gap(2'000, 400'000);
  std::int64_t at = 20 * millisecond;
  for (int i = 0; i < 3000; ++i) {
    at += gap(recording.random());
    recording.drain(at, 1'000, 5);
  }
  recording.drain(at + 100 * millisecond, 10 * millisecond);
  recording.take_pair(at + 200 * millisecond);
  recording.expect_errors_are_bounded();
  recording.expect_times_never_go_back();
  EXPECT_TRUE(recording.uncertainties().empty());
}

TEST_P(EveryFrequency, ACounterThatGoesBackIsBoundedAndTimesDoNot) {
  for (const std::int64_t back_ns : {5 * millisecond, 300 * millisecond, 40 * second}) {
    const std::int64_t moved = second + 11 * millisecond;
    SimulatedClock clock(frequency_hz());
    clock.set_counter(
        moved, clock.counter(static_cast<long double>(moved - back_ns)) - (back_ns > moved ? 123'456'000'000 : 0));
    Recording recording(clock, 8, step_ns());
    recording.drain_evenly(0, second, 20 * millisecond, millisecond);
    const std::size_t before = recording.events().size();
    recording.drain(second + 20 * millisecond, millisecond);
    recording.drain_evenly(second + 40 * millisecond, 3 * second, 20 * millisecond, millisecond);
    recording.take_pair(3 * second);
    ASSERT_FALSE(recording.uncertainties().empty());
    recording.expect_errors_are_bounded();
    EXPECT_GE(recording.events()[before + 60].time_ns, recording.events()[before - 1].time_ns);
    EXPECT_EQ(recording.allowed_ns(recording.events().back().time_ns), ClockMap::tolerance_ns);
  }
}

TEST(ClockMap, GivesBackMonotonicWhereItIsTheCounter) {
  ClockMap map;
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::uint64_t> gap(1, 200'000'000);
  std::uint64_t now = 77'000'000'000;
  for (int i = 0; i < 1000; ++i) {
    now += gap(random);
    EXPECT_FALSE(map.add({now, static_cast<std::int64_t>(now), 0}).has_value());
    const std::uint64_t event = now - 50'000'000 + gap(random) % 100'000'000;
    EXPECT_EQ(map.to_ns(event), static_cast<std::int64_t>(event));
    map.commit(std::max(now, event));
  }
}

TEST(ClockMap, ConvertsAsALineThroughThePairsDoes) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<std::uint64_t> gap(20'000'000, 400'000'000);
  std::uniform_real_distribution<double> slew(-50e-6, 50e-6);
  ClockMap map;
  std::vector<ClockPair> pairs{{1'000'000'000, 9'000'000'000, 0}};
  map.add(pairs.back());
  for (std::size_t i = 1; i < ClockMap::kept_segments; ++i) {
    const std::uint64_t counts = gap(random);
    const auto ns = static_cast<std::int64_t>(static_cast<double>(counts) * 0.385 * (1 + slew(random)));
    pairs.push_back({pairs.back().counter + counts, pairs.back().monotonic_ns + ns, 0});
    map.add(pairs.back());
  }
  ClockMap::Converter convert = map.converter();
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const ClockPair& from = pairs[i - 1];
    const ClockPair& to = pairs[i];
    std::uniform_int_distribution<std::uint64_t> anywhere(from.counter, to.counter);
    for (int n = 0; n < 100; ++n) {
      const std::uint64_t counter = anywhere(random);
      const long double share =
          static_cast<long double>(counter - from.counter) / static_cast<long double>(to.counter - from.counter);
      const long double expected = static_cast<long double>(from.monotonic_ns) +
                                   share * static_cast<long double>(to.monotonic_ns - from.monotonic_ns);
      ASSERT_NEAR(static_cast<double>(static_cast<long double>(convert(counter)) - expected), 0.0, 1.0);
      ASSERT_EQ(map.to_ns(counter), convert(counter));
    }
  }
}

TEST(ClockMap, LateEventsComeOutAsTheyWouldHaveInTime) {
  SimulatedClock clock(2.596e9L);
  clock.set_rate(2 * second, 1 + 400e-6L);
  Recording recording(clock, 12);
  recording.drain_evenly(0, 4 * second, 20 * millisecond, 0);
  // The first events of the last `kept_segments` drains, converted once more.
  for (std::size_t i = recording.events().size() - 60 * (ClockMap::kept_segments - 2); i < recording.events().size();
       ++i) {
    const Recording::Event& event = recording.events()[i];
    ASSERT_EQ(recording.map().to_ns(event.counter), event.time_ns);
  }
}

TEST(ClockMap, CommittedTimesStandAndLaterOnesAreNotEarlier) {
  SimulatedClock clock(2.596e9L);
  for (int i = 1; i < 200; ++i) {
    clock.set_rate(i * 20 * millisecond + 3 * millisecond, i % 2 == 0 ? 1.0005L : 0.9995L);
  }
  Recording recording(clock, 13);
  recording.drain_evenly(0, 4 * second, 20 * millisecond, 19 * millisecond);
  recording.take_pair(4 * second);
  recording.expect_times_never_go_back();
  const std::vector<Recording::Event>& events = recording.events();
  for (std::size_t i = events.size() - 60 * 100; i < events.size(); ++i) {
    ASSERT_EQ(recording.map().to_ns(events[i].counter), events[i].time_ns);
  }
}

TEST(ClockMap, IsRebuiltFromTheLastPairs) {
  SimulatedClock clock(2.596e9L);
  clock.set_rate(0, 1.00003L, 1e-6L);
  Recording recording(clock, 14);
  recording.drain_evenly(0, 5 * second, 20 * millisecond, millisecond);
  const std::span<const ClockPair> pairs(recording.pairs());
  ClockMap map(pairs.last(ClockMap::kept_segments));
  for (std::size_t i = recording.events().size() - 60 * 100; i < recording.events().size(); ++i) {
    const Recording::Event& event = recording.events()[i];
    ASSERT_NEAR(static_cast<double>(map.to_ns(event.counter)), static_cast<double>(event.true_ns), 1000);
  }
}

TEST(ClockMap, EqualPairsChangeNothing) {
  ClockMap map;
  const ClockPair pairs[] = {{1000, 5000, 2}, {2'000'000, 2'004'000, 2}, {4'000'000, 4'004'000, 2}};
  for (const ClockPair& pair : pairs) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(map.add(pair).has_value());
    }
  }
  EXPECT_EQ(map.to_ns(3'000'000), 3'004'000);
  EXPECT_EQ(map.to_ns(5'000'000), 5'004'000);
}

TEST(ClockMap, KnowsTheNominalRateBeforeItsPairs) {
  ClockMap map(0.5);
  EXPECT_EQ(map.to_ns(10), 5);
  map.add({1'000'000, 700'000, 0});
  EXPECT_EQ(map.to_ns(1'000'200), 700'100);
  EXPECT_EQ(map.to_ns(999'800), 699'900);
  EXPECT_EQ(map.to_ns(0), 200'000);
}

void expect_monotone_everywhere(const ClockMap& map, const std::vector<std::uint64_t>& counters) {
  ClockMap::Converter convert = map.converter();
  std::int64_t last_ns = 0;
  for (const std::uint64_t counter : counters) {
    const std::int64_t time_ns = convert(counter);
    ASSERT_GE(time_ns, last_ns) << counter;
    ASSERT_EQ(time_ns, map.to_ns(counter));
    last_ns = time_ns;
  }
}

// Values as damage leaves them: extremes, their neighbours, small steps, repetitions.
std::uint64_t hostile_value(std::mt19937_64& random, std::uint64_t before) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<std::uint64_t>::max() - random() % 3;
    case 2:
      return std::uint64_t{1} << (random() % 64);
    case 3:
      return before;
    case 4:
      return before - random() % 1000;
    case 5:
      return before + random() % 1'000'000'000;
    case 6:
      return random() >> (random() % 64);
    default:
      return before + random() % 1000;
  }
}

TEST(ClockMap, WithstandsAnyPairsAndStaysMonotone) {
  std::mt19937_64 random(15);
  for (int round = 0; round < 1000; ++round) {
    std::vector<ClockPair> pairs;
    std::vector<std::uint64_t> counters{0, 1, std::numeric_limits<std::uint64_t>::max()};
    std::uint64_t counter = 0;
    std::uint64_t ns = 0;
    ClockMap map(round % 2 == 0 ? 1.0 : 1e-300);
    for (int i = 0; i < 40; ++i) {
      counter = hostile_value(random, counter);
      ns = hostile_value(random, ns);
      const ClockPair pair{counter, static_cast<std::int64_t>(ns),
                           static_cast<std::uint32_t>(hostile_value(random, 0))};
      pairs.push_back(pair);
      counters.insert(counters.end(), {counter, counter - 1, counter + 1, random()});
      if (const auto uncertainty = map.add(pair)) {
        ASSERT_LE(uncertainty->start_ns, uncertainty->end_ns);
        ASSERT_GE(uncertainty->bound_ns, 0);
      }
      if (random() % 3 == 0) {
        map.commit(hostile_value(random, counter));
      }
    }
    std::sort(counters.begin(), counters.end());
    expect_monotone_everywhere(map, counters);
    expect_monotone_everywhere(ClockMap(pairs), counters);
  }
}

}  // namespace
}  // namespace kymo::record
