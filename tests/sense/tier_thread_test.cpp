#include "sense/sampler/tier_thread.hpp"
#include "base/system/clock.hpp"
#include "sense/sampler/read_times.hpp"

#include <unistd.h>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "sense/sampling_fixture.hpp"

namespace kymo::sense {
namespace {

using test::wait_until;

/// A source that a test plays: what it says comes from a function.
class PlayedSensor final : public Sensor {
 public:
  PlayedSensor(std::string name, std::function<double(PlayedSensor&)> play)
      : Sensor(std::move(name), Tier::fast, Cost::kernel), play_(std::move(play)) {
    add_metric(describe("played", "1", "test"));
  }
  using Sensor::rest_until;
  using Sensor::set_ended;
  using Sensor::set_trouble;
  using Sensor::set_unavailable;
  [[nodiscard]] std::uint64_t reads() const { return reads_; }

 protected:
  void read_source(std::int64_t now_ns) override {
    const double value = play_(*this);
    if (!is_unavailable()) {
      set_renewing(0, value, now_ns);
    }
    ++reads_;
  }

 private:
  std::function<double(PlayedSensor&)> play_;
  std::atomic<std::uint64_t> reads_{0};
};

/// A read that takes as long as a test wants.
class HeldRead {
 public:
  /// Called by the sensor.
  double value() {
    has_begun_ = true;
    while (!may_go_) {
      std::this_thread::yield();
    }
    return 1;
  }
  /// Returns this long after the first read began, however late its thread started.
  void hold_for(std::int64_t ns) {
    wait_until_begun();
    const std::int64_t start_ns = base::monotonic_now_ns();
    EXPECT_TRUE(wait_until([&] { return base::monotonic_now_ns() - start_ns > ns; }));
    release();
  }
  void wait_until_begun() const {
    EXPECT_TRUE(wait_until([this] { return has_begun_.load(); }));
  }
  void release() { may_go_ = true; }

 private:
  std::atomic<bool> has_begun_{false};
  std::atomic<bool> may_go_{false};
};

class TierThreadTest : public test::SamplingTest {
 protected:
  void TearDown() override {
    stop();
    SamplingTest::TearDown();
  }
  void start(double hz, std::function<double(PlayedSensor&)> play, double sensor_hz = 0) {
    state_.claim_machine = [] {};
    tier_.set_rate(hz);
    tier_.add(std::make_unique<PlayedSensor>("played", std::move(play)), sensor_hz == 0 ? hz : sensor_hz);
    tier_.start(state_);
  }
  /// Nothing is sampled any more once it returns.
  void stop() {
    state_.stop.raise();
    tier_.join();
  }

  SamplingState state_;
  TierThread tier_{Tier::fast};
};

TEST_F(TierThreadTest, EveryReadIsASampleAtItsTime) {
  start(1000, [next = 0.0](PlayedSensor&) mutable { return ++next; });
  ASSERT_TRUE(wait_until([&] { return tier_.ticks() >= 20; }));
  stop();
  const std::vector<double> values = values_of("played");
  ASSERT_EQ(values.size(), tier_.ticks());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<double>(i + 1));
  }
}

TEST_F(TierThreadTest, DeadlinesThatPassWhileASensorReadsAreCounted) {
  const std::int64_t start_ns = base::monotonic_now_ns();
  HeldRead read;
  start(1000, [&read](PlayedSensor&) { return read.value(); });
  read.hold_for(50'000'000);
  ASSERT_TRUE(wait_until([&] { return tier_.ticks() >= 2; }));
  stop();
  const auto periods = static_cast<std::uint64_t>((base::monotonic_now_ns() - start_ns) / 1'000'000);
  EXPECT_GE(tier_.missed_deadlines(), 40U);
  EXPECT_LE(tier_.ticks() + tier_.missed_deadlines(), periods + 2) << "each deadline is kept or missed, never both";
  EXPECT_EQ(values_of("sampler_missed_deadlines", "tier=fast").back(), static_cast<double>(tier_.missed_deadlines()));
}

TEST_F(TierThreadTest, ADeadlineThatSeveralSensorsMissIsMissedOnce) {
  // Sensors at multiples and fractions of the tier's rate. One of them reads for a while.
  const std::int64_t start_ns = base::monotonic_now_ns();
  HeldRead read;
  for (const double hz : {250.0, 500.0, 1000.0}) {
    tier_.add(std::make_unique<PlayedSensor>("idle", [](PlayedSensor&) { return 1.0; }), hz);
  }
  start(
      500, [&read](PlayedSensor&) { return read.value(); }, 1000);
  read.hold_for(50'000'000);
  ASSERT_TRUE(wait_until([&] { return tier_.ticks() >= 2; }));
  stop();
  const auto periods = static_cast<std::uint64_t>((base::monotonic_now_ns() - start_ns) / 1'000'000);
  EXPECT_GE(tier_.missed_deadlines(), 40U);
  EXPECT_LE(tier_.missed_deadlines(), periods + 1);
}

