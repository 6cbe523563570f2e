#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capture/format/bytes.hpp"
#include "capture/summary/accumulator.hpp"
#include "capture/summary/builder.hpp"
#include "capture/summary/summary.hpp"
#include "capture/summary/totals.hpp"
#include "capture/summary_oracle.hpp"
#include "support/rounds.hpp"
#include "support/scope_model.hpp"

namespace kymo::capture {
namespace {

using test::BinKey;
using test::coverage_of;
using test::expect_same_tables;
using test::expect_sites;
using test::expected_coverage;
using test::ModelShape;
using test::ScopeModel;

Summary decoded(const FinishedSummary& finished) {
  Summary summary = decode_summary(finished.payload);
  EXPECT_EQ(summary.level, finished.level);
  EXPECT_EQ(summary.start_ns, finished.start_ns);
  EXPECT_EQ(summary.end_ns, finished.end_ns);
  EXPECT_EQ(summary.scope_events, finished.scope_events);
  return summary;
}

/// Two blocks a summary, three summaries a level.
SummaryIntervals small_intervals() {
  SummaryIntervals intervals;
  intervals.most_blocks = 2;
  intervals.merged = 3;
  return intervals;
}

/// A small capture in memory: every third number is a block of another kind, as in a file.
struct Recording {
  ScopeModel model;
  std::vector<EventBatch> batches;
  std::vector<Summary> summaries;

  static std::uint32_t number_of(std::size_t batch) { return static_cast<std::uint32_t>(1 + batch + batch / 2); }

  explicit Recording(std::uint64_t seed, std::size_t count, SummaryIntervals intervals = small_intervals(),
                     ModelShape shape = {})
      : model(seed, shape) {
    SummaryBuilder builder(intervals);
    std::mt19937_64 random(seed);
    std::int64_t frame_ns = 0;
    for (std::size_t i = 0; i < count; ++i) {
      EventBatch& batch = batches.emplace_back(model.next(50 + random() % 300));
      add_others(batch, random, frame_ns);
      for (const FinishedSummary& finished : builder.add(batch, number_of(i))) {
        summaries.push_back(decoded(finished));
      }
    }
    for (const FinishedSummary& finished : builder.finish()) {
      summaries.push_back(decoded(finished));
    }
  }

  [[nodiscard]] std::vector<Summary> of_level(std::uint8_t level) const {
    std::vector<Summary> found;
    std::copy_if(summaries.begin(), summaries.end(), std::back_inserter(found),
                 [&](const Summary& summary) { return summary.level == level; });
    return found;
  }

