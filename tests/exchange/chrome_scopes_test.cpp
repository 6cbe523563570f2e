#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "chrome_fixture.hpp"
#include "exchange/chrome/trace.hpp"
#include "support/rounds.hpp"

namespace kymo::exchange {
namespace {

using test::close;
using test::end_ns;
using test::first_batch;
using test::next_batch;
using test::of_phase;
using test::open;
using test::start_ns;
using test::trace_events;
using test::trace_text;
using Json = nlohmann::json;

ScopeRun& add_run(EventBatch& batch, std::uint64_t first_sequence = 0) {
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  run.first_sequence = first_sequence;
  return run;
}

TEST(ChromeScopes, NestedScopesKeepNamesTimesAndThread) {
  EventBatch batch = first_batch(1'000'000'000'000'001, 1'000'000'000'000'900);
  const std::int64_t base = batch.start_ns;
  add_run(batch).events = {open(base, 1, 0), open(base + 10, 2, 1), close(base + 35, 1), close(base + 100, 0)};
  const auto scopes = of_phase(trace_events({batch}), "X");
  ASSERT_EQ(scopes.size(), 2U);
  EXPECT_EQ(scopes[0].at("name"), "inner");
  EXPECT_EQ(start_ns(scopes[0]), base + 10);
  EXPECT_EQ(end_ns(scopes[0]), base + 35);
  EXPECT_EQ(scopes[1].at("name"), "outer");
  EXPECT_EQ(start_ns(scopes[1]), base);
  EXPECT_EQ(end_ns(scopes[1]), base + 100);
  for (const Json& scope : scopes) {
    EXPECT_EQ(scope.at("pid"), 4711);
    EXPECT_EQ(scope.at("tid"), 4712);
    EXPECT_EQ(scope.at("cat"), "scope");
    EXPECT_FALSE(scope.contains("args"));
  }
}

TEST(ChromeScopes, AScopeThatSpansBatchesKeepsItsStartAndItsArguments) {
  EventBatch first = first_batch(100, 200);
  first.declarations.names = {{NameId{1}, "items"}, {NameId{2}, "done"}};
  ScopeRun& run = add_run(first);
  run.events = {open(100, 1, 0), open(150, 2, 1)};
  run.end_sequence = 2;
  run.arguments = {{1, test::integer_argument(NameId{1}, 7)}};
  EventBatch second = next_batch(200, 300);
  ScopeRun& middle = add_run(second, 2);
  middle.end_sequence = 2;
  middle.open_at_start = {{100, SiteId{1}}, {150, SiteId{2}}};
  EventBatch third = next_batch(300, 400);
  ScopeRun& rest = add_run(third, 2);
  rest.open_at_start = middle.open_at_start;
  rest.events = {close(350, 1), close(390, 0)};
  rest.arguments = {{0, test::integer_argument(NameId{2}, 1)}, {1, test::integer_argument(NameId{2}, 2)}};
  const auto scopes = of_phase(trace_events({first, second, third}), "X");
  ASSERT_EQ(scopes.size(), 2U);
  EXPECT_EQ(start_ns(scopes[0]), 150);
  EXPECT_EQ(end_ns(scopes[0]), 350);
  EXPECT_EQ(scopes[0].at("args"), Json({{"done", 1}}));
  EXPECT_EQ(start_ns(scopes[1]), 100);
  EXPECT_EQ(end_ns(scopes[1]), 390);
  EXPECT_EQ(scopes[1].at("args"), Json({{"items", 7}, {"done", 2}}));
}

TEST(ChromeScopes, ScopesOpenBeforeTheFirstBatchAreWrittenFromTheirStart) {
  EventBatch batch = first_batch(1000, 2000);
  ScopeRun& run = add_run(batch, 50);
  run.open_at_start = {{300, SiteId{1}}, {400, SiteId{2}}};
  run.events = {close(1500, 1), close(1600, 0)};
  const auto scopes = of_phase(trace_events({batch}), "X");
  ASSERT_EQ(scopes.size(), 2U);
  EXPECT_EQ(start_ns(scopes[0]), 400);
  EXPECT_EQ(end_ns(scopes[0]), 1500);
  EXPECT_EQ(start_ns(scopes[1]), 300);
  EXPECT_EQ(end_ns(scopes[1]), 1600);
}

TEST(ChromeScopes, ScopesStillOpenEndAtTheLastTimeSeenAndSaySo) {
  EventBatch first = first_batch(0, 100);
  add_run(first).events = {open(10, 1, 0), open(20, 2, 1)};
  const auto scopes = of_phase(trace_events({first, next_batch(100, 777)}), "X");
  ASSERT_EQ(scopes.size(), 2U);
  for (const Json& scope : scopes) {
    EXPECT_EQ(end_ns(scope), 777);
    EXPECT_EQ(scope.at("args"), Json({{"open", true}}));
  }
}

TEST(ChromeScopes, ScopesThatDidNotCloseThemselvesAreMarked) {
  EventBatch batch = first_batch(0, 100);
  add_run(batch).events = {
      open(10, 1, 0), open(20, 2, 1), open(30, 3, 2), close(40, 1), close(50, 0, ScopeEvent::forced),
      open(60, 3, 0), close(70, 0)};
  const auto scopes = of_phase(trace_events({batch}), "X");
  ASSERT_EQ(scopes.size(), 4U);
  const Json mark = {{"unbalanced", true}};
  EXPECT_EQ(scopes[0].at("name"), "leaf");
  EXPECT_EQ(end_ns(scopes[0]), 40);
  EXPECT_EQ(scopes[0].at("args"), mark);
  EXPECT_FALSE(scopes[1].contains("args"));
  EXPECT_EQ(scopes[2].at("name"), "outer");
  EXPECT_EQ(scopes[2].at("args"), mark);
  EXPECT_FALSE(scopes[3].contains("args"));
}

TEST(ChromeScopes, AScopeWhoseEndWasLostIsWrittenUpToWhereItWasSeen) {
  EventBatch first = first_batch(0, 100);
  ScopeRun& run = add_run(first);
  run.events = {open(10, 1, 0), open(20, 2, 1)};
  run.end_sequence = 2;
  EventBatch later = next_batch(500, 600);
  ScopeRun& rest = add_run(later, 40);
  rest.open_at_start = {{10, SiteId{1}}, {450, SiteId{3}}};
  rest.events = {close(550, 1), close(560, 0)};
  const auto scopes = of_phase(trace_events({first, later}), "X");
  ASSERT_EQ(scopes.size(), 3U);
  EXPECT_EQ(scopes[0].at("name"), "inner");
  EXPECT_EQ(end_ns(scopes[0]), 100);
  EXPECT_EQ(scopes[0].at("args"), Json({{"end_lost", true}}));
  EXPECT_EQ(scopes[1].at("name"), "leaf");
  EXPECT_EQ(start_ns(scopes[1]), 450);
  EXPECT_EQ(scopes[2].at("name"), "outer");
  EXPECT_EQ(start_ns(scopes[2]), 10);
  EXPECT_EQ(end_ns(scopes[2]), 560);
}

TEST(ChromeScopes, OfScopesWithEqualTimesTheOuterOneComesFirst) {
  EventBatch batch = first_batch(0, 100);
  add_run(batch).events = {open(10, 1, 0), open(10, 2, 1), open(10, 3, 2), close(20, 2),   close(20, 1),
                           close(20, 0),   open(30, 3, 0), close(40, 0),   open(30, 2, 0), close(40, 0)};
  std::string names;
  for (const Json& scope : of_phase(trace_events({batch}), "X")) {
    names += scope.at("name").get<std::string>() + ' ';
  }
  EXPECT_EQ(names, "outer inner leaf leaf inner ");
}

TEST(ChromeScopes, DropsAreShownWhereTheyGrow) {
  EventBatch first = first_batch(0, 100);
  add_run(first).dropped_scopes = 0;
  EventBatch second = next_batch(100, 200);
  add_run(second).dropped_scopes = 12;
  EventBatch third = next_batch(200, 300);
  add_run(third).dropped_scopes = 12;
  const auto instants = of_phase(trace_events({first, second, third}), "i");
  ASSERT_EQ(instants.size(), 1U);
  EXPECT_EQ(start_ns(instants[0]), 200);
  EXPECT_EQ(instants[0].at("args"), Json({{"scopes", 12}, {"others", 0}}));
}

TEST(ChromeScopes, NamesOfAnyKindComeOutEscapedAndLostOnesSaySo) {
  EventBatch batch = first_batch(0, 100);
  batch.declarations.sites[0].name = "operator\"\"_x\\\n\x01 \xFF é";
  batch.declarations.sites[1].name = "";
  batch.declarations.sites[1].function = "void f()";
  add_run(batch).events = {open(1, 1, 0), close(2, 0), open(3, 2, 0), close(4, 0), open(5, 4'000'000'000, 0),
                           close(6, 0)};
  const auto scopes = of_phase(trace_events({batch}), "X");
  ASSERT_EQ(scopes.size(), 3U);
  EXPECT_EQ(scopes[0].at("name"), "operator\"\"_x\\\n\x01 \xEF\xBF\xBD é");
  EXPECT_EQ(scopes[1].at("name"), "void f()");
  EXPECT_EQ(scopes[2].at("name"), "site 4000000000 (not declared)");
}

/// A scope as the random program knows it.
using Known = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;  // name, start, end, argument or -1

/// A program of random scopes on several threads, in batches cut at random places, and what it really did.
struct RandomProgram {
  std::vector<EventBatch> batches;
  std::vector<Known> scopes;

  explicit RandomProgram(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    struct Open {
      std::int64_t start_ns;
      SiteId site;
      std::int64_t argument;
    };
    std::vector<std::vector<Open>> stacks(3);
    std::vector<std::uint64_t> sequences(3);
    std::int64_t now_ns = 5'000'000'000'000;
    for (int number = 0; number < 20; ++number) {
      const bool is_first = number == 0;
      EventBatch batch = is_first ? first_batch(now_ns, 0) : next_batch(now_ns, 0);
      if (is_first) {
        batch.declarations.tracks.push_back({TrackId{2}, TrackKind::thread, ProcessId{1}, 4713, "second"});
        batch.declarations.tracks.push_back({TrackId{3}, TrackKind::thread, ProcessId{1}, 4714, "third"});
        batch.declarations.names = {{NameId{1}, "n"}};
      }
      for (std::size_t track = 0; track < 3; ++track) {
        auto& stack = stacks[track];
        ScopeRun& run = batch.runs.emplace_back();
        run.track = TrackId::from_index(track);
        run.first_sequence = sequences[track];
        for (const Open& level : stack) {
          run.open_at_start.push_back({level.start_ns, level.site});
        }
        std::int64_t time_ns = now_ns;
        const std::size_t count = random() % 600;
        for (std::size_t i = 0; i < count; ++i) {
          time_ns += static_cast<std::int64_t>(random() % 40);
          const auto depth = static_cast<unsigned>(stack.size());
          if (depth < 8 && (depth == 0 || random() % 2 == 0)) {
            const auto site = static_cast<std::uint32_t>(1 + random() % 3);
            run.events.push_back(open(time_ns, site, depth));
            stack.push_back({time_ns, SiteId{site}, -1});
          } else {
            run.events.push_back(close(time_ns, depth - 1));
            const char* const names[] = {"outer", "inner", "leaf"};
            const Open ended = stack.back();
            scopes.emplace_back(names[ended.site.index()], ended.start_ns, time_ns, ended.argument);
            stack.pop_back();
          }
          if (!stack.empty() && stack.back().argument < 0 && random() % 5 == 0) {
            stack.back().argument = static_cast<std::int64_t>(random() % 1000);
            run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()),
                                     test::integer_argument(NameId{1}, stack.back().argument)});
          }
        }
        batch.end_ns = std::max(batch.end_ns, time_ns);
        sequences[track] += count;
        run.end_sequence = sequences[track];
      }
      now_ns = batch.end_ns + 1;
      batches.push_back(std::move(batch));
    }
    for (std::size_t track = 0; track < 3; ++track) {
      for (const Open& left : stacks[track]) {
        const char* const names[] = {"outer", "inner", "leaf"};
        scopes.emplace_back(names[left.site.index()], left.start_ns, now_ns - 1, left.argument);
      }
    }
    std::sort(scopes.begin(), scopes.end());
  }
};

