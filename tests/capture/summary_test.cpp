// What summaries say of the batches that they were made of, and how levels of them follow each other.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capture/summarized_recording.hpp"
#include "capture/summary/accumulator.hpp"
#include "capture/summary/builder.hpp"
#include "capture/summary/summary.hpp"
#include "capture/summary_oracle.hpp"
#include "support/scope_model.hpp"

namespace kymo::capture {
namespace {

using test::BinKey;
using test::coverage_of;
using test::decoded;
using test::expect_same_tables;
using test::expect_sites;
using test::expected_coverage;
using test::ModelShape;
using test::ScopeModel;
using test::small_intervals;
using test::SummarizedRecording;

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
  const SummarizedRecording recording(3, 13);
  std::size_t next = 0;
  for (const Summary& summary : recording.of_level(0)) {
    EXPECT_EQ(summary.first_block, SummarizedRecording::number_of(next));
    EXPECT_EQ(summary.last_block, SummarizedRecording::number_of(next + static_cast<std::size_t>(summary.blocks) - 1));
    expect_sites(summary, recording.model, next, next + static_cast<std::size_t>(summary.blocks));
    next += static_cast<std::size_t>(summary.blocks);
  }
  EXPECT_EQ(next, 13U);
}

TEST(SummaryTest, ScopesLongerThanFourSecondsAreCounted) {
  EventBatch batch;
  batch.end_ns = 10'000'000'000;
  batch.runs.resize(1);
  batch.runs[0].track = TrackId{1};
  batch.runs[0].events = {{0, SiteId{1}, 0, 0}, {9'000'000'000, {}, 0, 0}};
  SummaryAccumulator accumulator;
  accumulator.add(batch, 0);
  EXPECT_EQ(accumulator.complete(true).sites.find(SiteId{1})->durations.max_ns(), 9'000'000'000);
}

TEST(SummaryTest, ScopesOfMoreSitesThanAreGatheredAreCounted) {
  constexpr std::uint32_t sites = 20'000;
  constexpr std::uint32_t apart = 16'384;
  constexpr std::uint32_t scopes = 10 * sites;
  EventBatch batch;
  batch.end_ns = 100 * std::int64_t{scopes};
  batch.runs.resize(1);
  batch.runs[0].track = TrackId{1};
  for (std::uint32_t i = 0; i < scopes; ++i) {
    // Now one after the other, now two in turns whose ids differ by a power of two.
    const std::uint32_t id = i < scopes / 2 ? i % sites + 1 : (i % 2) * apart + i % 100 / 2 + 1;
    batch.runs[0].events.push_back({100 * std::int64_t{i}, SiteId{id}, 0, 0});
    batch.runs[0].events.push_back({100 * std::int64_t{i} + id % 90, {}, 0, 0});
  }
  SummaryAccumulator accumulator;
  accumulator.add(batch, 0);
  const Summary& summary = accumulator.complete(true);
  ASSERT_EQ(summary.sites.size(), sites);
  for (const SiteSummary& site : summary.sites) {
    const std::uint32_t id = site.id.value();
    const std::uint32_t more = id <= 50 || (id > apart && id <= apart + 50) ? scopes / 2 / 100 : 0;
    EXPECT_EQ(site.durations.count(), 5 + more) << id;
    EXPECT_EQ(site.durations.min_ns(), id % 90) << id;
    EXPECT_EQ(site.durations.max_ns(), id % 90) << id;
  }
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
    batch.runs[0].track = TrackId{1};
    if (i == 0) {
      batch.runs[0].events = {{0, SiteId{7}, 0, 0}};
    } else {
      batch.runs[0].open_at_start = {{0, SiteId{7}}};
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
        EXPECT_EQ(bin.vote.leader(), 7U);
      }
    }
    // What a track did in the last batch before a summary ended is known with the next batch only.
    EXPECT_NEAR(static_cast<double>(covered_ns), 1e6 * static_cast<double>(i), 1e5);
    ASSERT_NE(summary.tracks.find(TrackId{1}), nullptr);
    EXPECT_EQ(summary.tracks.find(TrackId{1})->open.size(), 1U);
  }
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].level, total_level);
}

