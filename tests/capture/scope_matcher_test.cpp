#include "capture/summary/scope_matcher.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "support/rounds.hpp"
#include "support/scope_model.hpp"

namespace kymo::capture {
namespace {

using test::ModelScope;
using test::ModelShape;
using test::ScopeModel;

ScopeEvent open(std::int64_t time_ns, std::uint32_t site, std::uint16_t depth) {
  return {time_ns, SiteId{site}, depth, 0};
}
ScopeEvent close(std::int64_t time_ns, std::uint16_t depth, std::uint16_t flags = 0) {
  return {time_ns, SiteId{}, depth, flags};
}

std::vector<ScopeSpan> spans_of(const ScopeRun& run, ScopeStack& stack) {
  std::vector<ScopeSpan> spans;
  match(run, stack, [&](const ScopeSpan& span) { spans.push_back(span); });
  return spans;
}

std::vector<ScopeSpan> spans_of(const ScopeEvents& events) {
  ScopeRun run;
  run.events = events;
  ScopeStack stack;
  return spans_of(run, stack);
}

TEST(ScopeMatcherTest, AScopeIsItsSiteStartDurationAndDepth) {
  const auto spans = spans_of({open(100, 7, 0), open(110, 8, 1), close(130, 1), close(150, 0)});
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].site, SiteId{8});
  EXPECT_EQ(spans[0].start_ns, 110);
  EXPECT_EQ(spans[0].duration_ns, 20);
  EXPECT_EQ(spans[0].self_ns, 20);
  EXPECT_EQ(spans[0].depth, 1);
  EXPECT_EQ(spans[0].flags, 0);
  EXPECT_EQ(spans[0].close_event, 2U);
  EXPECT_EQ(spans[1].site, SiteId{7});
  EXPECT_EQ(spans[1].duration_ns, 50);
  EXPECT_EQ(spans[1].self_ns, 30);
  EXPECT_EQ(spans[1].depth, 0);
}

TEST(ScopeMatcherTest, SelfTimeOfARecursiveSiteCountsEachLevelOnce) {
  const auto spans =
      spans_of({open(0, 1, 0), open(10, 1, 1), open(20, 1, 2), close(30, 2), close(50, 1), close(100, 0)});
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].self_ns, 10);
  EXPECT_EQ(spans[1].self_ns, 30);
  EXPECT_EQ(spans[2].self_ns, 60);
}

TEST(ScopeMatcherTest, ACloseOfAnOuterScopeEndsTheInnerOnesUnbalanced) {
  const auto spans =
      spans_of({open(0, 1, 0), open(10, 2, 1), open(20, 3, 2), close(30, 0), open(40, 4, 0), close(45, 0)});
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0].site, SiteId{3});
  EXPECT_EQ(spans[0].flags, ScopeSpan::unbalanced);
  EXPECT_EQ(spans[0].duration_ns, 10);
  EXPECT_EQ(spans[1].site, SiteId{2});
  EXPECT_EQ(spans[1].flags, ScopeSpan::unbalanced);
  EXPECT_EQ(spans[1].self_ns, 10);
  EXPECT_EQ(spans[2].site, SiteId{1});
  EXPECT_EQ(spans[2].flags, 0);
  EXPECT_EQ(spans[2].self_ns, 10);
  EXPECT_EQ(spans[3].site, SiteId{4});
  EXPECT_EQ(spans[3].self_ns, 5);
}

TEST(ScopeMatcherTest, AForcedCloseIsUnbalanced) {
  const auto spans = spans_of({open(0, 1, 0), close(30, 0, ScopeEvent::forced)});
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].flags, ScopeSpan::unbalanced);
}