TEST(ChromeScopes, ARandomProgramIsReadBackToTheNanosecond) {
  for (std::uint64_t seed = 1; seed <= kymo::test::rounds(4U); ++seed) {
    const RandomProgram program(seed);
    std::vector<Known> read;
    for (const Json& scope : of_phase(trace_events(program.batches), "X")) {
      const Json args = scope.value("args", Json::object());
      read.emplace_back(scope.at("name"), start_ns(scope), end_ns(scope), args.value("n", std::int64_t{-1}));
    }
    std::sort(read.begin(), read.end());
    ASSERT_EQ(read.size(), program.scopes.size());
    EXPECT_EQ(read, program.scopes) << "seed " << seed;
  }
}

TEST(ChromeScopes, PythonReadsTheSameProgramAndFindsItNested) {
  test::TemporaryDirectory directory;
  const RandomProgram program(99);
  const std::string trace = directory / "trace.json";
  const std::string expected = directory / "expected.txt";
  std::ofstream(trace, std::ios::binary) << trace_text(program.batches, TraceContainer::object);
  {
    std::ofstream file(expected);
    for (const auto& [name, start, end, argument] : program.scopes) {
      file << name << ' ' << start << ' ' << end << ' ' << argument << '\n';
    }
  }
  EXPECT_EQ(test::output_of(KYMO_TEST_PYTHON " " KYMO_TEST_SCRIPTS "/check_scopes.py " + trace + " " + expected),
            std::to_string(program.scopes.size()) + " equal\n");
}