TEST(SummaryTest, WhatWasOpenBeforeTheCaptureCountsFromItsStartAlsoBehindASummary) {
  const std::vector<OpenScope> open = {{-1'000'000, SiteId{7}}, {-10, SiteId{8}}};
  std::vector<EventBatch> batches(3);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    batches[i].start_ns = 100 * static_cast<std::int64_t>(i);
    batches[i].end_ns = batches[i].start_ns + 90;
    ScopeRun& run = batches[i].runs.emplace_back();
    run.track = TrackId{1};
    run.open_at_start = open;
  }
  batches[2].runs[0].events = {{250, {}, 1, 0}, {270, {}, 0, 0}};
  batches[2].runs[0].end_sequence = 2;

  SummaryAccumulator whole;
  SummaryAccumulator before;
  SummaryAccumulator rest;
  for (std::uint32_t i = 0; i < batches.size(); ++i) {
    whole.add(batches[i], i);
    if (i < 2) {
      before.add(batches[i], i);
    }
  }
  rest.resume(before.complete(false));
  rest.add(batches[2], 2);
  for (SummaryAccumulator* accumulator : {&whole, &rest}) {
    const Summary& summary = accumulator->complete(true);
    for (const auto& [site, total_ns, self_ns] : {std::tuple{7U, 270U, 20U}, {8U, 250U, 250U}}) {
      ASSERT_NE(summary.sites.find(SiteId{site}), nullptr);
      EXPECT_EQ(summary.sites.find(SiteId{site})->durations.total_ns(), total_ns);
      EXPECT_EQ(summary.sites.find(SiteId{site})->self_ns, self_ns);
      EXPECT_EQ(summary.sites.find(SiteId{site})->self_is_bound, 0U);
    }
  }
}

/// Ten blocks of 20,000 scopes, one after the other; `next` gives the number of a scope in its block its site and
/// length.
Summary summary_of(const std::function<std::pair<SiteId, std::int64_t>(int)>& next) {
  SummaryAccumulator accumulator;
  std::int64_t time_ns = 0;
  for (std::uint32_t number = 0; number < 10; ++number) {
    EventBatch batch;
    batch.start_ns = time_ns;
    batch.runs.resize(1);
    ScopeRun& run = batch.runs[0];
    run.track = TrackId{1};
    for (int i = 0; i < 20'000; ++i) {
      const auto [site, length_ns] = next(i);
      run.events.push_back({time_ns, site, 0, 0});
      time_ns += length_ns;
      run.events.push_back({time_ns, {}, 0, 0});
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
                   : std::pair<SiteId, std::int64_t>(SiteId{static_cast<std::uint32_t>(10 + random() % 20)}, 500);
  });
  ASSERT_EQ(summary.coverage.rows().size(), 1U);
  const std::vector<CoverageBin>& bins = summary.coverage.rows()[0].bins;
  const auto named =
      std::count_if(bins.begin(), bins.end(), [](const CoverageBin& bin) { return bin.vote.leader() == 3; });
  EXPECT_GT(bins.size(), 60U);
  EXPECT_GE(static_cast<double>(named), 0.9 * static_cast<double>(bins.size()));
}

TEST(SummaryTest, ASiteWithLittleTimeNamesNoBinWhereTwoShareTheRest) {
  // As a training loop: forward, backward, and an optimizer that takes a fiftieth.
  Coverage coverage = summary_of([](int i) {
                        const auto site = SiteId{static_cast<std::uint32_t>(i % 3 + 1)};
                        return std::pair<SiteId, std::int64_t>(site, site == SiteId{3} ? 200 : 4900);
                      }).coverage;
  Coverage wide(coverage.shift() + 5);
  wide.merge(coverage);
  for (const Coverage* const seen : {&coverage, &wide}) {
    ASSERT_EQ(seen->rows().size(), 1U);
    for (const CoverageBin& bin : seen->rows()[0].bins) {
      EXPECT_NE(bin.vote.leader(), 3U);
      EXPECT_NE(bin.vote.leader(), 0U);
    }
  }
}

TEST(SummaryTest, SummariesOfALevelFollowEachOtherWithoutGaps) {
  const SummarizedRecording recording(5, 40);
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
  const SummarizedRecording recording(6, 40);
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
  const SummarizedRecording recording(7, 1);
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
  batch.runs[0].events.assign(200, {500, {}, 0, 0});
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
  batch.frame_marks = {{FrameStreamId{1}, TrackId{1}, 100},
                       {FrameStreamId{1}, TrackId{1}, 300},
                       {FrameStreamId{2}, TrackId{1}, 350},
                       {FrameStreamId{1}, TrackId{2}, 110},
                       {FrameStreamId{1}, TrackId{2}, 250}};
  accumulator.add(batch, 0);
  batch.frame_marks = {{FrameStreamId{1}, TrackId{1}, 700}, {FrameStreamId{2}, TrackId{1}, 850}};
  accumulator.add(batch, 1);
  const Summary& summary = accumulator.complete(true);
  const FrameStreamSummary& first = *summary.frame_streams.find(FrameStreamId{1});
  EXPECT_EQ(first.marks, 5U);
  EXPECT_EQ(first.frame_times.count(), 4U);
  EXPECT_EQ(first.frame_times.total_ns(), 600U);
  EXPECT_EQ(first.frame_times.min_ns(), 10);
  EXPECT_EQ(first.frame_times.max_ns(), 400);
  EXPECT_EQ(first.last_mark_ns, 700);
  EXPECT_EQ(summary.frame_streams.find(FrameStreamId{2})->frame_times.total_ns(), 500U);
}

