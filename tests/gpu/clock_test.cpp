// A GPU's clock on the processor's: drift, bounds, wrapping, clocks that are set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "gpu/gpu_clock.hpp"

namespace kymo::gpu {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

/// A clock that is known exactly: it runs off by a share of its rate, and wraps.
struct TrueClock {
  double ns_per_tick = 1;
  double drift = 0;
  std::uint64_t first_ticks = 0;
  unsigned valid_bits = 64;

  [[nodiscard]] std::uint64_t at(std::int64_t cpu_ns) const {
    const auto ticks =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(cpu_ns) / (ns_per_tick * (1 + drift))));
    const std::uint64_t all = first_ticks + ticks;
    return valid_bits == 64 ? all : all & ((std::uint64_t{1} << valid_bits) - 1);
  }
};

TEST(GpuClockTest, DriftIsCorrectedWithinTheBoundThatIsTold) {
  // 200 ppm off, seen every 100 ms through readings that are off by up to 900 ns.
  TrueClock real;
  real.ns_per_tick = 52.08;
  real.drift = 2e-4;
  GpuClock clock({real.ns_per_tick, 64});
  EXPECT_FALSE(clock.is_known());
  std::int64_t now = 5 * second_ns;
  for (int i = 0; i < 300; ++i, now += second_ns / 10) {
    const std::int64_t error = (i * 7919) % 1801 - 900;
    clock.add({real.at(now), now + error, 1000});
    for (const std::int64_t ago : {0LL, 20'000'000LL, 90'000'000LL}) {
      const BoundedTime time = clock.time_of(real.at(now - ago));
      EXPECT_LE(std::abs(time.ns - (now - ago)), time.bound_ns + 53) << i << " " << ago;
    }
  }
  // By now the rate is known so well that a tenth of a second adds little.
  const BoundedTime late = clock.time_of(real.at(now));
  EXPECT_LE(late.bound_ns, 2000);
  EXPECT_LE(std::abs(late.ns - now), 2000);
  EXPECT_NEAR(static_cast<double>(clock.duration_ns(real.at(now), real.at(now + second_ns))), 1e9, 1000);
}

TEST(GpuClockTest, BeforeTheRateIsKnownTheBoundGrowsWithTheDistance) {
  TrueClock real;
  real.drift = 4e-4;
  GpuClock clock({1, 64});
  clock.add({real.at(second_ns), second_ns, 100});
  const BoundedTime near = clock.time_of(real.at(second_ns + 1'000'000));
  EXPECT_LE(near.bound_ns, 700);
  const BoundedTime far = clock.time_of(real.at(2 * second_ns));
  EXPECT_LE(std::abs(far.ns - 2 * second_ns), far.bound_ns);
  EXPECT_GE(far.bound_ns, 400'000);
}

TEST(GpuClockTest, CountersThatWrapGoOn) {
  // 32 bits of nanoseconds: a turn lasts 4.3 s.
  TrueClock real;
  real.valid_bits = 32;
  real.first_ticks = 0xFFFF'0000;
  GpuClock clock({1, 32});
  for (std::int64_t now = second_ns; now < 30 * second_ns; now += second_ns / 2) {
    clock.add({real.at(now), now, 200});
    const std::int64_t then = now - 300'000'000;
    const BoundedTime time = clock.time_of(real.at(then));
    EXPECT_LE(std::abs(time.ns - then), time.bound_ns);
    EXPECT_EQ(clock.duration_ns(real.at(then), real.at(now)), 300'000'000);
  }
}

TEST(GpuClockTest, BitsBeyondTheValidOnesSayNothing) {
  GpuClock clock({1, 36});
  clock.add({0xFFFF'F000'0000'1000U, second_ns, 10});
  EXPECT_EQ(clock.time_of(0x0000'0000'0000'1400U).ns, second_ns + 0x400);
}

TEST(GpuClockTest, AClockThatWasNotSeenForHalfATurnBeginsAnew) {
  TrueClock real;
  real.valid_bits = 32;
  GpuClock clock({1, 32});
  clock.add({real.at(second_ns), second_ns, 100});
  const std::int64_t later = 8 * second_ns + 123;
  clock.add({real.at(later), later, 5000});
  EXPECT_EQ(clock.time_of(real.at(later)).ns, later);
}

TEST(GpuClockTest, AClockThatWasSetIsFollowed) {
  GpuClock clock({1, 64});
  clock.add({1000, second_ns, 100});
  clock.add({1000 + second_ns, 2 * second_ns, 100});
  // It began at zero again: the device woke up.
  clock.add({77, 3 * second_ns, 100});
  EXPECT_EQ(clock.time_of(77).ns, 3 * second_ns);
  EXPECT_EQ(clock.time_of(1077).ns, 3 * second_ns + 1000);
}

TEST(GpuClockTest, APairThatIsKnownWorseThanWhatIsExpectedIsLeft) {
  GpuClock clock({1, 64});
  clock.add({0, second_ns, 100});
  clock.add({static_cast<std::uint64_t>(second_ns), 2 * second_ns, 100});
  clock.add({static_cast<std::uint64_t>(2 * second_ns), 3 * second_ns + 900'000, 1'000'000});
  EXPECT_EQ(clock.time_of(static_cast<std::uint64_t>(2 * second_ns)).ns, 3 * second_ns);
}

TEST(GpuClockTest, NonsenseStaysANumber) {
  GpuClock clock({1e6, 64});
  clock.add({0, second_ns, 100});
  EXPECT_LT(clock.time_of(~std::uint64_t{0} / 2).ns, std::int64_t{2'000'000'000'000'000'000});
  EXPECT_EQ(clock.duration_ns(10, 5), 0);
}

}  // namespace
}  // namespace kymo::gpu
