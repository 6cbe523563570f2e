// Where the time of a whole run went: made-up programs whose parts are known to the nanosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <kymo/explain_run.hpp>

#include "stats/made_up_program.hpp"
#include "stats/statistics/statistics.hpp"
#include "support/nanoseconds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

using Parts = std::map<std::string, double>;

class ExplainRun : public ::testing::Test {
 protected:
  [[nodiscard]] RunExplanation explain() const { return explain_run(Timeline(path_)); }

  static Parts parts_of(const RunExplanation& run) {
    Parts parts;
    double all_ns = run.other_ns;
    for (const RunPart& part : run.parts) {
      parts[part.text] += part.duration_ns;
      all_ns += part.duration_ns;
      EXPECT_NEAR(part.share, part.duration_ns / run.duration_ns(), 1e-9);
    }
    EXPECT_NEAR(all_ns, run.duration_ns(), 1);
    return parts;
  }

  static bool has_note(const RunExplanation& run, const std::string& words) {
    return std::any_of(run.notes.begin(), run.notes.end(),
                       [&](const std::string& note) { return note.find(words) != std::string::npos; });
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run.kymo";
};

/// `make` computes, loses its CPU, waits for a compiler, which waits for an assembler, and for nobody who is known.
TEST_F(ExplainRun, AProgramWithoutScopesIsFollowedThroughThoseItWaitsFor) {
  MadeUpProgram program(path_, true);
  program.fact("threads.wakes", "recorded");
  const TrackId make = program.thread_without_scopes("make", 101);
  const TrackId cc = program.thread_without_scopes("cc1plus", 102);
  const TrackId as = program.thread_without_scopes("as", 103);
  program.run(make, 20 * ms);
  program.push_off(make, 5 * ms);
  program.block(cc, 25 * ms);
  program.run(cc, 40 * ms);
  program.block(cc, 11 * ms);
  program.block(as, 65 * ms);
  program.run(as, 10 * ms);
  program.wake(cc, program.thread_of(as), 75 * ms);
  program.run(cc, 2 * ms);
  program.wake(make, program.thread_of(cc), 78 * ms);
  program.block(make, 55 * ms);
  program.run(make, 3 * ms);
  program.block(make, 15 * ms);
  program.run(make, 2 * ms);
  program.finish();
  const RunExplanation run = explain();
  EXPECT_EQ(run.thread, "make");
  EXPECT_EQ(run.pid, 101U);
  EXPECT_EQ(describe(run), "make (process 101) took 100 ms; its time, and that of whoever it waited for, went to");
  EXPECT_EQ(parts_of(run),
            (Parts{{"computing", 25e6},
                   {"pushed off the CPU by threads that were not recorded", 5e6},
                   {"waiting for cc1plus", 42e6},
                   {"waiting for cc1plus, which waited for as", 10e6},
                   {"waiting for cc1plus, which waited: late to go on after what it waited for had come", 1e6},
                   {"waiting: late to go on after what it waited for had come", 2e6},
                   {"blocked", 15e6}}));
  EXPECT_EQ(run.parts.front().text, "waiting for cc1plus");
  EXPECT_TRUE(has_note(run, "kymo record --stacks"));
  EXPECT_FALSE(has_note(run, "doctor"));
}

/// Two workers take turns for 60 of 80 ms, the loader runs for 30. kymo's own threads work for nobody.
void write_blocked_main_thread(MadeUpProgram& program) {
  const TrackId main = program.thread_without_scopes("app", 101);
  const TrackId first = program.thread_without_scopes("worker", 101);
  const TrackId second = program.thread_without_scopes("worker", 101);
  const TrackId loader = program.thread_without_scopes("loader", 101);
  const TrackId own = program.thread_without_scopes("kymo-collector", 101);
  program.run(main, 20 * ms);
  program.block(main, 80 * ms);
  program.run(first, 60 * ms);
  program.block(first, 40 * ms);
  program.block(second, 50 * ms);
  program.run(second, 30 * ms);
  program.block(second, 20 * ms);
  program.run(loader, 50 * ms);
  program.block(loader, 50 * ms);
  program.run(own, 100 * ms);
  program.finish();
}

TEST_F(ExplainRun, WithoutWakesItSaysWhoRanWhileAThreadWasBlocked) {
  MadeUpProgram program(path_, true);
  write_blocked_main_thread(program);
  EXPECT_EQ(parts_of(explain()),
            (Parts{{"computing", 20e6}, {"blocked while thread worker ran 75 % of the time", 80e6}}));
}

TEST_F(ExplainRun, WithWakesABlockedThreadWaitedForNobodyWhoRan) {
  MadeUpProgram program(path_, true);
  program.fact("threads.wakes", "recorded");
  write_blocked_main_thread(program);
  EXPECT_EQ(parts_of(explain()), (Parts{{"computing", 20e6}, {"blocked", 80e6}}));
}

TEST_F(ExplainRun, WhoRanForLessThanAQuarterOfAWaitIsNotNamed) {
  MadeUpProgram program(path_, true);
  const TrackId main = program.thread_without_scopes("app", 101);
  const TrackId worker = program.thread_without_scopes("worker", 101);
  program.block(main, 80 * ms);
  program.run(worker, 19 * ms);
  program.block(worker, 61 * ms);
  program.finish();
  EXPECT_EQ(parts_of(explain()), (Parts{{"blocked", 80e6}}));
}

TEST_F(ExplainRun, TimeInScopesIsSaidByScopeAndWaitsByLock) {
  MadeUpProgram program(path_, true);
  const TrackId main = program.thread("main");
  const TrackId loader = program.thread("loader");
  program.scope(main, "update", 30 * ms);
  program.open(loader, "load");
  program.run(loader, 70 * ms);
  program.close(loader);
  program.hold("assets", "loader", 10 * ms, 70 * ms);
  program.open(main, "draw");
  program.wait_for_lock(main, "assets", "loader", 70 * ms);
  program.run(main, 20 * ms);
  program.close(main);
  program.run(main, 10 * ms);
  program.finish();
  const RunExplanation run = explain();
  EXPECT_EQ(parts_of(run), (Parts{{"computing in \"update\" (game.cpp:72)", 30e6},
                                  {"waiting in \"wait for assets\", held by loader in \"load\" (game.cpp:72)", 40e6},
                                  {"computing in \"draw\" (game.cpp:72)", 20e6},
                                  {"computing outside of scopes", 10e6}}));
  EXPECT_TRUE(has_note(run, "which threads ended the waits was not recorded"));
}

TEST_F(ExplainRun, FunctionsOfThreadsWithoutScopesAreNamed) {
  MadeUpProgram program(path_, true);
  program.sample_stacks(1'000);
  const TrackId main = program.thread_without_scopes("program", 101);
  program.in_functions(main, {"main@/opt/program", "hash@/opt/program"});
  program.run(main, 75 * ms);
  program.in_functions(main, {"main@/opt/program", "parse@/opt/program"});
  program.run(main, 25 * ms);
  program.in_functions(main, {"main@/opt/program", "fsync@/usr/lib/libc.so.6", "schedule@[kernel]"});
  program.block(main, 60 * ms);
  program.finish();
  const RunExplanation run = explain();
  ASSERT_EQ(run.parts.size(), 2U);
  ASSERT_EQ(run.parts[0].functions.size(), 2U) << run.parts[0].text;
  EXPECT_EQ(run.parts[0].functions[0].name, "hash");
  EXPECT_NEAR(run.parts[0].functions[0].share, 0.75, 0.011);
  EXPECT_EQ(run.parts[0].functions[1].name, "parse");
  EXPECT_EQ(run.parts[1].text, "blocked; of it 100 % in fsync (libc.so.6)");
  EXPECT_FALSE(has_note(run, "compiled at run time"));
  EXPECT_FALSE(has_note(run, "--stacks"));
}

TEST_F(ExplainRun, ANoteTellsHowCodeThatWasCompiledAtRunTimeGetsNames) {
  MadeUpProgram program(path_, true);
  program.sample_stacks(1'000);
  const TrackId main = program.thread_without_scopes("node", 101);
  program.in_functions(main, {"[anonymous]@[anonymous]"});
  program.run(main, 75 * ms);
  program.finish();
  EXPECT_TRUE(has_note(explain(), "compiled at run time"));
}

TEST_F(ExplainRun, TheMainThreadThatIsKnownLongestIsExplained) {
  MadeUpProgram program(path_, true);
  const TrackId brief = program.thread_without_scopes("brief", 101);
  const TrackId longest = program.thread_without_scopes("longest", 102);
  const TrackId worker = program.thread_without_scopes("worker", 102);
  program.run(brief, 30 * ms);
  program.run(longest, 40 * ms);
  program.run(worker, 90 * ms);
  program.finish();
  const RunExplanation run = explain();
  EXPECT_EQ(run.thread, "longest");
  EXPECT_EQ(parts_of(run), (Parts{{"computing", 40e6}}));
}

TEST_F(ExplainRun, WhereRecordsWereLostTheRunIsTheWholeRecording) {
  MadeUpProgram program(path_, true);
  program.fact("record.threads_lost_records", "5");
  const TrackId main = program.thread_without_scopes("program", 101);
  const TrackId worker = program.thread_without_scopes("worker", 101);
  program.skip(main, 20 * ms);
  program.run(main, 10 * ms);
  program.run(worker, 100 * ms);
  program.finish();
  const RunExplanation run = explain();
  EXPECT_EQ(run.duration_ns(), 100e6) << "it may have begun earlier and ended later than is known";
  EXPECT_EQ(parts_of(run), (Parts{{"not recorded", 90e6}, {"computing", 10e6}}));
}

TEST_F(ExplainRun, WhatIsNotKnownOfAThreadWithoutScopesIsNoComputing) {
  MadeUpProgram program(path_, true);
  const TrackId main = program.thread_without_scopes("program", 101);
  program.run(main, 30 * ms);
  program.skip(main, 50 * ms);
  program.run(main, 20 * ms);
  program.finish();
  EXPECT_EQ(parts_of(explain()), (Parts{{"computing", 50e6}, {"not recorded", 50e6}}));
}

TEST_F(ExplainRun, LongRunsAddUp) {
  MadeUpProgram program(path_, true);
  const TrackId main = program.thread_without_scopes("program", 101);
  for (int i = 0; i < 7; ++i) {
    program.run(main, 4'000 * ms);
    program.block(main, 1'000 * ms);
  }
  program.finish();
  EXPECT_EQ(parts_of(explain()), (Parts{{"computing", 28e9}, {"blocked", 7e9}}));
}

/// Stretches of ten seconds would be a hundred million.
TEST_F(ExplainRun, TimesThatLieDecadesApartCostNoMemory) {
  MadeUpProgram program(path_, true);
  const TrackId main = program.thread_without_scopes("program", 101);
  constexpr std::int64_t decades_ns = std::int64_t{1} << 60U;
  program.run(main, 30 * ms);
  program.skip(main, decades_ns);
  program.run(main, 30 * ms);
  program.finish();
  const RunExplanation run = explain();
  ASSERT_EQ(run.parts.size(), 1U);
  EXPECT_EQ(run.parts[0].text, "not recorded");
  EXPECT_EQ(run.range.end_ns - run.range.start_ns, decades_ns + 60 * ms);
}

TEST_F(ExplainRun, WithoutRunStatesItSaysWhatThatMeans) {
  MadeUpProgram program(path_);
  const TrackId main = program.thread("main");
  program.scope(main, "work", 30 * ms);
  program.finish();
  const RunExplanation run = explain();
  EXPECT_EQ(parts_of(run), (Parts{{"computing in \"work\" (game.cpp:72)", 30e6}}));
  EXPECT_TRUE(has_note(run, "run states were not recorded"));
}

TEST_F(ExplainRun, WithoutAnyThreadThereIsNothingToExplain) {
  MadeUpProgram program(path_);
  program.finish();
  EXPECT_THROW((void)explain(), SelectionError);
}

}  // namespace
}  // namespace kymo::test
