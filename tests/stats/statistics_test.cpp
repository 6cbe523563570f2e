// Statistics: against the truth, and the same with and without summaries.
#include "stats/statistics/statistics.hpp"
#include "stats/common/value_distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <kymo/timeline.hpp>

#include "support/memory_destination.hpp"
#include "support/open_memory.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/recording_model.hpp"

namespace kymo::test {
namespace {

/// The truth about one name, added up plainly.
struct Expected {
  std::vector<std::int64_t> durations;
  std::int64_t self_ns = 0;
  std::uint64_t unbalanced = 0;
  std::uint64_t beside_dropped = 0;  ///< on the thread that drops scopes
};

std::map<std::string, Expected> add_up(const TrueRecording& truth, const std::string& what) {
  std::map<std::string, Expected> all;
  for (const TrueSpan& span : truth.spans) {
    if (!span.is_open && span.name.find(what) != std::string::npos) {
      Expected& expected = all[span.name];
      expected.durations.push_back(span.end_ns - span.start_ns);
      expected.self_ns += span.self_ns;
      expected.unbalanced += span.is_unbalanced ? 1 : 0;
      expected.beside_dropped += span.track == RecordingModel::dropping_thread ? 1U : 0U;
    }
  }
  for (auto& [name, expected] : all) {
    std::sort(expected.durations.begin(), expected.durations.end());
  }
  return all;
}

void expect_percentile(std::int64_t found, const std::vector<std::int64_t>& sorted, double percentile) {
  const auto rank = static_cast<std::size_t>(std::ceil(percentile / 100 * static_cast<double>(sorted.size())));
  const std::int64_t exact = sorted[std::max<std::size_t>(rank, 1) - 1];
  EXPECT_GE(found, exact);
  EXPECT_LE(static_cast<double>(found), static_cast<double>(exact) * (1 + 1.0 / 1024));
}

void expect_durations(const stats::DurationStatistics& found, const Expected& expected) {
  EXPECT_EQ(found.count, expected.durations.size());
  std::uint64_t total = 0;
  for (const std::int64_t duration : expected.durations) {
    total += static_cast<std::uint64_t>(duration);
  }
  EXPECT_EQ(found.total_ns, total);
  EXPECT_DOUBLE_EQ(found.mean_ns, static_cast<double>(total) / static_cast<double>(expected.durations.size()));
  EXPECT_EQ(found.min_ns, expected.durations.front());
  EXPECT_EQ(found.max_ns, expected.durations.back());
  expect_percentile(found.p50_ns, expected.durations, 50);
  expect_percentile(found.p95_ns, expected.durations, 95);
  expect_percentile(found.p99_ns, expected.durations, 99);
}

void expect_true(const Timeline& timeline, const stats::Statistics& statistics, const TrueRecording& truth) {
  const auto sites = add_up(truth, "site");
  ASSERT_EQ(statistics.sites.size(), sites.size());
  std::uint64_t bounds = 0;
  for (const stats::SiteStatistics& site : statistics.sites) {
    const Expected& expected = sites.at(timeline.site(site.site).name);
    expect_durations(site.durations, expected);
    EXPECT_EQ(site.self_ns, static_cast<std::uint64_t>(expected.self_ns));
    EXPECT_EQ(site.unbalanced, expected.unbalanced);
    EXPECT_LE(site.self_is_bound, expected.beside_dropped);
    bounds += site.self_is_bound;
  }
  EXPECT_EQ(bounds != 0, truth.dropped_scopes != 0);
  const auto names = add_up(truth, "name");
  ASSERT_EQ(statistics.spans.size(), names.size());
  for (const stats::SpanStatistics& span : statistics.spans) {
    expect_durations(span.durations, names.at(std::string(timeline.name(span.name))));
  }
  ASSERT_EQ(statistics.frame_streams.size(), 1U);
  Expected frames;
  for (std::size_t i = 0; i + 1 < truth.frame_marks.size(); ++i) {
    frames.durations.push_back(truth.frame_marks[i + 1] - truth.frame_marks[i]);
  }
  std::sort(frames.durations.begin(), frames.durations.end());
  expect_durations(statistics.frame_streams[0].durations, frames);
  ASSERT_EQ(statistics.metrics.size(), 1U);
  const auto value_less = [](const auto& a, const auto& b) { return a.second < b.second; };
  EXPECT_EQ(statistics.metrics[0].count, truth.samples.size());
  EXPECT_EQ(statistics.metrics[0].min,
            std::min_element(truth.samples.begin(), truth.samples.end(), value_less)->second);
  EXPECT_EQ(statistics.metrics[0].max,
            std::max_element(truth.samples.begin(), truth.samples.end(), value_less)->second);
  EXPECT_EQ(statistics.metrics[0].last, truth.samples.back().second);
  double sum = 0;
  for (const auto& sample : truth.samples) {
    sum += sample.second;
  }
  EXPECT_NEAR(statistics.metrics[0].mean, sum / static_cast<double>(truth.samples.size()), 1e-9);
}

TEST(Statistics, AreTrueWithSummariesAndWithout) {
  for (std::uint32_t seed = 81; seed <= 84; ++seed) {
    const RecordingModel model({.seed = seed, .steps = 5000});
    for (const bool is_closed : {true, false}) {
      const auto bytes = model.write(is_closed);
      const Timeline timeline = open_memory(bytes);
      const stats::Statistics summed = stats::gather_statistics(timeline);
      expect_true(timeline, summed, model.truth());
      EXPECT_EQ(summed.drops.dropped_scopes, model.truth().dropped_scopes);
      const auto recorded = std::count_if(model.truth().spans.begin(), model.truth().spans.end(),
                                          [](const TrueSpan& span) { return span.name.rfind("site", 0) == 0; });
      EXPECT_EQ(summed.drops.recorded_scopes, static_cast<std::uint64_t>(recorded)) << "also those that are still open";
      if (is_closed) {
        EXPECT_EQ(summed.blocks_decoded, 0U) << "the summary of the whole capture serves";
      }
      const stats::Statistics decoded = stats::gather_statistics(timeline, {.use_summaries = false});
      expect_true(timeline, decoded, model.truth());
      EXPECT_EQ(decoded.blocks_decoded, decoded.blocks);
    }
  }
}

/// The value of nearest rank among sorted ones.
double exact_percentile(const std::vector<double>& sorted, double percent) {
  return sorted[static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size()))) - 1];
}

