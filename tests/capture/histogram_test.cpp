// Bucket bounds and percentiles are checked against numbers that the reference implementations of HdrHistogram gave
// (hdrhistogram 0.10 for Python, with 3 significant digits), everything else against sorted vectors.
#include "capture/summary/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/format/bytes.hpp"
#include "capture/histogram_equality.hpp"

namespace kymo::capture {
namespace {

struct Bounds {
  std::int64_t value;
  std::int64_t lowest;
  std::int64_t highest;
};

constexpr Bounds reference_bounds[] = {
    {0, 0, 0},
    {1, 1, 1},
    {2, 2, 2},
    {1023, 1023, 1023},
    {1024, 1024, 1024},
    {2047, 2047, 2047},
    {2048, 2048, 2049},
    {2049, 2048, 2049},
    {4095, 4094, 4095},
    {4096, 4096, 4099},
    {4097, 4096, 4099},
    {8191, 8188, 8191},
    {8192, 8192, 8199},
    {65535, 65504, 65535},
    {65536, 65536, 65599},
    {1000000, 999936, 1000447},
    {999999999, 999817216, 1000341503},
    {1000000000000, 999653638144, 1000190509055},
    {3600000000000, 3599182594048, 3601330077695},
    {1099511627775, 1098974756864, 1099511627775},
    {1099511627776, 1099511627776, 1100585369599},
    {9007199254753337, 9007199254740992, 9015995347763199},
    {2305843010201348273, 2305843009213693952, 2308094809027379199},
    {60303799049, 60297314304, 60330868735},
    {104233, 104192, 104255},
    {147667, 147584, 147711},
    {541257248385753, 541234598772736, 541509476679679},
    {10551237579, 10544480256, 10552868863},
    {285753, 285696, 285951},
    {39576420068968808, 39547234227847168, 39582418599935999},
    {553062, 552960, 553471},
    {5905213324291147, 5902178417901568, 5906576464412671},
    {36752536, 36732928, 36765695},
    {43234321488971304, 43206408925085696, 43241593297174527},
    {118027014193, 117977382912, 118044491775},
    {17276352319969238, 17275526695616512, 17284322788638719},
    {105, 105, 105},
    {2579037, 2578432, 2580479},
    {243, 243, 243},
    {7545670732571, 7541962571776, 7546257539071},
    {64069869431829672, 64035557201674240, 64070741573763071},
    {10272099085, 10267656192, 10276044799},
    {39566625, 39550976, 39583743},
    {86837639, 86835200, 86900735},
    {31159127635, 31155290112, 31172067327},
    {14834415045, 14831058944, 14839447551},
    {1379841, 1379328, 1380351},
    {122061239, 122028032, 122093567},
};

/// The values that the reference was given: as many bits as one random number says, from another.
std::vector<std::int64_t> reference_values(std::size_t count, std::uint64_t most_bits) {
  std::uint64_t state = 88172645463325252U;
  const auto next = [&state] {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return state;
  };
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = next() % most_bits + 1;
    values.push_back(static_cast<std::int64_t>(next() >> (64 - bits)));
  }
  return values;
}

Histogram histogram_of(const std::vector<std::int64_t>& values) {
  Histogram histogram;
  for (const std::int64_t value : values) {
    histogram.record(value);
  }
  return histogram;
}

ByteBuffer bytes_of(const Histogram& histogram) {
  ByteBuffer bytes;
  histogram.append_to(bytes);
  return bytes;
}

Histogram read_back(const ByteBuffer& bytes) {
  ByteCursor cursor(bytes.bytes());
  Histogram histogram = Histogram::read_from(cursor);
  EXPECT_TRUE(cursor.at_end());
  return histogram;
}

/// Nearest rank, by sorting.
std::int64_t ranked(std::vector<std::int64_t> values, std::size_t rank) {
  std::sort(values.begin(), values.end());
  return values[rank - 1];
}

std::vector<std::int64_t> random_values(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<std::int64_t>(random() >> (1 + random() % 63)));
  }
  return values;
}

