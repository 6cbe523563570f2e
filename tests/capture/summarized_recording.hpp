// A small capture in memory with the summaries that were written along the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "capture/summary/builder.hpp"
#include "capture/summary/summary.hpp"
#include "support/scope_model.hpp"

namespace kymo::test {

[[nodiscard]] inline capture::Summary decoded(const capture::FinishedSummary& finished) {
  capture::Summary summary = capture::decode_summary(finished.payload);
  EXPECT_EQ(summary.level, finished.level);
  EXPECT_EQ(summary.start_ns, finished.start_ns);
  EXPECT_EQ(summary.end_ns, finished.end_ns);
  EXPECT_EQ(summary.scope_events, finished.scope_events);
  return summary;
}

/// Two blocks a summary, three summaries a level.
[[nodiscard]] inline capture::SummaryIntervals small_intervals() {
  capture::SummaryIntervals intervals;
  intervals.most_blocks = 2;
  intervals.merged = 3;
  return intervals;
}

/// Every third number is a block of another kind, as in a file.
struct SummarizedRecording {
  ScopeModel model;
  std::vector<EventBatch> batches;
  std::vector<capture::Summary> summaries;

  static std::uint32_t number_of(std::size_t batch) { return static_cast<std::uint32_t>(1 + batch + batch / 2); }

  explicit SummarizedRecording(std::uint64_t seed, std::size_t count,
                               capture::SummaryIntervals intervals = small_intervals(), ModelShape shape = {})
      : model(seed, shape) {
    capture::SummaryBuilder builder(intervals);
    std::mt19937_64 random(seed);
    std::int64_t frame_ns = 0;
    for (std::size_t i = 0; i < count; ++i) {
      EventBatch& batch = batches.emplace_back(model.next(50 + random() % 300));
      add_others(batch, random, frame_ns);
      for (const capture::FinishedSummary& finished : builder.add(batch, number_of(i))) {
        summaries.push_back(decoded(finished));
      }
    }
    for (const capture::FinishedSummary& finished : builder.finish()) {
      summaries.push_back(decoded(finished));
    }
  }

  [[nodiscard]] std::vector<capture::Summary> of_level(std::uint8_t level) const {
    std::vector<capture::Summary> found;
    std::copy_if(summaries.begin(), summaries.end(), std::back_inserter(found),
                 [&](const capture::Summary& summary) { return summary.level == level; });
    return found;
  }

 private:
  static void add_others(EventBatch& batch, std::mt19937_64& random, std::int64_t& frame_ns) {
    frame_ns = std::max(frame_ns, batch.start_ns);
    for (int i = 0; i < 5; ++i) {
      batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, frame_ns});
      frame_ns += static_cast<std::int64_t>(random() % 10'000);
    }
    SampleRun samples;
    samples.metric = MetricId{4};
    for (int i = 0; i < 6; ++i) {
      samples.times_ns.push_back(batch.start_ns + i);
      samples.values.push_back(static_cast<double>(random() % 1000) / 8);
    }
    batch.samples.push_back(samples);
    SpanEvent span;
    span.track = TrackId{9};
    span.name = NameId{3};
    span.start_ns = batch.start_ns;
    span.duration_ns = static_cast<std::int64_t>(random() % 20'000);
    batch.spans.push_back(span);
    batch.runs[0].dropped_scopes = static_cast<std::uint64_t>(batch.start_ns / 1000);
  }
};

}  // namespace kymo::test
