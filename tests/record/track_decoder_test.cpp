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
using detail::word_of;
using detail::WordKind;

struct Decoding {
  ClockMap clock{1.0};
  SampleGatherer samples;
  AsyncSpans async_spans;
  DecodeContext context{clock, samples, async_spans};
  EventBatch batch;
  TrackDecoder decoder{TrackId{1}};

  explicit Decoding(std::uint64_t begun_at = 1'000, std::initializer_list<std::uint64_t> later = {1'000'000}) {
    clock.add({begun_at, static_cast<std::int64_t>(begun_at), 1});
    for (const std::uint64_t by : later) {
      clock.add({begun_at + by, static_cast<std::int64_t>(begun_at + by), 1});
    }
    clear_batch(batch);
    decoder.begin_chunk(begun_at, 0);
  }
};

std::uint64_t open_at(std::uint64_t count, std::uint32_t site) {
  return word_of(open_tag(site), count);
}
std::uint64_t close_at(std::uint64_t count, std::uint64_t depth) {
  return word_of(kind_tag(WordKind::close, depth), count);
}

/// A decoder beside a clock that ticks nanoseconds, whose looks at the track are given.
struct Looks : Decoding {
  std::uint64_t last = 0;

  explicit Looks(std::uint64_t begun_at) : last(begun_at) {
    clock = ClockMap(1.0);
    clock.add({begun_at, static_cast<std::int64_t>(begun_at), 1});
    clock.add({begun_at + 1'000'000, static_cast<std::int64_t>(begun_at + 1'000'000), 1});
    decoder.begin_chunk(begun_at, 0);
  }

  /// The times of what is published until the look at `now`.
  std::vector<std::int64_t> look(std::uint64_t now, const std::vector<std::uint64_t>& words) {
    decoder.forget_run(batch);
    clear_batch(batch);
    clock.add({now, static_cast<std::int64_t>(now), 1});
    decoder.looked(last, now);
    last = now;
    EXPECT_EQ(decoder.decode(words, batch, context), words.size());
    std::vector<std::int64_t> times;
    for (const ScopeEvent& event : decoder.run_in(batch).events) {
      times.push_back(event.time_ns);
    }
    return times;
  }
};

constexpr std::uint64_t all_counts = std::uint64_t{1} << detail::count_bits;
constexpr std::uint64_t one_second = 1'000'000'000;

TEST(TrackDecoderTest, AWordHasItsTagAndItsCountsLowestBits) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1'000; ++round) {
    const std::uint64_t tag = random() % (1U << detail::tag_bits);
    const std::uint64_t count = random() >> (random() % 64);
    const std::uint64_t word = word_of(tag, count);
    EXPECT_EQ(detail::tag_of(word), tag);
    EXPECT_EQ(detail::shifted_count_of(word), count << detail::tag_bits);
  }
}

TEST(TrackDecoderTest, CountsAreThoseNearTheLastLookHoweverLargeTheyAre) {
  const std::uint64_t begun = 3 * all_counts + all_counts - 50 * one_second;  // a word's bits overflow soon
  Looks looks(begun);
  EXPECT_EQ(looks.look(begun + one_second, {open_at(begun + 10, 3)}),
            (std::vector<std::int64_t>{static_cast<std::int64_t>(begun + 10)}));
  // Nothing happens for days, in which someone looks.
  std::uint64_t now = begun + one_second;
  while (now < begun + 5 * all_counts) {
    now += 600 * one_second;
    EXPECT_TRUE(looks.look(now, {}).empty());
  }
  // A thread may be interrupted between the counter's read and the word's publication, before the look.
  const std::vector<std::uint64_t> counts{now - 5, now + 20, now + one_second};
  EXPECT_EQ(looks.look(now + 2 * one_second, {open_at(counts[0], 1), open_at(counts[1], 2), close_at(counts[2], 0)}),
            std::vector<std::int64_t>(counts.begin(), counts.end()));
}