TEST(ScopeMatcherTest, ScopesGoOnFromRunToRun) {
  ScopeRun first;
  first.end_sequence = 3;
  first.events = {open(0, 1, 0), open(10, 2, 1), open(12, 3, 2), close(15, 2)};
  ScopeRun second;
  second.first_sequence = 3;
  second.end_sequence = 9;
  second.open_at_start = {{0, SiteId{1}}, {10, SiteId{2}}};
  second.events = {close(30, 1), close(50, 0)};
  ScopeStack stack;
  EXPECT_EQ(spans_of(first, stack).size(), 1U);
  EXPECT_EQ(stack.depth(), 2U);
  EXPECT_EQ(stack[1].inner_ns, 3U);
  const auto spans = spans_of(second, stack);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].duration_ns, 20);
  EXPECT_EQ(spans[0].self_ns, 17);
  EXPECT_EQ(spans[0].flags, ScopeSpan::started_before);
  EXPECT_EQ(spans[1].self_ns, 30);
  EXPECT_EQ(stack.next_sequence(), 9U);
}

TEST(ScopeMatcherTest, AReaderThatStartsAnywhereKnowsStartsButNotAllSelfTimes) {
  ScopeRun run;
  run.first_sequence = 700;
  run.open_at_start = {{0, SiteId{1}}, {10, SiteId{2}}};
  run.events = {open(20, 3, 2), close(25, 2), close(30, 1), close(50, 0)};
  ScopeStack stack;
  const auto spans = spans_of(run, stack);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].flags, 0);
  EXPECT_EQ(spans[1].flags, ScopeSpan::started_before | ScopeSpan::self_is_bound);
  EXPECT_EQ(spans[1].duration_ns, 20);
  EXPECT_EQ(spans[1].self_ns, 15);
  EXPECT_EQ(spans[2].duration_ns, 50);
  EXPECT_EQ(spans[2].self_ns, 30);
}

TEST(ScopeMatcherTest, ScopesThatWereOpenBeforeTheFirstRunCountFromAGivenTime) {
  ScopeRun first;
  first.end_sequence = 2;
  first.open_at_start = {{-900, SiteId{1}}, {-50, SiteId{2}}, {5, SiteId{3}}};
  first.events = {open(20, 4, 3), close(24, 3)};
  ScopeRun second;
  second.first_sequence = 2;
  second.end_sequence = 5;
  second.open_at_start = first.open_at_start;
  second.events = {close(30, 2), close(40, 1), close(60, 0)};
  ScopeStack stack;
  std::vector<ScopeSpan> spans;
  for (const ScopeRun& run : {first, second}) {
    match(
        run, stack, [&spans](const ScopeSpan& span) { spans.push_back(span); }, 3);
  }
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[1].start_ns, 5);
  EXPECT_EQ(spans[1].self_ns, 21);
  EXPECT_NE(spans[1].flags & ScopeSpan::self_is_bound, 0) << "what it did before the first run is not known";
  EXPECT_EQ(spans[2].start_ns, 3);
  EXPECT_EQ(spans[2].duration_ns, 37);
  EXPECT_EQ(spans[2].self_ns, 12);
  EXPECT_EQ(spans[2].flags, ScopeSpan::started_before);
  EXPECT_EQ(spans[3].duration_ns, 57);
  EXPECT_EQ(spans[3].self_ns, 20);
  EXPECT_EQ(spans[3].flags, ScopeSpan::started_before);
}

TEST(ScopeMatcherTest, SelfTimesAreBoundsWhereTheThreadDroppedScopes) {
  std::vector<ScopeRun> runs(4);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto time_ns = 100 * static_cast<std::int64_t>(i);
    runs[i].first_sequence = 2 * i;
    runs[i].end_sequence = 2 * i + 2;
    runs[i].dropped_scopes = i < 2 ? 0 : 5;
    runs[i].events = {open(time_ns + 10, 2, 1), close(time_ns + 20, 1)};
    runs[i].open_at_start = {{0, SiteId{1}}};
  }
  runs[0].open_at_start.clear();
  runs[0].events.insert(runs[0].events.begin(), open(0, 1, 0));
  runs[0].first_sequence = 0;
  runs[1].first_sequence = runs[0].end_sequence = 3;
  runs[1].end_sequence = runs[2].first_sequence;
  runs[3].events.push_back(close(400, 0));
  ScopeStack stack;
  std::vector<bool> are_bounds;
  const auto note = [&are_bounds](const ScopeSpan& span) {
    are_bounds.push_back((span.flags & ScopeSpan::self_is_bound) != 0);
  };
  for (const ScopeRun& run : runs) {
    match(run, stack, note);
  }
  EXPECT_EQ(are_bounds, (std::vector<bool>{false, false, true, false, true})) << "also what was open around the drops";

  // Who begins to read behind the drops knows of none.
  ScopeStack later;
  are_bounds.clear();
  match(runs[3], later, note);
  EXPECT_EQ(are_bounds, (std::vector<bool>{false, true})) << "what was inside before is not known";
}