TEST(ChromeScopes, DamagedBatchesMakeValidJson) {
  std::mt19937_64 random(3);
  const auto any = [&random](std::uint64_t usual) { return random() % 4 == 0 ? random() : random() % usual; };
  for (int round = 0; round < kymo::test::rounds(100); ++round) {
    std::vector<EventBatch> batches;
    for (int number = 0; number < 3; ++number) {
      EventBatch batch = number == 0 ? first_batch(0, 100) : next_batch(0, static_cast<std::int64_t>(any(1000)));
      batch.text = "text\xC3";
      for (int i = 0; i < 3; ++i) {
        ScopeRun& run = batch.runs.emplace_back();
        run.track = TrackId{static_cast<std::uint32_t>(any(3))};
        run.dropped_scopes = any(2);
        for (std::uint64_t level = random() % 3; level > 0; --level) {
          run.open_at_start.push_back(
              {static_cast<std::int64_t>(any(100)), SiteId{static_cast<std::uint32_t>(any(4))}});
        }
        for (int event = 0; event < 8; ++event) {
          run.events.push_back({static_cast<std::int64_t>(any(100)), SiteId{static_cast<std::uint32_t>(any(4))},
                                static_cast<std::uint16_t>(any(4)), static_cast<std::uint16_t>(any(2))});
          ArgumentValue value;
          value.name = NameId{static_cast<std::uint32_t>(any(3))};
          value.type = static_cast<ArgumentType>(any(6));
          value.bits = any(6);
          value.text_size = static_cast<std::uint32_t>(any(6));
          run.arguments.push_back({static_cast<std::uint32_t>(any(9)), value});
          batch.span_arguments.push_back(value);
        }
        const TrackId track{static_cast<std::uint32_t>(any(4))};
        const auto time = static_cast<std::int64_t>(any(100));
        batch.spans.push_back({track, NameId{static_cast<std::uint32_t>(any(3))},
                               NameId{static_cast<std::uint32_t>(any(3))}, static_cast<std::uint32_t>(any(3)),
                               static_cast<std::uint32_t>(any(3)), time, static_cast<std::int64_t>(any(50)), any(3)});
        batch.async_begins.push_back({track, NameId{static_cast<std::uint32_t>(any(3))}, time, any(3)});
        batch.frame_marks.push_back({FrameStreamId{static_cast<std::uint32_t>(any(2))}, track, time});
        batch.samples.push_back(
            {MetricId{static_cast<std::uint32_t>(any(2))}, {time, time}, {std::bit_cast<double>(random())}, {}});
        batch.messages.push_back({track, true, time, std::string(3, static_cast<char>(random()))});
        batch.flows.push_back({track, static_cast<FlowPhase>(any(4)), time, any(9)});
        batch.sync_points.push_back({any(9), track, time});
        batch.clock_uncertainties.push_back({time, time, time});
        batch.declarations.tracks.push_back({TrackId{static_cast<std::uint32_t>(any(4))},
                                             static_cast<TrackKind>(any(3)),
                                             ProcessId{static_cast<std::uint32_t>(any(2))}, any(10), "\xF0"});
      }
      batches.push_back(std::move(batch));
    }
    const std::string text = trace_text(batches, TraceContainer::object);
    ASSERT_FALSE(Json::parse(text, nullptr, false).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace kymo::exchange