TEST(SummaryTest, MetricsKeepCountExtremesSumFirstAndLast) {
  SummaryAccumulator accumulator;
  EventBatch batch;
  batch.end_ns = 100;
  const double missing = std::numeric_limits<double>::quiet_NaN();
  batch.samples = {{MetricId{5}, {10, 20, 30}, {2.0, missing, -1.5}, {}},
                   {MetricId{6}, {10}, {missing}, {}},
                   {MetricId{5}, {40}, {7.0}, {}}};
  accumulator.add(batch, 0);
  const Summary& summary = accumulator.complete(true);
  const MetricSummary& metric = *summary.metrics.find(MetricId{5});
  EXPECT_EQ(metric.count, 3U);
  EXPECT_EQ(metric.min, -1.5);
  EXPECT_EQ(metric.max, 7.0);
  EXPECT_EQ(metric.sum, 7.5);
  EXPECT_EQ(metric.first, 2.0);
  EXPECT_EQ(metric.first_ns, 10);
  EXPECT_EQ(metric.last, 7.0);
  EXPECT_EQ(metric.last_ns, 40);
  EXPECT_TRUE(summary.metrics.find(MetricId{6})->empty());
}

TEST(SummaryTest, SpansThatWereHandedInAreCountedByNameAndCovered) {
  SummaryAccumulator accumulator;
  EventBatch batch;
  batch.end_ns = 10'000;
  SpanEvent span;
  span.track = TrackId{2};
  span.name = NameId{8};
  span.start_ns = 2048;
  span.duration_ns = 1024;
  batch.spans = {span};
  accumulator.add(batch, 0);
  const Summary& summary = accumulator.complete(true);
  EXPECT_EQ(summary.span_names.find(NameId{8})->durations.total_ns(), 1024U);
  ASSERT_EQ(summary.coverage.rows().size(), 1U);
  const CoverageRow& row = summary.coverage.rows()[0];
  EXPECT_TRUE(row.named);
  EXPECT_EQ(row.first_bin, 2);
  ASSERT_EQ(row.bins.size(), 1U);
  EXPECT_EQ(row.bins[0].covered_ns, 1024U);
  EXPECT_EQ(row.bins[0].vote.leader(), 8U);
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
    for (std::uint32_t track = 1; track <= 50; ++track) {
      ScopeRun& run = batch.runs.emplace_back();
      run.track = TrackId{i * 50 + track};
      run.events = {{batch.start_ns, SiteId{1}, 0, 0}, {batch.end_ns, {}, 0, 0}};
    }
    for (const FinishedSummary& summary : builder.add(batch, i)) {
      largest = std::max(largest, summary.payload.size());
    }
  }
  const std::vector<FinishedSummary> last = builder.finish();
  const Summary total = decoded(last.back());
  EXPECT_EQ(total.sites.find(SiteId{1})->durations.count(), 20'000U);
  EXPECT_EQ(total.coverage.rows().size(), Coverage::most_rows);
  EXPECT_GT(total.coverage.rows_left_out(), 0U);
  EXPECT_LT(std::max(largest, last.back().payload.size()), 100'000U);
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
        run.track = TrackId{static_cast<std::uint32_t>(random() % 5 == 0 ? random() : random() % 3)};
        for (std::uint64_t k = random() % 40; k > 0; --k) {
          run.events.push_back({any_time(), SiteId{static_cast<std::uint32_t>(random() % 3 == 0 ? random() >> 32U : 0)},
                                static_cast<std::uint16_t>(random() % 4), static_cast<std::uint16_t>(random() % 2)});
        }
      }
      SpanEvent span;
      span.start_ns = any_time();
      span.duration_ns = any_time();
      batch.spans = {span};
      batch.frame_marks = {{FrameStreamId{1}, TrackId{1}, any_time()},
                           {FrameStreamId{static_cast<std::uint32_t>(random())}, TrackId{1}, any_time()}};
      batch.samples = {{MetricId{static_cast<std::uint32_t>(random())}, {any_time(), any_time()}, {1.0}, {}}};
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