TEST_F(TierThreadTest, AReadThatDoesNotReturnIsNotWaitedForForEver) {
  HeldRead read;
  start(1000, [&read](PlayedSensor&) { return read.value(); });
  read.wait_until_begun();
  state_.stop.raise();
  EXPECT_FALSE(tier_.wait_for_end(std::chrono::milliseconds(1)));
  read.release();
  EXPECT_TRUE(tier_.wait_for_end(std::chrono::seconds(60)));
}

TEST_F(TierThreadTest, ATierWithoutDeadlinesOfItsOwnReadsAnAddedSensorAtOnce) {
  state_.claim_machine = [] {};
  // On a busy machine a single second may pass for other reasons.
  bool was_at_once = false;
  for (int attempt = 0; attempt < 20 && !was_at_once; ++attempt) {
    state_.stop.reset();
    TierThread medium(Tier::medium);
    medium.set_rate(10);
    const std::int64_t start_ns = base::monotonic_now_ns();
    medium.start(state_);
    ASSERT_TRUE(wait_until([&] { return medium.ticks() >= 1; }));
    std::atomic<std::int64_t> read_ns{0};
    medium.add(std::make_unique<PlayedSensor>("played",
                                              [&](PlayedSensor&) {
                                                read_ns = base::monotonic_now_ns();
                                                return 1.0;
                                              }),
               10);
    ASSERT_TRUE(wait_until([&] { return read_ns != 0; }));
    was_at_once = read_ns - start_ns < 1'000'000'000;
    state_.stop.raise();
    medium.join();
  }
  EXPECT_TRUE(was_at_once) << "it waited for the tier to keep its account";
}

TEST_F(TierThreadTest, ASensorMayHaveARateOfItsOwn) {
  start(
      10, [](PlayedSensor&) { return 1.0; }, 1000);
  ASSERT_TRUE(wait_until([&] { return values_of("played").size() >= 50; }));
  stop();
  EXPECT_LT(tier_.ticks() * 2, values_of("played").size());
}

TEST_F(TierThreadTest, ASourceThatFailsLeavesOneGapAndComesBack) {
  start(1000, [reads = 0](PlayedSensor& sensor) mutable {
    ++reads;
    if (reads > 5 && reads <= 6) {
      sensor.set_unavailable("it is gone");
    }
    return static_cast<double>(reads);
  });
  ASSERT_TRUE(wait_until([&] { return values_of("played").size() >= 8; })) << "it is tried again within a second or so";
  const std::vector<double> values = values_of("played");
  EXPECT_EQ(values[4], 5);
  EXPECT_TRUE(std::isnan(values[5]));
  EXPECT_EQ(values[6], 7) << "one gap, then values again";
}

TEST_F(TierThreadTest, AGapIsSaidOnceAndTheEndOfWhatIsMeasuredIsNone) {
  for (const bool has_ended : {true, false}) {
    ::testing::internal::CaptureStderr();
    state_.stop.reset();
    TierThread tier(Tier::fast);
    tier.set_rate(1000);
    state_.claim_machine = [] {};
    std::atomic<int> reads{0};
    tier.add(std::make_unique<PlayedSensor>("played",
                                            [&, has_ended](PlayedSensor& sensor) {
                                              if (++reads > 1) {
                                                has_ended ? sensor.set_ended("it has ended")
                                                          : sensor.set_unavailable("it is gone");
                                              }
                                              return 1.0;
                                            }),
             1000);
    tier.start(state_);
    EXPECT_TRUE(wait_until([&] { return reads >= 3; }));
    state_.stop.raise();
    tier.join();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, has_ended ? "" : "kymo: sensor played: it is gone; what it measures has a gap\n");
  }
}

TEST_F(TierThreadTest, RepeatedValuesOfASlowSourceAreStaleAndItsPaceIsMeasured) {
  // A new value with every tenth read.
  start(1000, [reads = std::uint64_t{0}](PlayedSensor&) mutable {
    const std::uint64_t renewals = reads++ / 10;
    return static_cast<double>(renewals);
  });
  const auto described = [this] {
    MetricDeclaration last;
    for (const EventBatch& batch : recorded()) {
      for (const MetricDeclaration& metric : batch.declarations.metrics) {
        last = metric.name == "played" ? metric : last;
      }
    }
    return last;
  };
  const auto count_of_stale = [this] {
    std::size_t count = 0;
    for (const EventBatch& batch : recorded()) {
      for (const SampleRun& run : batch.samples) {
        count += static_cast<std::size_t>(std::count(run.flags.begin(), run.flags.end(), SampleRun::stale));
      }
    }
    return count;
  };
  EXPECT_TRUE(wait_until([&] { return described().renewal_ns != 0 && count_of_stale() > 100; }));
  stop();
  EXPECT_NE(described().traits & MetricDeclaration::renewal_measured, 0U);
  EXPECT_GT(described().renewal_ns, 5'000'000);
}