TEST(TrackDecoderTest, AroundALongStopWordsAreNearTheLookBeforeOrTheLookAfter) {
  std::mt19937_64 random(11);
  for (int round = 0; round < test::rounds(2'000); ++round) {
    const std::uint64_t begun = random() >> 2U;
    Looks looks(begun);
    std::uint64_t count = begun + random() % one_second;
    looks.look(count, {});
    std::vector<std::uint64_t> words;
    std::vector<std::int64_t> times;
    const auto add = [&](std::size_t words_more) {
      for (; words_more > 0; --words_more) {
        count += random() % 1'000;
        words.push_back(words.size() % 2 == 0 ? open_at(count, 1) : close_at(count, 0));
        times.push_back(static_cast<std::int64_t>(count));
        if (random() % 4 == 0) {
          // An argument's name is no count.
          words.insert(words.end() - 1, {word_of(kind_tag(WordKind::argument, 0), random() % (1U << 30U)), 7});
        }
      }
    };
    add(random() % 1'500);
    // Minutes to weeks. Not within a one_second of a multiple of what a word can express: no word can tell that.
    count += all_counts / 4 + random() % (100 * all_counts);
    count += (count - begun + 20 * one_second) % all_counts < 40 * one_second ? 100 * one_second : 0;
    add(random() % 1'500);
    if (words.size() % 2 != 0 && (words.back() & 1U) == 0) {
      times.pop_back();
      words.pop_back();
    }
    ASSERT_EQ(looks.look(count + random() % one_second, words), times) << round;
  }
}

TEST(TrackDecoderTest, AfterTheCounterBeganAgainWordsAreNearTheLookAfter) {
  const std::uint64_t begun = 20 * all_counts;
  Looks looks(begun);
  looks.look(begun + one_second, {});
  looks.clock = ClockMap(1.0);
  looks.clock.add({8 * one_second, 8 * one_second, 1});
  const std::vector<std::uint64_t> counts{8 * one_second + 5, 8 * one_second + 90};
  EXPECT_EQ(looks.look(9 * one_second, {open_at(counts[0], 1), close_at(counts[1], 0)}),
            std::vector<std::int64_t>(counts.begin(), counts.end()));
}

TEST(TrackDecoderTest, SkippedWordsMoveTheSequenceOnly) {
  const std::vector<std::uint64_t> words{open_at(1'010, 3), close_at(500'007, 0), open_at(500'009, 4)};
  for (std::size_t known = 0; known <= words.size(); ++known) {
    Decoding parts;
    parts.decoder.resume(known == 1 ? std::vector<OpenScope>{{1'010, SiteId{3}}} : std::vector<OpenScope>{}, 0);
    parts.decoder.skip(known);
    const auto rest = std::span(words).subspan(known);
    EXPECT_EQ(parts.decoder.decode(rest, parts.batch, parts.context), rest.size());
    const auto& events = parts.batch.runs.front().events;
    ASSERT_EQ(events.size(), rest.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].time_ns, (std::vector<std::int64_t>{1'010, 500'007, 500'009})[known + i]);
    }
    EXPECT_EQ(parts.decoder.sequence(), words.size());
  }
}

TEST(TrackDecoderTest, WordsWithoutATimeOfTheirOwnMoveNoTime) {
  // A chunk begun after its first event, and arguments that were drained apart from their scope.
  Decoding decoding;
  decoding.decoder.begin_chunk(600'000, 0);
  const std::vector<std::uint64_t> late_chunk{open_at(500'001, 3)};
  decoding.decoder.decode(late_chunk, decoding.batch, decoding.context);
  const std::vector<std::uint64_t> argument_first{word_of(kind_tag(WordKind::argument, 0), 300'000), 7,
                                                  close_at(500'002, 0)};
  decoding.decoder.decode(argument_first, decoding.batch, decoding.context);
  const ScopeRun& run = decoding.batch.runs.front();
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_EQ(run.events[0].time_ns, 500'001);
  EXPECT_EQ(run.events[1].time_ns, 500'002);
  EXPECT_EQ(run.arguments.at(0).value.name, NameId{300'000});
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
  for (const std::uint64_t word : {word_of(kind_tag(WordKind::event, 10), 1), word_of(kind_tag(WordKind::event, 0), 1),
                                   word_of(kind_tag(WordKind::argument, 0), 1), word_of(kind_tag(WordKind::none, 0), 1),
                                   word_of(kind_tag(static_cast<WordKind>(3), 0), 1), std::uint64_t{0}}) {
    Decoding decoding;
    const std::vector<std::uint64_t> words{open_at(1, 1), word};
    EXPECT_EQ(decoding.decoder.decode(words, decoding.batch, decoding.context), 1U);
  }
}

TEST(TrackDecoderTest, WordsAreTheSameEventsInWhateverPiecesTheyCome) {
  std::mt19937_64 random(5);
  const std::initializer_list<std::uint64_t> pairs{1'000'000, 3'000'000'000, 9'000'000'000};
  for (int round = 0; round < test::rounds(300); ++round) {
    const std::uint64_t leaves = random() % 100;
    const std::uint64_t odd = round % 2 == 0 ? 3 : 0;
    // Now and then just before the lower half of the count begins again.
    const std::uint64_t begun =
        round % 3 != 0 ? random() % all_counts : ((random() % 5'000 + 1) << 32U) - random() % 2'000'000;
    std::vector<std::vector<std::uint64_t>> records;
    std::uint64_t time = begun;
    std::uint64_t depth = 0;
    for (std::uint64_t left = random() % 2'000; left > 0; --left) {
      // Up to the end of the map's lines and far beyond; back, now and then, in damaged words.
      time += random() % 200 != 0 ? random() % 50 : random() % 4 != 0 ? 300'000 : random() % 3'000'000'000;
      const std::uint64_t now = random() % 100 < odd ? time - std::min<std::uint64_t>(time - begun, 90) : time;
      const auto site = static_cast<std::uint32_t>(1 + random() % 4);
      if (random() % 100 < odd) {
        records.push_back({close_at(now, random() % (depth + 2))});
      } else if (random() % 50 == 0) {
        // A name looks like the lower half of any count, a value like any word.
        const std::uint64_t value = random() % 2 == 0 ? close_at(now, depth) : random();
        records.push_back({word_of(kind_tag(WordKind::argument, 0), static_cast<std::uint32_t>(random())), value});
      } else if (random() % 100 < leaves) {
        records.push_back({open_at(now, site)});
        records.push_back({close_at(time += random() % 9, depth)});
      } else if (depth == 0 || (depth < 12 && random() % 2 == 0)) {
        records.push_back({open_at(now, site)});
        ++depth;
      } else {
        records.push_back({close_at(now, --depth)});
      }
    }
    std::vector<std::uint64_t> words;
    Decoding pieces(begun, pairs);
    for (const std::vector<std::uint64_t>& record : records) {
      words.insert(words.end(), record.begin(), record.end());
      ASSERT_EQ(pieces.decoder.decode(record, pieces.batch, pieces.context), record.size());
    }
    Decoding whole(begun, pairs);
    ASSERT_EQ(whole.decoder.decode(words, whole.batch, whole.context), words.size());
    const ScopeRun& expected = pieces.decoder.run_in(pieces.batch);
    const ScopeRun& actual = whole.decoder.run_in(whole.batch);
    ASSERT_EQ(actual.events.size(), expected.events.size()) << round;
    for (std::size_t i = 0; i < expected.events.size(); ++i) {
      ASSERT_EQ(actual.events[i].time_ns, expected.events[i].time_ns) << i << " of round " << round;
      ASSERT_EQ(actual.events[i].site, expected.events[i].site) << i;
      ASSERT_EQ(actual.events[i].depth, expected.events[i].depth) << i;
      ASSERT_EQ(actual.events[i].flags, expected.events[i].flags) << i;
    }
    ASSERT_EQ(actual.arguments.size(), expected.arguments.size());
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
        word = word_of(kind_tag(static_cast<WordKind>(random() % 6), random() % 20), word);
      } else if ((random() & 3U) == 0) {
        word = word_of(random() % 16, word);
      }
    }
    Decoding decoding;
    if (random() % 2 == 0) {
      decoding.decoder.looked(random(), random());
    }
    EXPECT_LE(decoding.decoder.decode(words, decoding.batch, decoding.context), words.size());
    decoding.decoder.end_track(decoding.batch, 0);
    EXPECT_FALSE(decoding.decoder.has_open_scopes());
  }
}

}  // namespace
}  // namespace kymo::record
