// Words that nobody wrote, and words from a damaged spool.
#include "record/collector/track_decoder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <kymo/detail/thread_state.hpp>

#include "support/rounds.hpp"

namespace kymo::record {
namespace {

using detail::kind_tag;
using detail::open_tag;
using detail::time_shift;
using detail::WordKind;

struct Decoding {
  ClockMap clock{1.0};
  SampleGatherer samples;
  AsyncSpans async_spans;
  DecodeContext context{clock, samples, async_spans};
  EventBatch batch;
  TrackDecoder decoder{TrackId{1}};

  Decoding() {
    clock.add({1'000, 1'000, 1});
    clock.add({1'001'000, 1'001'000, 1});
    clear_batch(batch);
    decoder.begin_chunk(1'000, 0);
  }
};

std::uint64_t open_at(std::uint64_t time, std::uint32_t site) {
  return (time << time_shift) | open_tag(site);
}
std::uint64_t close_at(std::uint64_t time, std::uint64_t depth) {
  return (time << time_shift) | kind_tag(WordKind::close, depth);
}

TEST(TrackDecoderTest, TimesCountFromTheChunksBaseAndFromLaterOnes) {
  Decoding decoding;
  const std::vector<std::uint64_t> words{open_at(10, 3), kind_tag(WordKind::time_base, 0), 500'000, close_at(7, 0)};
  EXPECT_EQ(decoding.decoder.decode(words, decoding.batch, decoding.context), words.size());
  const ScopeRun& run = decoding.batch.runs.front();
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_EQ(run.events[0].time_ns, 1'010);
  EXPECT_EQ(run.events[0].site, SiteId{3});
  EXPECT_EQ(run.events[1].time_ns, 500'007);
  EXPECT_EQ(run.end_sequence, words.size());
}

TEST(TrackDecoderTest, SkippedWordsMoveTheTimeBaseOnly) {
  const std::vector<std::uint64_t> words{open_at(10, 3), kind_tag(WordKind::time_base, 0), 500'000, close_at(7, 0),
                                         open_at(9, 4)};
  for (std::size_t known = 0; known <= words.size(); ++known) {
    if (known == 2) {
      continue;  // inside a record: blocks never end there
    }
    Decoding whole;
    whole.decoder.decode(words, whole.batch, whole.context);
    Decoding parts;
    parts.decoder.resume(
        known == 1 || known == 3 ? std::vector<OpenScope>{{1'010, SiteId{3}}} : std::vector<OpenScope>{}, 0);
    const std::span<const std::uint64_t> all(words);
    parts.decoder.skip(all.first(known));
    EXPECT_EQ(parts.decoder.decode(all.subspan(known), parts.batch, parts.context), words.size() - known);
    const auto& expected = whole.batch.runs.front().events;
    const auto& actual = parts.batch.runs.front().events;
    ASSERT_LE(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[actual.size() - 1 - i].time_ns, expected[expected.size() - 1 - i].time_ns) << known;
    }
    EXPECT_EQ(parts.decoder.sequence(), words.size());
  }
}

TEST(TrackDecoderTest, WordsWithoutATimeOfTheirOwnMoveNoTime) {
  // A chunk begun after its first event, and arguments that were drained apart from their scope.
  Decoding decoding;
  decoding.decoder.begin_chunk(600'000, 0);
  const std::vector<std::uint64_t> late_chunk{kind_tag(WordKind::time_base, 0), 500'000, open_at(1, 3)};
  decoding.decoder.decode(late_chunk, decoding.batch, decoding.context);
  const std::uint64_t name = 300'000;
  const std::vector<std::uint64_t> argument_first{(name << time_shift) | kind_tag(WordKind::argument, 0), 7,
                                                  close_at(2, 0)};
  decoding.decoder.decode(argument_first, decoding.batch, decoding.context);
  const ScopeRun& run = decoding.batch.runs.front();
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_EQ(run.events[0].time_ns, 500'001);
  EXPECT_EQ(run.events[1].time_ns, 500'002);
  EXPECT_EQ(decoding.batch.start_ns, 500'001);
  EXPECT_EQ(decoding.batch.end_ns, 500'002);
}

TEST(TrackDecoderTest, TimesOfATrackNeverGoBack) {
  Decoding decoding;
  const std::vector<std::uint64_t> words{open_at(100, 1), open_at(50, 2), close_at(40, 1), close_at(200, 0)};
  decoding.decoder.decode(words, decoding.batch, decoding.context);
  std::int64_t last = 0;
  for (const ScopeEvent& event : decoding.batch.runs.front().events) {
    EXPECT_GE(event.time_ns, last);
    last = event.time_ns;
  }
}

TEST(TrackDecoderTest, AClosePopsEveryDeeperScopeAndAStrayOneNothing) {
  Decoding decoding;
  const std::vector<std::uint64_t> words{close_at(1, 0), open_at(2, 1),  open_at(3, 2),
                                         open_at(4, 3),  close_at(5, 0), close_at(6, 5)};
  decoding.decoder.decode(words, decoding.batch, decoding.context);
  const auto& events = decoding.batch.runs.front().events;
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events.back().depth, 0U);
  EXPECT_FALSE(decoding.decoder.has_open_scopes());
}

TEST(TrackDecoderTest, ARecordThatReachesBeyondItsWordsIsNotTaken) {
  for (const std::uint64_t word :
       {kind_tag(WordKind::event, 10), kind_tag(WordKind::event, 0), kind_tag(WordKind::time_base, 0),
        kind_tag(WordKind::argument, 0), kind_tag(WordKind::none, 0), std::uint64_t{0}}) {
    Decoding decoding;
    const std::vector<std::uint64_t> words{open_at(1, 1), word};
    EXPECT_EQ(decoding.decoder.decode(words, decoding.batch, decoding.context), 1U);
  }
}

TEST(TrackDecoderTest, WordsAreTheSameEventsInWhateverPiecesTheyCome) {
  std::mt19937_64 random(5);
  for (int round = 0; round < test::rounds(300); ++round) {
    const std::uint64_t leaves = random() % 100;
    const std::uint64_t odd = round % 2 == 0 ? 3 : 0;
    std::vector<std::uint64_t> words;
    std::uint64_t time = 0;
    std::uint64_t depth = 0;
    for (std::uint64_t left = random() % 2'000; left > 0; --left) {
      // Up to the end of the map's first stretch and far beyond; back, now and then, in damaged words.
      time += random() % 200 == 0 ? 300'000 : random() % 50;
      const std::uint64_t now = random() % 100 < odd ? time - std::min<std::uint64_t>(time, 90) : time;
      const auto site = static_cast<std::uint32_t>(1 + random() % 4);
      if (random() % 100 < odd) {
        words.push_back(close_at(now, random() % (depth + 2)));
      } else if (random() % 100 < leaves) {
        words.push_back(open_at(now, site));
        words.push_back(close_at(time += random() % 9, depth));
      } else if (depth == 0 || (depth < 12 && random() % 2 == 0)) {
        words.push_back(open_at(now, site));
        ++depth;
      } else {
        words.push_back(close_at(now, --depth));
      }
    }
    Decoding whole;
    ASSERT_EQ(whole.decoder.decode(words, whole.batch, whole.context), words.size());
    Decoding pieces;
    for (const std::uint64_t& word : words) {
      ASSERT_EQ(pieces.decoder.decode({&word, 1}, pieces.batch, pieces.context), 1U);
    }
    const ScopeRun& expected = pieces.decoder.run_in(pieces.batch);
    const ScopeRun& actual = whole.decoder.run_in(whole.batch);
    ASSERT_EQ(actual.events.size(), expected.events.size());
    for (std::size_t i = 0; i < expected.events.size(); ++i) {
      ASSERT_EQ(actual.events[i].time_ns, expected.events[i].time_ns) << i;
      ASSERT_EQ(actual.events[i].site, expected.events[i].site) << i;
      ASSERT_EQ(actual.events[i].depth, expected.events[i].depth) << i;
      ASSERT_EQ(actual.events[i].flags, expected.events[i].flags) << i;
    }
    // What is open is what the next batch says of its start.
    whole.decoder.forget_run(whole.batch);
    pieces.decoder.forget_run(pieces.batch);
    const auto& open = whole.decoder.run_in(whole.batch).open_at_start;
    const auto& expected_open = pieces.decoder.run_in(pieces.batch).open_at_start;
    ASSERT_EQ(open.size(), expected_open.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
      EXPECT_EQ(open[i].start_ns, expected_open[i].start_ns);
      EXPECT_EQ(open[i].site, expected_open[i].site);
    }
  }
}

TEST(TrackDecoderTest, RandomWordsAreDecodedOrRefusedAndNeverTooMany) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> words(64);
  for (int round = 0; round < test::rounds(20'000); ++round) {
    for (std::uint64_t& word : words) {
      word = random();
      if ((random() & 3U) == 0) {
        word = (word & ~std::uint64_t{0xFFFFF}) | kind_tag(static_cast<WordKind>(random() % 6), random() % 20);
      } else if ((random() & 3U) == 0) {
        word = random() % 16;
      }
    }
    Decoding decoding;
    EXPECT_LE(decoding.decoder.decode(words, decoding.batch, decoding.context), words.size());
    decoding.decoder.end_track(decoding.batch, 0);
    EXPECT_FALSE(decoding.decoder.has_open_scopes());
  }
}

}  // namespace
}  // namespace kymo::record