TEST(Statistics, MetricsHaveDeviationAndPercentilesOfTheirSamples) {
  for (std::uint32_t seed = 88; seed <= 90; ++seed) {
    const RecordingModel model({.seed = seed, .steps = 5000});
    const auto bytes = model.write();
    const Timeline timeline = open_memory(bytes);
    std::vector<double> values;
    long double sum = 0;
    for (const auto& sample : model.truth().samples) {
      values.push_back(sample.second);
      sum += sample.second;
    }
    std::sort(values.begin(), values.end());
    long double squares = 0;
    for (const double value : values) {
      const long double distance = value - sum / values.size();
      squares += distance * distance;
    }
    EXPECT_TRUE(std::isnan(stats::gather_statistics(timeline).metrics[0].p50)) << "not asked for";
    for (const bool use_summaries : {true, false}) {
      stats::StatisticsOptions how;
      how.use_summaries = use_summaries;
      how.metric_percentiles = true;
      const stats::MetricStatistics metric = stats::gather_statistics(timeline, how).metrics[0];
      EXPECT_NEAR(metric.standard_deviation, static_cast<double>(std::sqrt(squares / values.size())), 1e-9);
      for (const auto& [found, percent] : {std::pair(metric.p50, 50.0), {metric.p95, 95.0}, {metric.p99, 99.0}}) {
        const double exact = exact_percentile(values, percent);
        EXPECT_LE(std::fabs(found), std::fabs(exact)) << percent;
        EXPECT_GE(std::fabs(found), std::fabs(exact) * (1 - 1.0 / 1024)) << percent;
      }
    }
  }
}

TEST(ValueDistribution, HoldsValuesOfAnyMagnitudeInBoundedMemory) {
  std::mt19937_64 random(91);
  stats::ValueDistribution first;
  stats::ValueDistribution second;
  std::vector<double> values;
  for (int i = 0; i < 100'000; ++i) {
    const double magnitude =
        std::ldexp(1 + std::generate_canonical<double, 53>(random), static_cast<int>(random() % 400));
    values.push_back(random() % 2 == 0 ? magnitude : -magnitude);
    (i % 3 == 0 ? first : second).add(values.back());
  }
  first.add(std::numeric_limits<double>::quiet_NaN());
  first.merge(second);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(first.count(), values.size());
  for (const double percent : {0.001, 1.0, 25.0, 50.0, 75.0, 99.0, 100.0}) {
    const double exact = exact_percentile(values, percent);
    EXPECT_NEAR(first.percentile(percent) / exact, 1, 1.0 / 128)
        << percent << ": coarser, since there are so many counts";
  }
  stats::ValueDistribution integers;
  stats::ValueDistribution constant;
  for (int i = 1; i <= 2048; ++i) {
    integers.add(i);
    constant.add(1.1711);
  }
  EXPECT_EQ(integers.percentile(50), 1024);
  EXPECT_EQ(integers.percentile(100), 2048);
  EXPECT_EQ(constant.percentile(99), 1.1711);
  EXPECT_NEAR(integers.standard_deviation(), std::sqrt((2048.0 * 2048 - 1) / 12), 1e-9);
}