 private:
  static void add_others(EventBatch& batch, std::mt19937_64& random, std::int64_t& frame_ns) {
    frame_ns = std::max(frame_ns, batch.start_ns);
    for (int i = 0; i < 5; ++i) {
      batch.frame_marks.push_back({1, 1, frame_ns});
      frame_ns += static_cast<std::int64_t>(random() % 10'000);
    }
    SampleRun samples;
    samples.metric = 4;
    for (int i = 0; i < 6; ++i) {
      samples.times_ns.push_back(batch.start_ns + i);
      samples.values.push_back(static_cast<double>(random() % 1000) / 8);
    }
    batch.samples.push_back(samples);
    SpanEvent span;
    span.track = 9;
    span.name = 3;
    span.start_ns = batch.start_ns;
    span.duration_ns = static_cast<std::int64_t>(random() % 20'000);
    batch.spans.push_back(span);
    batch.runs[0].dropped_scopes = static_cast<std::uint64_t>(batch.start_ns / 1000);
  }
};

TEST(SummaryTest, SitesAreWhatTheScopesOfAllBatchesAmountTo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ModelShape shape;
    shape.unbalanced_percent = seed % 2 * 15;
    ScopeModel model(seed, shape);
    SummaryAccumulator accumulator;
    for (std::uint32_t i = 0; i < 8; ++i) {
      accumulator.add(model.next(seed * 40), i);
    }
    expect_sites(accumulator.complete(true), model, 0, 8);
  }
}

TEST(SummaryTest, SummariesOfAStretchHoldTheScopesThatEndedInIt) {
  const Recording recording(3, 13);
  std::size_t next = 0;
  for (const Summary& summary : recording.of_level(0)) {
    EXPECT_EQ(summary.first_block, Recording::number_of(next));
    EXPECT_EQ(summary.last_block, Recording::number_of(next + static_cast<std::size_t>(summary.blocks) - 1));
    expect_sites(summary, recording.model, next, next + static_cast<std::size_t>(summary.blocks));
    next += static_cast<std::size_t>(summary.blocks);
  }
  EXPECT_EQ(next, 13U);
}

TEST(SummaryTest, ScopesLongerThanFourSecondsAreCounted) {
  EventBatch batch;
  batch.end_ns = 10'000'000'000;
  batch.runs.resize(1);
  batch.runs[0].track = 1;
  batch.runs[0].events = {{0, 1, 0, 0}, {9'000'000'000, 0, 0, 0}};
  SummaryAccumulator accumulator;
  accumulator.add(batch, 0);
  EXPECT_EQ(accumulator.complete(true).sites.find(1)->durations.max_ns(), 9'000'000'000);
}

TEST(SummaryTest, EveryBinHoldsTheTimeThatWasReallyCoveredInIt) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    ModelShape shape;
    shape.deepest = seed * 2;
    ScopeModel model(seed, shape);
    SummaryAccumulator accumulator;
    std::int64_t end_ns = 0;
    for (std::uint32_t i = 0; i < 6; ++i) {
      const EventBatch batch = model.next(seed * 50);
      end_ns = batch.end_ns;
      accumulator.add(batch, i);
    }
    const Summary& summary = accumulator.complete(true);
    EXPECT_EQ(coverage_of(summary), expected_coverage(model, summary.coverage.shift(), end_ns)) << "seed " << seed;
    for (const CoverageRow& row : summary.coverage.rows()) {
      EXPECT_LE(row.bins.size(), Coverage::most_bins);
    }
  }
}

TEST(SummaryTest, CoveredTimeIsCountedOnceWhereverASummaryEnds) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    ScopeModel model(seed);
    SummaryAccumulator accumulator;
    Summary total;
    std::int64_t end_ns = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      const EventBatch batch = model.next(seed * 20);
      end_ns = batch.end_ns;
      accumulator.add(batch, i);
      if (i % 3 == 2 || i == 19) {
        total.merge(accumulator.complete(i == 19));
        accumulator.begin_next();
      }
    }
    EXPECT_EQ(coverage_of(total), expected_coverage(model, total.coverage.shift(), end_ns)) << "seed " << seed;
    expect_sites(total, model, 0, 20);
  }
}

TEST(SummaryTest, AScopeThatNeverClosesIsSeenInEverySummary) {
  SummaryIntervals intervals;
  intervals.most_blocks = 1;
  SummaryBuilder builder(intervals);
  std::vector<FinishedSummary> finished;
  for (std::uint32_t i = 0; i < 5; ++i) {
    EventBatch batch;
    batch.start_ns = 1'000'000 * std::int64_t{i};
    batch.end_ns = batch.start_ns + 1'000'000;
    batch.runs.resize(1);
    batch.runs[0].track = 1;
    if (i == 0) {
      batch.runs[0].events = {{0, 7, 0, 0}};
    } else {
      batch.runs[0].open_at_start = {{0, 7}};
    }
    for (FinishedSummary& summary : builder.add(batch, i)) {
      finished.push_back(std::move(summary));
    }
  }
  const std::vector<FinishedSummary> last = builder.finish();
  ASSERT_EQ(finished.size(), 5U);
  std::uint64_t covered_ns = 0;
  for (std::size_t i = 0; i < finished.size(); ++i) {
    const Summary summary = decoded(finished[i]);
    for (const CoverageRow& row : summary.coverage.rows()) {
      for (const CoverageBin& bin : row.bins) {
        covered_ns += bin.covered_ns;
        EXPECT_EQ(bin.site(), 7U);
      }
    }
    // What a track did in the last batch before a summary ended is known with the next batch only.
    EXPECT_NEAR(static_cast<double>(covered_ns), 1e6 * static_cast<double>(i), 1e5);
    ASSERT_NE(summary.tracks.find(1), nullptr);
    EXPECT_EQ(summary.tracks.find(1)->open.size(), 1U);
  }
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].level, total_level);
}

