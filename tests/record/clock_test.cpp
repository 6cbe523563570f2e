// Reads of the real clocks. The reads' own brackets are the oracle, so that a thread that is interrupted in the middle
// of one fails nothing.
#include "record/clock/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "record/clock/clock_map.hpp"

namespace kymo::record {
namespace {

/// A directory that looks like the root of a machine with the given clock sources.
class FakeMachine {
 public:
  FakeMachine(const std::string& current, const std::string& available) {
    std::string pattern = (std::filesystem::temp_directory_path() / "kymo-clock-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    const std::filesystem::path folder = root_ / "sys/devices/system/clocksource/clocksource0";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "current_clocksource") << current;
    std::ofstream(folder / "available_clocksource") << available;
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine() { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

#if defined(__x86_64__)

/// Whether the kernel found that the counter has a constant rate in every power state.
bool has_invariant_counter() {
  std::ifstream file("/proc/cpuinfo");
  const std::string facts{std::istreambuf_iterator<char>(file), {}};
  return facts.find(" nonstop_tsc") != std::string::npos;
}

TEST(KernelTrustsCounter, WhereTscIsCurrentOrAvailable) {
  const FakeMachine current("tsc\n", "");
  const FakeMachine available("kvm-clock\n", "kvm-clock tsc acpi_pm \n");
  EXPECT_EQ(kernel_trusts_counter(current.root()), has_invariant_counter());
  EXPECT_EQ(kernel_trusts_counter(available.root()), has_invariant_counter());
}

TEST(KernelTrustsCounter, NotWhereTheKernelHidTsc) {
  EXPECT_FALSE(kernel_trusts_counter(FakeMachine("hpet\n", "hpet acpi_pm\n").root()));
  EXPECT_FALSE(kernel_trusts_counter(FakeMachine("tsc-early\n", "tsc-early\n").root()));
  EXPECT_FALSE(kernel_trusts_counter(FakeMachine("", " \n").root()));
}

TEST(KernelTrustsCounter, NotWhereItDoesNotSay) {
  EXPECT_FALSE(kernel_trusts_counter("/nonexistent"));
}

#endif

#if defined(__aarch64__)

// Read here by instructions of the test's own.
TEST(GenericTimer, IsTheCounterAndItsRegisterTellsTheStep) {
  std::uint64_t frequency_hz = 0;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency_hz));
  ASSERT_GT(frequency_hz, 0U);
  EXPECT_TRUE(counter_in_use());
  EXPECT_STREQ(counter_name(), "cntvct");
  EXPECT_DOUBLE_EQ(counter_step_ns(), 1e9 / static_cast<double>(frequency_hz));
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  __asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(before)::"memory");
  const std::uint64_t between = read_counter();
  __asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(after)::"memory");
  EXPECT_LE(before, between);
  EXPECT_LE(between, after);
}

TEST(GenericTimer, NeedsNoListOfClockSources) {
  EXPECT_TRUE(kernel_trusts_counter("/nonexistent"));
}

#endif

TEST(StepOfFrequency, IsAsFineAsTheTimersOfBoardsAre) {
  EXPECT_DOUBLE_EQ(step_of_frequency_ns(31'250'000), 32.0);  // Jetson Orin
  EXPECT_DOUBLE_EQ(step_of_frequency_ns(62'500'000), 16.0);
  EXPECT_DOUBLE_EQ(step_of_frequency_ns(1'000'000'000), 1.0);
}

TEST(StepOfFrequency, IsNoneWhereTheRegisterWasNotSet) {
  EXPECT_EQ(step_of_frequency_ns(0), 0);
  EXPECT_EQ(step_of_frequency_ns(1), 0);
  EXPECT_EQ(step_of_frequency_ns(~std::uint64_t{0}), 0);
}

TEST(ReadClockPair, LiesBetweenTheReadsAroundIt) {
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = counter_in_use() ? read_counter() : monotonic_ns();
    const std::uint64_t before_ns = monotonic_ns();
    const ClockPair pair = read_clock_pair();
    const std::uint64_t after_ns = monotonic_ns();
    const std::uint64_t after = counter_in_use() ? read_counter() : monotonic_ns();
    ASSERT_LE(before_ns, static_cast<std::uint64_t>(pair.monotonic_ns));
    ASSERT_LE(static_cast<std::uint64_t>(pair.monotonic_ns), after_ns);
    ASSERT_LE(before, pair.counter);
    ASSERT_LE(pair.counter, after);
    ASSERT_LE(pair.bracket, after - before);
  }
}

TEST(ReadClockAnchor, StatesHowFarApartItsReadsWere) {
  const std::uint64_t before_ns = monotonic_ns();
  const ClockAnchor anchor = read_clock_anchor();
  const std::uint64_t after_ns = monotonic_ns();
  EXPECT_GE(anchor.bound_ns, 0);
  EXPECT_GE(anchor.monotonic_ns - anchor.bound_ns / 2, static_cast<std::int64_t>(before_ns));
  EXPECT_LE(anchor.monotonic_ns + anchor.bound_ns / 2, static_cast<std::int64_t>(after_ns));
  EXPECT_GT(anchor.realtime_ns, 1'000'000'000'000'000'000);
}

TEST(CounterName, GoesWithTheCounterInUse) {
  const std::string name = counter_name();
  EXPECT_EQ(name == "clock_monotonic", !counter_in_use());
  if (!counter_in_use()) {
    EXPECT_EQ(counter_step_ns(), 1.0);
  }
}

void spin_until_ns(std::uint64_t deadline_ns) {
  while (monotonic_ns() < deadline_ns) {
  }
}

std::uint64_t stamp() {
  return counter_in_use() ? read_counter() : monotonic_ns();
}

TEST(CounterStep, IsTheRateBetweenTwoPairs) {
  const double step_ns = counter_step_ns();
  const ClockPair first = read_clock_pair();
  spin_until_ns(static_cast<std::uint64_t>(first.monotonic_ns) + 20'000'000);
  const ClockPair last = read_clock_pair();
  const auto counts = static_cast<double>(last.counter - first.counter);
  const auto passed_ns = static_cast<double>(last.monotonic_ns - first.monotonic_ns);
  const double noise = (first.bracket + last.bracket) / counts;
  EXPECT_NEAR(passed_ns / counts / step_ns, 1.0, 0.01 + noise);
}

TEST(RealClock, ConvertedCountsLieBetweenTheClockReadsAroundThem) {
  struct Event {
    std::int64_t before_ns;
    std::uint64_t counter;
    std::int64_t after_ns;
  };
  const double step_ns = counter_step_ns();
  ClockMap map(step_ns);
  std::vector<Event> events;
  std::vector<ClockUncertainty> uncertainties;
  std::uint32_t widest_bracket = 0;
  for (int drain = 0; drain < 40; ++drain) {
    const ClockPair pair = read_clock_pair();
    widest_bracket = std::max(widest_bracket, pair.bracket);
    if (const auto uncertainty = map.add(pair)) {
      uncertainties.push_back(*uncertainty);
    }
    for (std::uint64_t i = 0; i < 50; ++i) {
      spin_until_ns(static_cast<std::uint64_t>(pair.monotonic_ns) + i * 30'000);
      Event event{};
      event.before_ns = static_cast<std::int64_t>(monotonic_ns());
      event.counter = stamp();
      event.after_ns = static_cast<std::int64_t>(monotonic_ns());
      events.push_back(event);
    }
  }
  const ClockPair last = read_clock_pair();
  widest_bracket = std::max(widest_bracket, last.bracket);
  if (const auto uncertainty = map.add(last)) {
    uncertainties.push_back(*uncertainty);
  }

  const auto bracket_ns = static_cast<std::int64_t>(step_ns * widest_bracket);
  ClockMap::Converter convert = map.converter();
  for (const Event& event : events) {
    const std::int64_t time_ns = convert(event.counter);
    std::int64_t slack_ns = bracket_ns + ClockMap::tolerance_ns;
    for (const ClockUncertainty& uncertainty : uncertainties) {
      if (time_ns >= uncertainty.start_ns && time_ns <= uncertainty.end_ns) {
        slack_ns += uncertainty.bound_ns;
      }
    }
    ASSERT_GE(time_ns, event.before_ns - slack_ns);
    ASSERT_LE(time_ns, event.after_ns + slack_ns);
  }
}

}  // namespace
}  // namespace kymo::record