TEST(ValueDistribution, CountsInfiniteValuesAndKeepsTheDeviationOfTheSmallestAndTheGreatest) {
  const double infinity = std::numeric_limits<double>::infinity();
  stats::ValueDistribution infinite;
  stats::ValueDistribution finite;
  for (int i = 0; i < 90; ++i) {
    infinite.add(infinity);
  }
  for (int i = 0; i < 10; ++i) {
    finite.add(1);
  }
  infinite.merge(finite);
  EXPECT_EQ(infinite.count(), 100U);
  EXPECT_EQ(infinite.percentile(10), 1);
  EXPECT_EQ(infinite.percentile(50), infinity);
  EXPECT_TRUE(std::isnan(infinite.standard_deviation()));
  for (const double unit : {1e-320, 1e-200, 1.0, 1e200, 1e305}) {
    stats::ValueDistribution first;
    stats::ValueDistribution second;
    for (int i = 1; i <= 1000; ++i) {
      (i <= 500 ? first : second).add(unit * i);
    }
    first.merge(second);
    EXPECT_NEAR(first.standard_deviation() / unit, std::sqrt((1e6 - 1) / 12), unit < 1e-300 ? 0.2 : 1e-9) << unit;
  }
}

/// A capture with one mark of a frame stream, and a metric without a readable sample.
std::vector<std::byte> capture_without_figures() {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriterOptions options;
  options.declarations.processes = {{ProcessId{1}, 7, "here", "boot", "", "model"}};
  options.declarations.frame_streams = {{FrameStreamId{1}, ProcessId{1}, ""}};
  options.declarations.metrics.resize(1);
  options.declarations.metrics[0].id = MetricId{1};
  options.declarations.metrics[0].process = ProcessId{1};
  options.declarations.metrics[0].name = "unreadable";
  EventBatch batch;
  batch.start_ns = batch.end_ns = 1000;
  batch.frame_marks.push_back({FrameStreamId{1}, TrackId{}, 1000});
  SampleRun& run = batch.samples.emplace_back();
  run.metric = MetricId{1};
  run.times_ns = {1000};
  run.values = {std::numeric_limits<double>::quiet_NaN()};
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(options));
  writer.write(batch);
  writer.finish();
  return *bytes;
}

TEST(Statistics, AMetricThatWasNeverReadableHasARowWithoutFigures) {
  const std::vector<std::byte> bytes = capture_without_figures();
  for (const bool use_summaries : {true, false}) {
    const stats::Statistics found =
        stats::gather_statistics(open_memory(bytes), {.use_summaries = use_summaries, .metric_percentiles = true});
    ASSERT_EQ(found.metrics.size(), 1U);
    const stats::MetricStatistics& row = found.metrics[0];
    EXPECT_EQ(row.count, 0U);
    for (const double figure : {row.min, row.mean, row.max, row.last, row.standard_deviation, row.p50, row.p99}) {
      EXPECT_TRUE(std::isnan(figure));
    }
    ASSERT_EQ(found.frame_streams.size(), 1U);
    EXPECT_EQ(found.frame_streams[0].durations.count, 0U);
  }
}

TEST(Statistics, OfACaptureWhoseSummariesAreDamagedComeFromItsEvents) {
  const RecordingModel model({.seed = 85, .steps = 5000});
  auto bytes = model.write();
  {
    const CaptureReader reader(bytes.data(), bytes.size(), "memory");
    for (const BlockInfo& block : reader.blocks()) {
      if (block.kind == BlockKind::summary) {
        bytes[block.offset + 48] ^= std::byte{1};
      }
    }
  }
  const Timeline timeline = open_memory(bytes);
  const stats::Statistics statistics = stats::gather_statistics(timeline);
  EXPECT_EQ(statistics.blocks_decoded, statistics.blocks);
  expect_true(timeline, statistics, model.truth());
}

TEST(Statistics, JoinEqualSitesOfSeveralProcessesUnlessAskedToKeepThemApart) {
  const RecordingModel a({.seed = 86, .pid = 1});
  const RecordingModel b({.seed = 87, .pid = 2});
  const TemporaryDirectory directory;
  const Timeline timeline({a.write_file(directory / "a.kymo"), b.write_file(directory / "b.kymo")});
  const stats::Statistics joined = stats::gather_statistics(timeline);
  TrueRecording both = a.truth();
  both.spans.insert(both.spans.end(), b.truth().spans.begin(), b.truth().spans.end());
  const auto sites = add_up(both, "site");
  ASSERT_EQ(joined.sites.size(), sites.size());
  for (const stats::SiteStatistics& site : joined.sites) {
    expect_durations(site.durations, sites.at(timeline.site(site.site).name));
    EXPECT_EQ(site.processes, 2U);
  }
  const stats::Statistics apart = stats::gather_statistics(timeline, {.by_process = true});
  EXPECT_EQ(apart.sites.size(), add_up(a.truth(), "site").size() + add_up(b.truth(), "site").size());
  EXPECT_EQ(apart.frame_streams.size(), 2U);
  EXPECT_EQ(apart.metrics.size(), 2U);
}

}  // namespace
}  // namespace kymo::test