TEST(HistogramTest, BucketsHaveTheBoundsOfTheReference) {
  for (const Bounds& bounds : reference_bounds) {
    const std::uint32_t index = Histogram::index_of(bounds.value);
    EXPECT_EQ(Histogram::lowest_of(index), bounds.lowest) << bounds.value;
    EXPECT_EQ(Histogram::highest_of(index), bounds.highest) << bounds.value;
    if (bounds.value <= std::numeric_limits<std::uint32_t>::max()) {
      EXPECT_EQ(Histogram::index_of(static_cast<std::uint32_t>(bounds.value)), index);
    }
  }
}

TEST(HistogramTest, BucketsFollowEachOtherWithoutGapsOverAllOfInt64) {
  std::int64_t next = 0;
  for (std::uint32_t index = 0; index < Histogram::bucket_count; ++index) {
    ASSERT_EQ(Histogram::lowest_of(index), next);
    ASSERT_EQ(Histogram::index_of(Histogram::lowest_of(index)), index);
    ASSERT_EQ(Histogram::index_of(Histogram::highest_of(index)), index);
    // Three significant digits: a bucket is at most a thousandth of its values wide.
    ASSERT_LE(Histogram::highest_of(index) - next, next / 1000);
    next = static_cast<std::int64_t>(static_cast<std::uint64_t>(Histogram::highest_of(index)) + 1);
  }
  EXPECT_EQ(Histogram::highest_of(Histogram::bucket_count - 1), std::numeric_limits<std::int64_t>::max());
}

TEST(HistogramTest, PercentilesAreThoseOfTheReference) {
  const Histogram small = histogram_of(reference_values(1000, 20));
  const Histogram large = histogram_of(reference_values(20000, 36));
  const struct {
    double percentile;
    std::int64_t small;
    std::int64_t large;
  } expected[] = {{1, 0, 0},
                  {5, 1, 1},
                  {10, 2, 6},
                  {25, 22, 285},
                  {50, 617, 145023},
                  {75, 19199, 64126975},
                  {90, 130111, 2986344447},
                  {95, 273663, 11383341055},
                  {99, 708607, 41607495679},
                  {99.5, 875007, 55029268479},
                  {99.9, 1011711, 64726499327}};
  for (const auto& [percentile, in_small, in_large] : expected) {
    EXPECT_EQ(small.percentile_ns(percentile), in_small) << percentile;
    EXPECT_EQ(large.percentile_ns(percentile), in_large) << percentile;
  }
  // The reference gives the end of the last bucket here; the exact maximum is known.
  EXPECT_EQ(small.percentile_ns(100), 1022237);
  EXPECT_EQ(large.percentile_ns(100), 68579947693);
  EXPECT_EQ(small.total_ns(), 47307743U);
  EXPECT_EQ(large.total_ns(), 36780318300413U);
}

TEST(HistogramTest, PercentilesAreTheNearestRankWithinOneBucket) {
  for (const std::size_t count : {1U, 2U, 3U, 10U, 999U, 5000U}) {
    const std::vector<std::int64_t> values = random_values(count, count);
    const Histogram histogram = histogram_of(values);
    for (const int tenths : {1, 10, 250, 333, 500, 900, 950, 990, 999}) {
      const std::size_t rank = std::max<std::size_t>(1, (count * static_cast<std::size_t>(tenths) + 999) / 1000);
      const std::int64_t exact = ranked(values, rank);
      const std::int64_t given = histogram.percentile_ns(tenths / 10.0);
      EXPECT_EQ(Histogram::index_of(given), Histogram::index_of(exact)) << count << " values, " << tenths;
      EXPECT_GE(given, exact);
      EXPECT_LE(given, histogram.max_ns());
    }
    EXPECT_EQ(histogram.percentile_ns(0), ranked(values, 1));
    EXPECT_EQ(histogram.percentile_ns(100), ranked(values, count));
  }
}

TEST(HistogramTest, NoPercentileIsOutsideTheExactExtremes) {
  const Histogram one = histogram_of({1'234'567});
  for (const double percentile : {-1.0, 0.0, 50.0, 100.0, 200.0, std::nan("")}) {
    EXPECT_EQ(one.percentile_ns(percentile), 1'234'567);
  }
}