/// Ten blocks of 20,000 scopes, one after the other; `next` gives the number of a scope in its block its site and length.
Summary summary_of(const std::function<std::pair<SiteId, std::int64_t>(int)>& next) {
  SummaryAccumulator accumulator;
  std::int64_t time_ns = 0;
  for (std::uint32_t number = 0; number < 10; ++number) {
    EventBatch batch;
    batch.start_ns = time_ns;
    batch.runs.resize(1);
    ScopeRun& run = batch.runs[0];
    run.track = 1;
    for (int i = 0; i < 20'000; ++i) {
      const auto [site, length_ns] = next(i);
      run.events.push_back({time_ns, site, 0, 0});
      time_ns += length_ns;
      run.events.push_back({time_ns, 0, 0, 0});
    }
    batch.end_ns = time_ns;
    accumulator.add(batch, number);
  }
  return accumulator.complete(true);
}

TEST(SummaryTest, TheSiteThatCoversMostOfABinIsNamed) {
  std::mt19937_64 random(1);
  const Summary summary = summary_of([&random](int) {
    // Site 3 has a fifth of the scopes and two thirds of the time.
    const bool is_long = random() % 5 == 0;
    return is_long ? std::pair<SiteId, std::int64_t>(3, 4000)
                   : std::pair<SiteId, std::int64_t>(static_cast<SiteId>(10 + random() % 20), 500);
  });
  ASSERT_EQ(summary.coverage.rows().size(), 1U);
  const std::vector<CoverageBin>& bins = summary.coverage.rows()[0].bins;
  const auto named = std::count_if(bins.begin(), bins.end(), [](const CoverageBin& bin) { return bin.site() == 3; });
  EXPECT_GT(bins.size(), 60U);
  EXPECT_GE(static_cast<double>(named), 0.9 * static_cast<double>(bins.size()));
}

TEST(SummaryTest, ASiteWithLittleTimeNamesNoBinWhereTwoShareTheRest) {
  // As a training loop: forward, backward, and an optimizer that takes a fiftieth.
  Coverage coverage = summary_of([](int i) {
                        const auto site = static_cast<SiteId>(i % 3 + 1);
                        return std::pair<SiteId, std::int64_t>(site, site == 3 ? 200 : 4900);
                      }).coverage;
  Coverage wide(coverage.shift() + 5);
  wide.merge(coverage);
  for (const Coverage* const seen : {&coverage, &wide}) {
    ASSERT_EQ(seen->rows().size(), 1U);
    for (const CoverageBin& bin : seen->rows()[0].bins) {
      EXPECT_NE(bin.site(), 3U);
      EXPECT_NE(bin.site(), 0U);
    }
  }
}

TEST(SummaryTest, SummariesOfALevelFollowEachOtherWithoutGaps) {
  const Recording recording(5, 40);
  for (std::uint8_t level = 0; level < 3; ++level) {
    const std::vector<Summary> summaries = recording.of_level(level);
    ASSERT_GT(summaries.size(), 1U);
    EXPECT_EQ(summaries.front().start_ns, recording.batches.front().start_ns);
    for (std::size_t i = 1; i < summaries.size(); ++i) {
      EXPECT_EQ(summaries[i].start_ns, summaries[i - 1].end_ns);
      EXPECT_GT(summaries[i].first_block, summaries[i - 1].last_block);
    }
  }
}

TEST(SummaryTest, AHigherLevelIsTheSumOfTheLevelBelow) {
  const Recording recording(6, 40);
  const std::vector<Summary> below = recording.of_level(0);
  std::size_t next = 0;
  for (const Summary& summary : recording.of_level(1)) {
    Summary sum;
    for (int i = 0; i < 3 && next < below.size(); ++i) {
      sum.merge(below[next++]);
    }
    expect_same_tables(summary, sum);
  }
  Summary sum;
  for (const Summary& summary : below) {
    sum.merge(summary);
  }
  ASSERT_EQ(recording.of_level(total_level).size(), 1U);
  expect_same_tables(recording.of_level(total_level)[0], sum);
  expect_sites(recording.of_level(total_level)[0], recording.model, 0, 40);
}