TEST(ScopeMatcherTest, PlainScopesOfAThreadThatDroppedSomeAreTakenOneByOne) {
  ScopeRun run;
  run.end_sequence = 4;
  run.dropped_scopes = 1;
  run.events = {open(0, 1, 0), close(10, 0), open(20, 1, 0), close(30, 0)};
  ScopeStack stack;
  int bounds = 0;
  stack.begin(run);
  stack.take(
      run, 0, run.events.size(), [](const ScopeStack::PlainScope&) { FAIL() << "it says nothing of bounds"; },
      [&bounds](const ScopeSpan& span) { bounds += (span.flags & ScopeSpan::self_is_bound) != 0 ? 1 : 0; });
  EXPECT_EQ(bounds, 2);
}

TEST(ScopeMatcherTest, AMissingRunMakesSelfTimesBounds) {
  ScopeRun first;
  first.end_sequence = 1;
  first.events = {open(0, 1, 0)};
  ScopeRun third;
  third.first_sequence = 5;
  third.open_at_start = {{0, SiteId{1}}};
  third.events = {close(50, 0)};
  ScopeStack stack;
  spans_of(first, stack);
  const auto spans = spans_of(third, stack);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].flags, ScopeSpan::started_before | ScopeSpan::self_is_bound);
}

TEST(ScopeMatcherTest, WhatARunDoesNotNameAsOpenIsForgotten) {
  ScopeRun first;
  first.events = {open(0, 1, 0), open(5, 2, 1), open(6, 9, 2), close(8, 2), open(9, 3, 2)};
  ScopeRun second;
  second.open_at_start = {{0, SiteId{1}}, {7, SiteId{4}}};
  second.events = {open(10, 5, 2), close(12, 2), close(20, 1), close(30, 0)};
  ScopeStack stack;
  spans_of(first, stack);
  const auto spans = spans_of(second, stack);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].self_ns, 2);
  EXPECT_EQ(spans[1].site, SiteId{4});
  EXPECT_EQ(spans[1].self_ns, 11);
  EXPECT_EQ(spans[2].site, SiteId{1});
  EXPECT_EQ(spans[2].self_ns, 17);
}

TEST(ScopeMatcherTest, WhatEndedInsideAForgottenScopeCountsInNoOther) {
  ScopeRun before;
  before.end_sequence = 4;
  before.events = {open(0, 1, 0), open(10, 2, 1), open(20, 3, 2), close(50, 2)};
  ScopeRun after;
  after.first_sequence = 8;
  after.end_sequence = 12;
  after.open_at_start = {{0, SiteId{1}}};
  after.events = {open(100, 4, 1), open(110, 5, 2), close(120, 2), close(200, 1)};
  ScopeStack stack;
  ScopeStack quick;
  static_cast<void>(spans_of(before, stack));
  const auto ignore = [](const auto& /*scope*/) {};
  quick.begin(before);
  quick.take(before, 0, before.events.size(), ignore, ignore);
  const std::vector<ScopeSpan> spans = spans_of(after, stack);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1].self_ns, 90);
  std::vector<std::uint32_t> selfs;
  quick.begin(after);
  quick.take(
      after, 0, after.events.size(), [&](const ScopeStack::PlainScope& scope) { selfs.push_back(scope.self_ns); },
      ignore);
  EXPECT_EQ(selfs, (std::vector<std::uint32_t>{10, 90}));
}