TEST(HistogramTest, CountSumAndExtremesAreExact) {
  const std::vector<std::int64_t> values = random_values(7, 3000);
  std::vector<std::int64_t> small = values;
  std::uint64_t sum = 0;
  for (std::int64_t& value : small) {
    value >>= 12;
    sum += static_cast<std::uint64_t>(value);
  }
  const Histogram histogram = histogram_of(small);
  EXPECT_EQ(histogram.count(), small.size());
  EXPECT_EQ(histogram.total_ns(), sum);
  EXPECT_EQ(histogram.min_ns(), *std::min_element(small.begin(), small.end()));
  EXPECT_EQ(histogram.max_ns(), *std::max_element(small.begin(), small.end()));
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), static_cast<double>(sum) / static_cast<double>(small.size()));
}

TEST(HistogramTest, AnEmptyOneSaysZero) {
  const Histogram empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.min_ns(), 0);
  EXPECT_EQ(empty.max_ns(), 0);
  EXPECT_EQ(empty.mean_ns(), 0.0);
  EXPECT_EQ(empty.percentile_ns(50), 0);
  EXPECT_EQ(read_back(bytes_of(empty)), empty);
}

TEST(HistogramTest, NegativeDurationsCountAsZeroAndSumsSaturate) {
  Histogram histogram = histogram_of({-5, std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(histogram.max_ns(), 0);
  EXPECT_EQ(histogram.total_ns(), 0U);
  for (int i = 0; i < 3; ++i) {
    histogram.record(std::numeric_limits<std::int64_t>::max());
  }
  EXPECT_EQ(histogram.total_ns(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.count(), 5U);
}

TEST(HistogramTest, ManyValuesInOneBucketAreAllCounted) {
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    histogram.record(700);
  }
  const auto counts = [&histogram] {
    std::vector<std::uint64_t> found;
    histogram.for_each_bucket([&](const Histogram::Bucket& bucket) { found.push_back(bucket.count); });
    return found;
  };
  EXPECT_EQ(counts(), std::vector<std::uint64_t>{100'000});
  // Beyond what 32 bits hold: doubled often enough.
  for (int i = 0; i < 20; ++i) {
    const Histogram half = histogram;
    histogram.merge(half);
  }
  EXPECT_EQ(counts(), std::vector<std::uint64_t>{std::uint64_t{100'000} << 20U});
  EXPECT_EQ(histogram.count(), std::uint64_t{100'000} << 20U);
  EXPECT_EQ(histogram.percentile_ns(50), 700);
  EXPECT_EQ(read_back(bytes_of(histogram)), histogram);
}

TEST(HistogramTest, RecordingManyAtOnceIsRecordingEach) {
  Histogram each;
  Histogram all;
  all.record_all(0, [](std::uint32_t) { return 1U; });
  EXPECT_EQ(all, each);
  const auto record = [&](const std::vector<std::uint32_t>& values) {
    std::for_each(values.begin(), values.end(), [&each](std::uint32_t value) { each.record(value); });
    all.record_all(static_cast<std::uint32_t>(values.size()), [&](std::uint32_t i) { return values[i]; });
  };
  const std::vector<std::int64_t> random = random_values(3, 10'000);
  for (auto next = random.begin(); next != random.end(); next += 250) {
    record({next, next + 250});
  }
  EXPECT_EQ(all, each);
  // Durations of one page, at both of its ends, and such that its bytes wrap around.
  for (const std::uint32_t least : {0U, 64U, 1984U, 2048U, 4032U, 1U << 20U, 4'290'772'992U}) {
    const std::uint32_t width = std::max(1U, least >> 11U) * 64;
    for (std::uint32_t count = 1; count <= 255; ++count) {
      std::vector<std::uint32_t> values;
      for (std::uint32_t i = 0; i < count; ++i) {
        values.push_back(least + (i % 3 == 0 ? 0 : i % 5 == 0 ? width - 1 : (i * i) % width));
      }
      record(values);
    }
    EXPECT_EQ(all, each) << least;
  }
  record(std::vector<std::uint32_t>(255, 7));
  record(std::vector<std::uint32_t>(255, 7));
  EXPECT_EQ(all, each);
}

TEST(HistogramTest, MergingIsRecordingBoth) {
  const std::vector<std::int64_t> first = random_values(11, 4000);
  const std::vector<std::int64_t> second = random_values(12, 100);
  Histogram merged = histogram_of(first);
  merged.merge(histogram_of(second));
  merged.merge(Histogram());
  std::vector<std::int64_t> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(merged, histogram_of(both));
}

TEST(HistogramTest, WhatIsSeldomCountedTakesAByteABucketAlsoMergedAndReadBack) {
  Histogram merged;
  for (int i = 0; i < 255; ++i) {
    merged.merge(histogram_of({700}));
  }
  EXPECT_LE(merged.heap_bytes(), 66U);
  EXPECT_LE(read_back(bytes_of(merged)).heap_bytes(), 66U);
  // One more does not fit a byte.
  Histogram by_merge = merged;
  by_merge.merge(histogram_of({700, 701}));
  Histogram by_record = merged;
  by_record.record(700);
  by_record.record(701);
  std::vector<std::int64_t> all(256, 700);
  all.push_back(701);
  for (const Histogram& histogram : {by_merge, by_record, read_back(bytes_of(by_merge))}) {
    EXPECT_EQ(histogram, histogram_of(all));
  }
}

TEST(HistogramTest, AClearedOneIsAsGoodAsNew) {
  Histogram histogram = histogram_of(random_values(1, 5000));
  histogram.merge(histogram_of(random_values(2, 5000)));
  histogram.clear();
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram, Histogram());
  EXPECT_EQ(bytes_of(histogram).size(), bytes_of(Histogram()).size());
  histogram.record(5);
  EXPECT_EQ(histogram, histogram_of({5}));
}

TEST(HistogramTest, BucketsAreVisitedInOrderAndAddUp) {
  const std::vector<std::int64_t> values = random_values(21, 2000);
  std::uint64_t count = 0;
  std::int64_t before = -1;
  histogram_of(values).for_each_bucket([&](const Histogram::Bucket& bucket) {
    EXPECT_GT(bucket.lowest_ns, before);
    before = bucket.highest_ns;
    count += bucket.count;
    const auto within = std::count_if(values.begin(), values.end(), [&](std::int64_t value) {
      return value >= bucket.lowest_ns && value <= bucket.highest_ns;
    });
    EXPECT_EQ(bucket.count, static_cast<std::uint64_t>(within));
  });
  EXPECT_EQ(count, values.size());
}

TEST(HistogramTest, BytesReadBackToTheSame) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Histogram histogram = histogram_of(random_values(seed, seed * seed * 7));
    EXPECT_EQ(read_back(bytes_of(histogram)), histogram);
  }
}

TEST(HistogramTest, BytesAreFew) {
  // 100,000 log-normal durations touch some thousand buckets; the spread of their counts takes under a byte each.
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    histogram.record(static_cast<std::int64_t>(700 * std::exp(normal(random))));
  }
  std::size_t buckets = 0;
  histogram.for_each_bucket([&](const Histogram::Bucket&) { ++buckets; });
  EXPECT_LT(bytes_of(histogram).size(), buckets);
}

TEST(HistogramTest, BytesCutAnywhereAreRefused) {
  const ByteBuffer bytes = bytes_of(histogram_of(random_values(9, 300)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteCursor cursor(bytes.bytes().first(size));
    EXPECT_THROW(static_cast<void>(Histogram::read_from(cursor)), DecodeError) << size;
  }
}

TEST(HistogramTest, DamagedBytesAreRefusedOrReadAsSomeHistogram) {
  std::mt19937_64 random(99);
  const ByteBuffer sound = bytes_of(histogram_of(random_values(8, 400)));
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> bytes(sound.bytes().begin(), sound.bytes().end());
    for (std::uint64_t i = 0; i <= random() % 4; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    ByteCursor cursor{std::span<const std::byte>(bytes)};
    try {
      const Histogram histogram = Histogram::read_from(cursor);
      EXPECT_LE(histogram.min_ns(), histogram.percentile_ns(50));
      EXPECT_LE(histogram.percentile_ns(50), histogram.max_ns());
      EXPECT_LT(histogram.heap_bytes(), 1'000'000U);
    } catch (const DecodeError&) {
    }
  }
}

}  // namespace
}  // namespace kymo::capture