TEST(SummaryTest, AShortCaptureHasOneSummaryOnly) {
  const Recording recording(7, 1);
  ASSERT_EQ(recording.summaries.size(), 1U);
  EXPECT_EQ(recording.summaries[0].level, total_level);
  EXPECT_EQ(recording.summaries[0].blocks, 1U);
  SummaryBuilder nothing;
  EXPECT_TRUE(nothing.finish().empty());
}

TEST(SummaryTest, ASummaryEndsWithManyEventsInALongTime) {
  SummaryIntervals intervals;
  intervals.enough_events = 100;
  intervals.long_enough_ns = 1'000'000;
  SummaryBuilder builder(intervals);
  EventBatch batch;
  batch.runs.resize(1);
  batch.runs[0].events.assign(200, {500, 0, 0, 0});
  batch.end_ns = 999'999;
  EXPECT_TRUE(builder.add(batch, 0).empty());
  batch.start_ns = batch.end_ns;
  batch.end_ns = 1'000'000;
  EXPECT_EQ(builder.add(batch, 1).size(), 1U);
}

TEST(SummaryTest, FrameTimesAreTheDistancesOfMarksWhateverTheirOrder) {
  SummaryAccumulator accumulator;
  EventBatch batch;
  batch.end_ns = 1000;
  // Two threads marked the same stream, and one another.
  batch.frame_marks = {{1, 1, 100}, {1, 1, 300}, {2, 1, 350}, {1, 2, 110}, {1, 2, 250}};
  accumulator.add(batch, 0);
  batch.frame_marks = {{1, 1, 700}, {2, 1, 850}};
  accumulator.add(batch, 1);
  const Summary& summary = accumulator.complete(true);
  const FrameStreamSummary& first = *summary.frame_streams.find(1);
  EXPECT_EQ(first.marks, 5U);
  EXPECT_EQ(first.frame_times.count(), 4U);
  EXPECT_EQ(first.frame_times.total_ns(), 600U);
  EXPECT_EQ(first.frame_times.min_ns(), 10);
  EXPECT_EQ(first.frame_times.max_ns(), 400);
  EXPECT_EQ(first.last_mark_ns, 700);
  EXPECT_EQ(summary.frame_streams.find(2)->frame_times.total_ns(), 500U);
}

TEST(SummaryTest, MetricsKeepCountExtremesSumFirstAndLast) {
  SummaryAccumulator accumulator;
  EventBatch batch;
  batch.end_ns = 100;
  const double missing = std::numeric_limits<double>::quiet_NaN();
  batch.samples = {{5, {10, 20, 30}, {2.0, missing, -1.5}, {}}, {6, {10}, {missing}, {}}, {5, {40}, {7.0}, {}}};
  accumulator.add(batch, 0);
  const Summary& summary = accumulator.complete(true);
  const MetricSummary& metric = *summary.metrics.find(5);
  EXPECT_EQ(metric.count, 3U);
  EXPECT_EQ(metric.min, -1.5);
  EXPECT_EQ(metric.max, 7.0);
  EXPECT_EQ(metric.sum, 7.5);
  EXPECT_EQ(metric.first, 2.0);
  EXPECT_EQ(metric.first_ns, 10);
  EXPECT_EQ(metric.last, 7.0);
  EXPECT_EQ(metric.last_ns, 40);
  EXPECT_TRUE(summary.metrics.find(6)->empty());
}

TEST(SummaryTest, SpansThatWereHandedInAreCountedByNameAndCovered) {
  SummaryAccumulator accumulator;
  EventBatch batch;
  batch.end_ns = 10'000;
  SpanEvent span;
  span.track = 2;
  span.name = 8;
  span.start_ns = 2048;
  span.duration_ns = 1024;
  batch.spans = {span};
  accumulator.add(batch, 0);
  const Summary& summary = accumulator.complete(true);
  EXPECT_EQ(summary.span_names.find(8)->durations.total_ns(), 1024U);
  ASSERT_EQ(summary.coverage.rows().size(), 1U);
  const CoverageRow& row = summary.coverage.rows()[0];
  EXPECT_TRUE(row.named);
  EXPECT_EQ(row.first_bin, 2);
  ASSERT_EQ(row.bins.size(), 1U);
  EXPECT_EQ(row.bins[0].covered_ns, 1024U);
  EXPECT_EQ(row.bins[0].site(), 8U);
}