TEST_F(TierThreadTest, ASensorThatRestsIsNotRead) {
  constexpr std::int64_t rest_ns = 20'000'000;
  const std::int64_t start_ns = base::monotonic_now_ns();
  start(1000, [](PlayedSensor& sensor) {
    sensor.rest_until(base::monotonic_now_ns() + rest_ns);
    return 1.0;
  });
  ASSERT_TRUE(wait_until([&] { return values_of("played").size() >= 5; }));
  stop();
  EXPECT_LE(static_cast<std::int64_t>(values_of("played").size()), (base::monotonic_now_ns() - start_ns) / rest_ns + 1);
  EXPECT_GE(tier_.missed_deadlines() + tier_.ticks(), 80U) << "the tier goes on meanwhile";
}

/// Another tier, one of whose sensors is a guest.
class GuestTest : public TierThreadTest {
 protected:
  void TearDown() override {
    stop_both();
    TierThreadTest::TearDown();
  }
  void start_with_guest(std::function<double(PlayedSensor&)> play) {
    home_.set_rate(100);
    tier_.set_rate(1000);
    tier_.add(std::make_unique<PlayedSensor>("guest", std::move(play)), 100, home_);
    start(1000, [this](PlayedSensor&) {
      thread_ = ::gettid();
      return -1.0;
    });
    home_.start(state_);
  }
  void stop_both() {
    stop();
    home_.join();
  }

  std::atomic<pid_t> thread_{0};
  std::atomic<pid_t> guests_thread_{0};
  std::atomic<std::uint64_t> guests_reads_{0};
  TierThread home_{Tier::medium};
};

TEST_F(GuestTest, IsReadAtItsOwnRateByTheThreadItVisits) {
  const std::int64_t start_ns = base::monotonic_now_ns();
  start_with_guest([this](PlayedSensor&) {
    guests_thread_ = ::gettid();
    ++guests_reads_;
    return 1.0;
  });
  ASSERT_TRUE(wait_until([&] { return guests_reads_ >= 10; }));
  stop_both();
  const auto periods = static_cast<std::uint64_t>((base::monotonic_now_ns() - start_ns) / 10'000'000);
  EXPECT_EQ(guests_thread_, thread_);
  EXPECT_LE(guests_reads_ + home_.missed_deadlines(), periods + 1) << "each of its deadlines is kept or missed";
  EXPECT_TRUE(tier_.has_deadlines_of(100));
  EXPECT_TRUE(tier_.has_deadlines_of(0.5));
  EXPECT_FALSE(tier_.has_deadlines_of(300));
}

TEST_F(GuestTest, GoesHomeWhereItTakesTooLong) {
  start_with_guest([this](PlayedSensor&) {
    guests_thread_ = ::gettid();
    const std::int64_t begin_ns = base::monotonic_now_ns();
    while (base::monotonic_now_ns() - begin_ns < 1'000'000) {
    }
    return static_cast<double>(++guests_reads_);
  });
  ASSERT_TRUE(wait_until([&] { return guests_reads_ >= 3 && guests_thread_ != thread_; }));
  const std::uint64_t reads = guests_reads_;
  ASSERT_TRUE(wait_until([&] { return guests_reads_ >= reads + 3; }));
  stop_both();
  double next = 1;
  for (const double value : values_of("played")) {
    if (value > 0) {
      ASSERT_EQ(value, next++) << "not a value is lost on the way";
    }
  }
  EXPECT_EQ(next, static_cast<double>(guests_reads_ + 1));
}

TEST(ReadTimes, WaitingIsToldFromComputing) {
  constexpr std::int64_t length_ns = 2'000'000;
  const auto cpu_ns = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  PlayedSensor waits("waits", [&](PlayedSensor&) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(length_ns));
    return 1.0;
  });
  PlayedSensor computes("computes", [&](PlayedSensor&) {
    for (const std::int64_t start_ns = cpu_ns(); cpu_ns() < start_ns + length_ns;) {
    }
    return 1.0;
  });
  ReadTimes of_waits;
  ReadTimes of_computes;
  EXPECT_EQ(of_waits.median().wall_ns, 0);
  for (int i = 0; i < 5; ++i) {
    of_waits.read(waits);
    of_computes.read(computes);
  }
  EXPECT_GE(of_waits.median().wall_ns, length_ns);
  EXPECT_LT(of_waits.median().cpu_ns, length_ns / 2.0);
  EXPECT_GE(of_computes.median().cpu_ns, length_ns);
}

TEST(ReadTimes, TheFastestSensibleRateIsBoundedByComputingWaitingAndRenewal) {
  EXPECT_EQ(fastest_sensible_hz({360e3, 20e3}, 0), 1000) << "a load that mostly waits for the driver";
  EXPECT_EQ(fastest_sensible_hz({360e3, 360e3}, 0), 100) << "5 % of a core are 138 such reads a second";
  EXPECT_EQ(fastest_sensible_hz({3e6, 20e3}, 0), 100) << "half of the time are 166 such reads a second";
  EXPECT_EQ(fastest_sensible_hz({360e3, 20e3}, 100'000'000), 10);
  EXPECT_EQ(fastest_sensible_hz({1e3, 1e3}, 0), 1000);
  EXPECT_EQ(fastest_sensible_hz({0, 0}, -5), 1000);
  EXPECT_EQ(fastest_sensible_hz({5e9, 5e9}, 0), 0.01);
}

}  // namespace
}  // namespace kymo::sense
