#include "sense/common/renewal.hpp"
#include "support/nanoseconds.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <random>

namespace kymo::sense {
namespace {

using test::ms;

/// Reads a source that makes a new value every `renewal_ns`, for two seconds.
RenewalMeter watch(std::int64_t renewal_ns, std::int64_t period_ns, std::int64_t jitter_ns = 0) {
  RenewalMeter meter;
  std::mt19937 random(5);
  for (std::int64_t now = 1; now < 2'000 * ms; now += period_ns) {
    const std::int64_t late = jitter_ns == 0 ? 0 : static_cast<std::int64_t>(random()) % jitter_ns;
    meter.take(std::floor(static_cast<double>(now + late) / static_cast<double>(renewal_ns)), now + late);
  }
  return meter;
}

TEST(RenewalMeter, FindsThePaceOfASourceThatIsReadMoreOften) {
  EXPECT_NEAR(static_cast<double>(watch(100 * ms, 1 * ms).renewal_ns()), 100e6, 1e6);
  EXPECT_NEAR(static_cast<double>(watch(100 * ms, 1 * ms, 500'000).renewal_ns()), 100e6, 1e6);
  EXPECT_NEAR(static_cast<double>(watch(25 * ms, 4 * ms).renewal_ns()), 25e6, 4e6);
}

TEST(RenewalMeter, DoesNotKnowThePaceOfASourceThatIsReadMoreSeldom) {
  EXPECT_EQ(watch(1 * ms, 10 * ms).renewal_ns(), 0);
  EXPECT_EQ(watch(10 * ms, 10 * ms).renewal_ns(), 0);
}

TEST(RenewalMeter, AValueThatIsTooYoungToBeRenewedIsTold) {
  RenewalMeter meter;
  for (std::int64_t now = ms; now <= 2'000 * ms; now += ms) {
    const bool is_new = meter.take(std::floor(static_cast<double>(now) / 100e6), now);
    if (now > 1'900 * ms && now < 1'980 * ms) {
      EXPECT_EQ(is_new, now == 1'900 * ms);
      EXPECT_TRUE(meter.is_within_renewal(now));
    }
  }
  EXPECT_FALSE(meter.is_within_renewal(2'400 * ms));
}

TEST(RenewalMeter, AGapIsNoRepeatedValue) {
  RenewalMeter meter;
  EXPECT_TRUE(meter.take(5, 1 * ms));
  EXPECT_TRUE(meter.take(std::nan(""), 2 * ms));
  EXPECT_TRUE(meter.take(5, 3 * ms));
  EXPECT_FALSE(meter.take(5, 4 * ms));
}

}  // namespace
}  // namespace kymo::sense