TEST(SummaryTest, ThousandsOfShortThreadsLeaveNothingBehind) {
  SummaryIntervals intervals;
  intervals.most_blocks = 4;
  SummaryBuilder builder(intervals);
  std::size_t largest = 0;
  for (std::uint32_t i = 0; i < 400; ++i) {
    EventBatch batch;
    batch.start_ns = i * 1000;
    batch.end_ns = batch.start_ns + 1000;
    for (TrackId track = 1; track <= 50; ++track) {
      ScopeRun& run = batch.runs.emplace_back();
      run.track = i * 50 + track;
      run.events = {{batch.start_ns, 1, 0, 0}, {batch.end_ns, 0, 0, 0}};
    }
    for (const FinishedSummary& summary : builder.add(batch, i)) {
      largest = std::max(largest, summary.payload.size());
    }
  }
  const std::vector<FinishedSummary> last = builder.finish();
  const Summary total = decoded(last.back());
  EXPECT_EQ(total.sites.find(1)->durations.count(), 20'000U);
  EXPECT_EQ(total.coverage.rows().size(), Coverage::most_rows);
  EXPECT_GT(total.coverage.rows_left_out(), 0U);
  EXPECT_LT(std::max(largest, last.back().payload.size()), 100'000U);
}

TEST(SummaryTotalsTest, TheSummaryOfTheWholeCaptureIsEnough) {
  const Recording recording(8, 20);
  SummaryTotals totals;
  EXPECT_TRUE(totals.add(recording.of_level(total_level)[0]));
  for (const Summary& summary : recording.of_level(1)) {
    EXPECT_FALSE(totals.add(summary));
  }
  EXPECT_TRUE(totals.covers(Recording::number_of(0)));
  EXPECT_TRUE(totals.covers(Recording::number_of(19)));
  EXPECT_FALSE(totals.covers(Recording::number_of(20)));
  expect_sites(totals.finish(), recording.model, 0, 20);
}

TEST(SummaryTotalsTest, AnyPartOfTheSummariesAndTheBlocksBetweenGiveTheSameTotals) {
  for (std::uint64_t seed = 1; seed <= test::rounds(25U); ++seed) {
    const Recording recording(seed, 30);
    const Summary expected = recording.of_level(total_level)[0];
    std::mt19937_64 random(seed);
    SummaryTotals totals;
    for (const std::uint8_t level : std::vector<std::uint8_t>{3, 2, 1, 0}) {
      for (const Summary& summary : recording.of_level(level)) {
        if (random() % 3 == 0) {
          totals.add(summary);
        }
      }
    }
    for (std::size_t i = 0; i < recording.batches.size(); ++i) {
      if (!totals.covers(Recording::number_of(i))) {
        totals.add(recording.batches[i], Recording::number_of(i));
      }
    }
    expect_same_tables(totals.finish(), expected);
  }
}

TEST(SummaryCodecTest, APayloadReadsBackToTheSame) {
  const Recording recording(9, 10);
  SummaryAccumulator accumulator;
  for (std::size_t i = 0; i < recording.batches.size(); ++i) {
    accumulator.add(recording.batches[i], Recording::number_of(i));
  }
  const Summary& summary = accumulator.complete(true);
  ByteBuffer bytes;
  encode_summary(summary, bytes);
  const Summary back = decode_summary(bytes.bytes());
  expect_same_tables(back, summary);
  EXPECT_EQ(back.coverage.shift(), summary.coverage.shift());
  const auto covered = coverage_of(back);
  const auto exact = coverage_of(summary);
  ASSERT_EQ(covered.size(), exact.size());
  const double quantum = static_cast<double>(summary.coverage.bin_ns()) / 254;
  for (const auto& [bin, covered_ns] : exact) {
    const auto bin_ns = static_cast<std::uint64_t>(summary.coverage.bin_ns());
    EXPECT_NEAR(static_cast<double>(covered.at(bin)), static_cast<double>(std::min(covered_ns, bin_ns)), quantum + 1);
  }
}

TEST(SummaryCodecTest, PartsThatAreNotWantedAreLeftOut) {
  const Recording recording(10, 4);
  ByteBuffer bytes;
  encode_summary(recording.of_level(total_level)[0], bytes);
  const Summary tables = decode_summary(bytes.bytes(), {true, false});
  EXPECT_TRUE(tables.coverage.empty());
  EXPECT_FALSE(tables.sites.empty());
  const Summary coverage = decode_summary(bytes.bytes(), {false, true});
  EXPECT_FALSE(coverage.coverage.empty());
  EXPECT_TRUE(coverage.sites.empty());
  EXPECT_EQ(coverage.blocks, 4U);
}

TEST(SummaryCodecTest, SectionsOfLaterVersionsAreSkipped) {
  const Recording recording(11, 4);
  const Summary summary = recording.of_level(total_level)[0];
  ByteBuffer bytes;
  bytes.append_u8(200);
  bytes.append_varint(3);
  bytes.append("abc");
  encode_summary(summary, bytes);
  expect_same_tables(decode_summary(bytes.bytes()), summary);
}

TEST(SummaryCodecTest, PayloadsCutAnywhereAreRefusedOrLackSectionsOnly) {
  const Recording recording(12, 2);
  ByteBuffer bytes;
  encode_summary(recording.of_level(total_level)[0], bytes);
  std::size_t read = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    try {
      EXPECT_EQ(decode_summary(bytes.bytes().first(size)).blocks, 2U);
      ++read;
    } catch (const DecodeError&) {
    }
  }
  EXPECT_LE(read, 7U);  // one for each section
}

TEST(SummaryCodecTest, DamagedPayloadsAreRefusedOrReadAsSomeSummary) {
  const Recording recording(13, 3);
  ByteBuffer sound;
  encode_summary(recording.of_level(total_level)[0], sound);
  std::mt19937_64 random(13);
  for (int round = 0; round < test::rounds(3000); ++round) {
    std::vector<std::byte> bytes(sound.bytes().begin(), sound.bytes().end());
    for (std::uint64_t i = 0; i <= random() % 3; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) {
      bytes.resize(random() % bytes.size());
    }
    try {
      const Summary damaged = decode_summary(bytes);
      SummaryTotals totals;
      totals.add(damaged);
      EventBatch batch;
      batch.start_ns = damaged.end_ns;
      batch.end_ns = damaged.end_ns;
      totals.add(batch, 4'000'000'000);
      ByteBuffer again;
      encode_summary(totals.finish(), again);
    } catch (const DecodeError&) {
    }
  }
}

TEST(SummaryTest, RandomBatchesNeverBreakIt) {
  std::mt19937_64 random(77);
  const auto any_time = [&] {
    return static_cast<std::int64_t>(random() % 4 == 0 ? random() : random() % 1'000'000'000);
  };
  for (int round = 0; round < 60; ++round) {
    SummaryBuilder builder(small_intervals());
    for (std::uint32_t number = 0; number < 9; ++number) {
      EventBatch batch;
      batch.start_ns = any_time();
      batch.end_ns = any_time();
      for (int i = 0; i < 3; ++i) {
        ScopeRun& run = batch.runs.emplace_back();
        run.track = static_cast<TrackId>(random() % 5 == 0 ? random() : random() % 3);
        for (std::uint64_t k = random() % 40; k > 0; --k) {
          run.events.push_back({any_time(), static_cast<SiteId>(random() % 3 == 0 ? random() >> 32U : 0),
                                static_cast<std::uint16_t>(random() % 4), static_cast<std::uint16_t>(random() % 2)});
        }
      }
      SpanEvent span;
      span.start_ns = any_time();
      span.duration_ns = any_time();
      batch.spans = {span};
      batch.frame_marks = {{1, 1, any_time()}, {static_cast<FrameStreamId>(random()), 1, any_time()}};
      batch.samples = {{static_cast<MetricId>(random()), {any_time(), any_time()}, {1.0}, {}}};
      for (const FinishedSummary& summary : builder.add(batch, number)) {
        EXPECT_NO_THROW(static_cast<void>(decode_summary(summary.payload)));
      }
    }
    for (const FinishedSummary& summary : builder.finish()) {
      EXPECT_NO_THROW(static_cast<void>(decode_summary(summary.payload)));
    }
  }
}

}  // namespace
}  // namespace kymo::capture