TEST(ScopeMatcherTest, DamagedEventsAreTakenAsTheyCome) {
  ScopeRun run;
  run.events = {close(1, 0), close(2, 65535), open(3, 1, 500), open(4, 2, 0), close(5, 7), close(6, 0)};
  ScopeStack stack;
  const auto spans = spans_of(run, stack);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].site, SiteId{1});  // opened at depth 0, ended by the open of depth 0
  EXPECT_EQ(spans[0].flags, ScopeSpan::unbalanced);
  EXPECT_EQ(spans[1].site, SiteId{2});
  EXPECT_EQ(stack.depth(), 0U);
}

TEST(ScopeMatcherTest, TimesThatRunBackwardsGiveNoNegativeDurations) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
  for (const ScopeSpan& span : spans_of({open(100, 1, 0), open(200, 2, 1), close(50, 1), close(20, 0),
                                         open(least, 3, 0), open(0, 4, 1), close(greatest, 1), close(greatest, 0)})) {
    EXPECT_GE(span.duration_ns, 0);
    EXPECT_GE(span.self_ns, 0);
    EXPECT_LE(span.self_ns, span.duration_ns);
  }
}

TEST(ScopeMatcherTest, NestingAsDeepAsAnEventCanSayIsMatched) {
  ScopeEvents events;
  constexpr std::uint16_t deepest = 65534;
  for (std::uint32_t depth = 0; depth <= deepest; ++depth) {
    events.push_back(open(depth, 1, static_cast<std::uint16_t>(depth)));
  }
  for (std::uint32_t depth = deepest + 1U; depth > 0; --depth) {
    events.push_back(close(200'000 - depth, static_cast<std::uint16_t>(depth - 1)));
  }
  const auto spans = spans_of(events);
  ASSERT_EQ(spans.size(), deepest + 1U);
  EXPECT_EQ(spans.back().duration_ns, 199'999);
}

/// What a span must agree with the model in.
using Facts = std::tuple<SiteId, std::int64_t, std::int64_t, std::int64_t, std::uint16_t, bool>;

TEST(ScopeMatcherTest, RandomScopesOfAnyShapeAreMatchedAsTheModelKnowsThem) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ModelShape shape;
    shape.deepest = 1 + seed % 40;
    shape.unbalanced_percent = seed % 3 * 10;
    ScopeModel model(seed, shape);
    std::vector<ScopeStack> stacks(shape.tracks);
    std::vector<std::vector<Facts>> matched(shape.tracks);
    for (int batch = 0; batch < 6; ++batch) {
      for (const ScopeRun& run : model.next(seed % 5 == 0 ? 1 : test::rounds(100U) * seed).runs) {
        match(run, stacks[run.track.index()], [&](const ScopeSpan& span) {
          EXPECT_EQ((span.flags & ScopeSpan::self_is_bound), 0);
          matched[run.track.index()].push_back({span.site, span.start_ns, span.duration_ns, span.self_ns, span.depth,
                                                (span.flags & ScopeSpan::unbalanced) != 0});
        });
      }
    }
    const std::vector<std::int64_t> self_ns = model.self_times_ns();
    std::vector<std::vector<Facts>> expected(shape.tracks);
    for (std::size_t i = 0; i < model.scopes().size(); ++i) {
      const ModelScope& scope = model.scopes()[i];
      if (!scope.is_open) {
        expected[scope.track.index()].push_back(
            {scope.site, scope.start_ns, scope.end_ns - scope.start_ns, self_ns[i], scope.depth, scope.is_unbalanced});
      }
    }
    for (std::size_t track = 0; track < shape.tracks; ++track) {
      std::sort(matched[track].begin(), matched[track].end());
      std::sort(expected[track].begin(), expected[track].end());
      ASSERT_EQ(matched[track], expected[track]) << "seed " << seed << ", track " << track;
    }
  }
}

TEST(ScopeMatcherTest, PlainScopesAreTakenAsAllOthersAre) {
  using Counted = std::tuple<SiteId, std::int64_t, std::int64_t>;
  std::mt19937_64 random(11);
  for (int round = 0; round < test::rounds(400); ++round) {
    const std::uint64_t leaves = random() % 100;
    const std::uint64_t odd = round % 3 == 0 ? 3 : 0;
    ScopeStack stack;
    ScopeStack other;
    std::int64_t time_ns = 1'000;
    std::uint16_t depth = 0;
    for (int batch = 0; batch < 3; ++batch) {
      ScopeRun run;
      for (std::size_t i = 0; i < stack.depth(); ++i) {
        run.open_at_start.push_back({stack[i].start_ns, stack[i].site});
      }
      for (std::uint64_t left = random() % 600; left > 0; --left) {
        time_ns += static_cast<std::int64_t>(random() % 500 == 0 ? 5'000'000'000 : random() % 40);
        const auto site = static_cast<std::uint32_t>(1 + random() % 3);
        if (random() % 100 < odd) {
          run.events.push_back(random() % 2 == 0 ? open(time_ns, site, static_cast<std::uint16_t>(random() % 4))
                                                 : close(time_ns - 20, static_cast<std::uint16_t>(random() % 4), 1));
        } else if (random() % 100 < leaves) {
          run.events.push_back(open(time_ns, site, depth));
          run.events.push_back(close(time_ns + static_cast<std::int64_t>(random() % 9), depth));
          time_ns = run.events.back().time_ns;
        } else if (depth == 0 || (depth < 9 && random() % 2 == 0)) {
          run.events.push_back(open(time_ns, site, depth++));
        } else {
          run.events.push_back(close(time_ns, --depth));
        }
      }
      std::vector<Counted> expected;
      std::vector<Counted> taken;
      match(run, other, [&](const ScopeSpan& span) {
        expected.push_back({span.site, span.duration_ns, span.self_ns});
      });
      stack.begin(run);
      const auto on_scope = [&](const ScopeStack::PlainScope& scope) {
        taken.push_back({scope.site, scope.duration_ns, scope.self_ns});
      };
      for (std::size_t i = 0; i < run.events.size();) {
        const std::size_t stop = std::min<std::size_t>(run.events.size(), i + 1 + random() % 300);
        stack.take(run, i, stop, on_scope, [&](const ScopeSpan& span) {
          taken.push_back({span.site, span.duration_ns, span.self_ns});
        });
        i = stop;
      }
      ASSERT_EQ(taken, expected);
      ASSERT_EQ(stack.depth(), other.depth());
      for (std::size_t i = 0; i < stack.depth(); ++i) {
        EXPECT_EQ(stack[i].site, other[i].site);
        EXPECT_EQ(stack[i].start_ns, other[i].start_ns);
        EXPECT_EQ(stack[i].inner_ns, other[i].inner_ns);
        EXPECT_EQ(stack.ended_ns(i), other.ended_ns(i));
        EXPECT_EQ(stack.last_ended(i), other.last_ended(i));
      }
      depth = static_cast<std::uint16_t>(stack.depth());
    }
  }
}

TEST(ScopeMatcherTest, RandomEventsNeverBreakIt) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    ScopeStack stack;
    for (int i = 0; i < 4; ++i) {
      ScopeRun run;
      run.first_sequence = random() % 3;
      run.end_sequence = random() % 3;
      for (std::uint64_t k = random() % 5; k > 0; --k) {
        run.open_at_start.push_back(
            {static_cast<std::int64_t>(random()), SiteId{static_cast<std::uint32_t>(random() % 3)}});
      }
      for (std::uint64_t k = random() % 600; k > 0; --k) {
        const auto depth = static_cast<std::uint16_t>(random() % 8 == 0 ? random() : random() % 6);
        run.events.push_back({static_cast<std::int64_t>(random()), SiteId{static_cast<std::uint32_t>(random() % 2)},
                              depth, static_cast<std::uint16_t>(random() % 2)});
      }
      for (const ScopeSpan& span : spans_of(run, stack)) {
        ASSERT_GE(span.duration_ns, 0);
        ASSERT_GE(span.self_ns, 0);
        ASSERT_LT(span.close_event, run.events.size());
      }
      ASSERT_LE(stack.depth(), 5U + run.events.size());
    }
  }
}

}  // namespace
}  // namespace kymo::capture
