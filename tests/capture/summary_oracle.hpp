// What summaries must say, worked out the slow way from the scopes that a model made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "capture/histogram_equality.hpp"
#include "capture/summary/summary.hpp"
#include "support/scope_model.hpp"

namespace kymo::test {

/// Checks the sites of a summary of the batches [first, end) against the scopes that ended in them.
inline void expect_sites(const capture::Summary& summary, const ScopeModel& model, std::size_t first, std::size_t end) {
  struct Expected {
    std::vector<std::int64_t> durations_ns;
    std::int64_t self_ns = 0;
    std::uint64_t unbalanced = 0;
  };
  std::map<SiteId, Expected> sites;
  const std::vector<std::int64_t> self_ns = model.self_times_ns();
  for (std::size_t i = 0; i < model.scopes().size(); ++i) {
    const ModelScope& scope = model.scopes()[i];
    if (!scope.is_open && scope.batch_ended >= first && scope.batch_ended < end) {
      Expected& site = sites[scope.site];
      site.durations_ns.push_back(scope.end_ns - scope.start_ns);
      site.self_ns += self_ns[i];
      site.unbalanced += scope.is_unbalanced ? 1 : 0;
    }
  }
  std::size_t found = 0;
  for (const capture::SiteSummary& site : summary.sites) {
    found += site.empty() ? 0U : 1U;
  }
  ASSERT_EQ(found, sites.size());
  for (auto& [id, expected] : sites) {
    const capture::SiteSummary* const site = summary.sites.find(id);
    ASSERT_NE(site, nullptr) << "site " << id.value();
    std::sort(expected.durations_ns.begin(), expected.durations_ns.end());
    std::uint64_t total = 0;
    for (const std::int64_t duration : expected.durations_ns) {
      total += static_cast<std::uint64_t>(duration);
    }
    EXPECT_EQ(site->durations.count(), expected.durations_ns.size());
    EXPECT_EQ(site->durations.total_ns(), total);
    EXPECT_EQ(site->durations.min_ns(), expected.durations_ns.front());
    EXPECT_EQ(site->durations.max_ns(), expected.durations_ns.back());
    const std::size_t median_rank = (expected.durations_ns.size() + 1) / 2;
    EXPECT_EQ(capture::Histogram::index_of(site->durations.percentile_ns(50)),
              capture::Histogram::index_of(expected.durations_ns[median_rank - 1]));
    EXPECT_EQ(site->self_ns, static_cast<std::uint64_t>(expected.self_ns));
    EXPECT_EQ(site->unbalanced, expected.unbalanced);
  }
}

/// Track, depth, bin.
using BinKey = std::tuple<TrackId, std::uint16_t, std::int64_t>;

/// The covered time of each bin of 2^shift ns up to end_ns, open scopes included.
inline std::map<BinKey, std::uint64_t> expected_coverage(const ScopeModel& model, unsigned shift, std::int64_t end_ns) {
  std::map<BinKey, std::uint64_t> covered;
  for (const ModelScope& scope : model.scopes()) {
    const std::int64_t end = scope.is_open ? end_ns : scope.end_ns;
    if (scope.depth >= capture::Coverage::most_depths) {
      continue;
    }
    for (std::int64_t from = scope.start_ns; from < end;) {
      const std::int64_t bin = from >> shift;
      const std::int64_t until = std::min(end, (bin + 1) << shift);
      covered[{scope.track, scope.depth, bin}] += static_cast<std::uint64_t>(until - from);
      from = until;
    }
  }
  return covered;
}

inline std::map<BinKey, std::uint64_t> coverage_of(const capture::Summary& summary) {
  std::map<BinKey, std::uint64_t> covered;
  for (const capture::CoverageRow& row : summary.coverage.rows()) {
    for (std::size_t i = 0; i < row.bins.size(); ++i) {
      if (row.bins[i].covered_ns != 0) {
        covered[{row.track, row.depth, row.first_bin + static_cast<std::int64_t>(i)}] += row.bins[i].covered_ns;
      }
    }
  }
  return covered;
}

/// Checks that two summaries say the same of everything but the bins.
inline void expect_same_tables(const capture::Summary& a, const capture::Summary& b) {
  EXPECT_EQ(a.start_ns, b.start_ns);
  EXPECT_EQ(a.end_ns, b.end_ns);
  EXPECT_EQ(a.first_block, b.first_block);
  EXPECT_EQ(a.last_block, b.last_block);
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.scope_events, b.scope_events);
  const auto count = [](const auto& table) {
    return std::count_if(table.begin(), table.end(), [](const auto& entry) { return !entry.empty(); });
  };
  EXPECT_EQ(count(a.sites), count(b.sites));
  for (const capture::SiteSummary& site : a.sites) {
    const capture::SiteSummary* const other = b.sites.find(site.id);
    if (!site.empty()) {
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(site.durations, other->durations);
      EXPECT_EQ(site.self_ns, other->self_ns);
      EXPECT_EQ(site.unbalanced, other->unbalanced);
      EXPECT_EQ(site.self_is_bound, other->self_is_bound);
    }
  }
  EXPECT_EQ(count(a.span_names), count(b.span_names));
  for (const capture::SpanNameSummary& name : a.span_names) {
    if (!name.empty()) {
      EXPECT_EQ(name.durations, b.span_names.find(name.id)->durations);
    }
  }
  EXPECT_EQ(count(a.frame_streams), count(b.frame_streams));
  for (const capture::FrameStreamSummary& stream : a.frame_streams) {
    if (!stream.empty()) {
      EXPECT_EQ(stream.frame_times, b.frame_streams.find(stream.id)->frame_times);
      EXPECT_EQ(stream.marks, b.frame_streams.find(stream.id)->marks);
      EXPECT_EQ(stream.last_mark_ns, b.frame_streams.find(stream.id)->last_mark_ns);
    }
  }
  EXPECT_EQ(count(a.metrics), count(b.metrics));
  for (const capture::MetricSummary& metric : a.metrics) {
    if (!metric.empty()) {
      const capture::MetricSummary& other = *b.metrics.find(metric.id);
      EXPECT_EQ(metric.count, other.count);
      EXPECT_EQ(metric.min, other.min);
      EXPECT_EQ(metric.max, other.max);
      EXPECT_DOUBLE_EQ(metric.sum, other.sum);
      EXPECT_EQ(std::tie(metric.first_ns, metric.first), std::tie(other.first_ns, other.first));
      EXPECT_EQ(std::tie(metric.last_ns, metric.last), std::tie(other.last_ns, other.last));
    }
  }
  EXPECT_EQ(count(a.tracks), count(b.tracks));
  for (const capture::TrackSummary& track : a.tracks) {
    if (!track.empty()) {
      const capture::TrackSummary& other = *b.tracks.find(track.id);
      EXPECT_EQ(track.dropped_scopes, other.dropped_scopes);
      EXPECT_EQ(track.dropped_others, other.dropped_others);
      ASSERT_EQ(track.open.size(), other.open.size());
      for (std::size_t i = 0; i < track.open.size(); ++i) {
        EXPECT_EQ(track.open[i].start_ns, other.open[i].start_ns);
        EXPECT_EQ(track.open[i].inner_ns, other.open[i].inner_ns);
        EXPECT_EQ(track.open[i].site, other.open[i].site);
      }
    }
  }
}

}  // namespace kymo::test
