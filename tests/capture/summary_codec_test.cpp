// Summaries as bytes, and totals put together from summaries and blocks.
#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "capture/format/bytes.hpp"
#include "capture/summarized_recording.hpp"
#include "capture/summary/accumulator.hpp"
#include "capture/summary/summary.hpp"
#include "capture/summary/totals.hpp"
#include "capture/summary_oracle.hpp"
#include "support/rounds.hpp"

namespace kymo::capture {
namespace {

using test::coverage_of;
using test::expect_same_tables;
using test::expect_sites;
using test::SummarizedRecording;

TEST(SummaryTotalsTest, TheSummaryOfTheWholeCaptureIsEnough) {
  const SummarizedRecording recording(8, 20);
  SummaryTotals totals;
  EXPECT_TRUE(totals.add(recording.of_level(total_level)[0]));
  for (const Summary& summary : recording.of_level(1)) {
    EXPECT_FALSE(totals.add(summary));
  }
  EXPECT_TRUE(totals.covers(SummarizedRecording::number_of(0)));
  EXPECT_TRUE(totals.covers(SummarizedRecording::number_of(19)));
  EXPECT_FALSE(totals.covers(SummarizedRecording::number_of(20)));
  expect_sites(totals.finish(), recording.model, 0, 20);
}

TEST(SummaryTotalsTest, AnyPartOfTheSummariesAndTheBlocksBetweenGiveTheSameTotals) {
  for (std::uint64_t seed = 1; seed <= test::rounds(25U); ++seed) {
    const SummarizedRecording recording(seed, 30);
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
      if (!totals.covers(SummarizedRecording::number_of(i))) {
        totals.add(recording.batches[i], SummarizedRecording::number_of(i));
      }
    }
    expect_same_tables(totals.finish(), expected);
  }
}

TEST(SummaryCodecTest, APayloadReadsBackToTheSame) {
  const SummarizedRecording recording(9, 10);
  SummaryAccumulator accumulator;
  for (std::size_t i = 0; i < recording.batches.size(); ++i) {
    accumulator.add(recording.batches[i], SummarizedRecording::number_of(i));
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

TEST(SummaryCodecTest, RunStatesAreCoveredByThreadAndByCpu) {
  SummaryAccumulator accumulator;
  EventBatch batch;
  batch.end_ns = 8 * 1024;
  batch.states = {{ThreadId{7}, {{1024, 512, 3, RunState::running}, {1536, 2560, 3, RunState::blocked}}}};
  accumulator.add(batch, 0);
  ByteBuffer bytes;
  encode_summary(accumulator.complete(true), bytes);
  const Summary back = decode_summary(bytes.bytes());
  ASSERT_EQ(back.states.rows().size(), 3U);
  const CoverageRow& running = back.states.rows()[0];
  const CoverageRow& on_cpu = back.states.rows()[1];
  const CoverageRow& blocked = back.states.rows()[2];
  EXPECT_EQ(std::tuple(running.track, running.depth, running.named, running.first_bin),
            std::tuple(TrackId{7}, 0, false, 1));
  EXPECT_EQ(std::tuple(on_cpu.track, on_cpu.depth, on_cpu.named, on_cpu.first_bin), std::tuple(TrackId{4}, 0, true, 1));
  EXPECT_EQ(std::tuple(blocked.track, blocked.depth, blocked.named, blocked.first_bin),
            std::tuple(TrackId{7}, 2, false, 1));
  ASSERT_EQ(running.bins.size(), 1U);
  EXPECT_EQ(running.bins[0].covered_ns, 512U);
  EXPECT_EQ(running.bins[0].vote.leader(), 4U) << "the CPU plus 1";
  ASSERT_EQ(on_cpu.bins.size(), 1U);
  EXPECT_EQ(on_cpu.bins[0].vote.leader(), 7U);
  ASSERT_EQ(blocked.bins.size(), 3U);
  EXPECT_EQ(blocked.bins[0].covered_ns, 512U);
  EXPECT_EQ(blocked.bins[1].covered_ns, 1024U);
  EXPECT_EQ(blocked.bins[2].covered_ns, 1024U);
}

TEST(SummaryCodecTest, PartsThatAreNotWantedAreLeftOut) {
  const SummarizedRecording recording(10, 4);
  ByteBuffer bytes;
  encode_summary(recording.of_level(total_level)[0], bytes);
  const Summary durations = decode_summary(bytes.bytes(), {.durations = true, .tables = false, .coverage = false});
  EXPECT_FALSE(durations.sites.empty());
  EXPECT_TRUE(durations.tracks.empty());
  EXPECT_TRUE(durations.coverage.empty());
  const Summary tables = decode_summary(bytes.bytes(), {.durations = false, .tables = true, .coverage = false});
  EXPECT_TRUE(tables.sites.empty());
  EXPECT_FALSE(tables.tracks.empty());
  EXPECT_TRUE(tables.coverage.empty());
  const Summary coverage = decode_summary(bytes.bytes(), {.durations = false, .tables = false, .coverage = true});
  EXPECT_TRUE(coverage.sites.empty());
  EXPECT_TRUE(coverage.tracks.empty());
  EXPECT_FALSE(coverage.coverage.empty());
  EXPECT_EQ(coverage.blocks, 4U);
}

TEST(SummaryCodecTest, SectionsOfLaterVersionsAreSkipped) {
  const SummarizedRecording recording(11, 4);
  const Summary summary = recording.of_level(total_level)[0];
  ByteBuffer bytes;
  bytes.append_u8(200);
  bytes.append_varint(3);
  bytes.append("abc");
  encode_summary(summary, bytes);
  expect_same_tables(decode_summary(bytes.bytes()), summary);
}

TEST(SummaryCodecTest, PayloadsCutAnywhereAreRefusedOrLackSectionsOnly) {
  const SummarizedRecording recording(12, 2);
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
  const SummarizedRecording recording(13, 3);
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

}  // namespace
}  // namespace kymo::capture
