// Nothing that was closed is lost, however the program ends or goes on: exit, _exit, abort, crash, fork, exec, dlclose.
#include "lifecycle_fixture.hpp"

#include <algorithm>
#include <csignal>

#include <dlfcn.h>

#include "capture/merge/merge.hpp"
#include "support/programs.hpp"

namespace kymo {
namespace {

TEST_F(LifecycleTest, ANormalEndClosesTheCapture) {
  EXPECT_EQ(run({"normal"}), 0);
  ASSERT_EQ(captures().size(), 1U);
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed());
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
  EXPECT_EQ(output(), "");
}

TEST_F(LifecycleTest, ExitInsideAScopeLeavesItOpenInAClosedCapture) {
  EXPECT_EQ(run({"exit"}), 3);
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed());
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, ScopesInStaticDestructorsAndAtexitAreKept) {
  EXPECT_EQ(run({"static"}), 0);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}, {"atexit", 1000}, {"static destructor", 1000}}));
}

TEST_F(LifecycleTest, UnderscoreExitLosesNothing) {
  EXPECT_EQ(run({"_exit"}), 4);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, QuickExitClosesTheCapture) {
  EXPECT_EQ(run({"quick_exit"}), 5);
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed());
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, AbortIsWrittenAndStillAborts) {
  EXPECT_EQ(run({"abort"}), -SIGABRT);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, ACrashIsWrittenByTheTimeItEndsTheProcess) {
  // A sanitizer's crash handler would be the program's own, which the recorder's hands on to, and ends the process with
  // an exit status.
  EXPECT_EQ(
      run({"crash"}, {with_option("ASAN_OPTIONS", "handle_segv=0"), with_option("TSAN_OPTIONS", "handle_segv=0")}),
      -SIGSEGV);
  ASSERT_EQ(captures().size(), 1U);
  // In the file itself, not only in shared memory.
  const CaptureReader capture(captures().front());
  std::uint64_t events = 0;
  for (const BlockInfo& block : capture.blocks()) {
    events += block.scope_events;
  }
  EXPECT_EQ(events, 2000U);
}

TEST_F(LifecycleTest, TheProgramsOwnCrashHandlerDecides) {
  EXPECT_EQ(run({"crash-handled"}), 42);
}

TEST_F(LifecycleTest, EachForkedProcessWritesACaptureOfItsOwn) {
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  EXPECT_EQ(run({"fork"}, {without_leak_detection()}), 0);
  EXPECT_EQ(captures().size(), 3U);
  EXPECT_EQ(counts(), (Counts{{"parent", 2000}, {"child", 1000}, {"grandchild", 1000}, {"open over fork", 1}}));
}

TEST_F(LifecycleTest, AWorkersCaptureEndsWithThatOfItsStarter) {
  if (test::has_sanitizer) {
    GTEST_SKIP() << test::no_fork_beside_allocations;
  }
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  EXPECT_EQ(run({"fork-follower"}, {without_leak_detection(), {"KYMO_SAMPLE", "100"}}), 0);
  EXPECT_EQ(counts(), (Counts{{"child", 1000}}));
  ASSERT_EQ(captures().size(), 2U);
  for (const auto& path : captures()) {
    EXPECT_TRUE(CaptureReader(path).is_closed());
  }
}

TEST_F(LifecycleTest, AForkedChildGoesOnInTheFiberThatItWasIn) {
  if (test::has_sanitizer) {
    GTEST_SKIP() << test::no_fork_beside_allocations;
  }
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  EXPECT_EQ(run({"fork-fiber"}, {without_leak_detection()}), 0);
  ASSERT_EQ(captures().size(), 2U);
  // "task" and "busy" are the runs of those fibers on the tracks of threads.
  EXPECT_EQ(counts(), (Counts{{"parent", 1000},
                              {"open over fork", 1},
                              {"task", 1},
                              {"busy", 2},
                              {"child in fiber", 1000},
                              {"child", 1000},
                              {"child in the other fiber", 1000}}));
  for (const std::string& path : captures()) {
    const CaptureReader capture(path);
    std::map<std::string, std::uint64_t> opened;
    EventBatch batch;
    for (const BlockInfo& block : capture.blocks()) {
      if (block.kind == BlockKind::events && capture.read(block, batch)) {
        for (const ScopeRun& scopes : batch.runs) {
          for (const TrackDeclaration& track : capture.declarations().tracks) {
            if (track.id == scopes.track && track.role == TrackRole::fiber) {
              opened[track.name] += scopes.events.size();
            }
          }
        }
      }
    }
    const bool is_child = opened.count("busy") != 0;
    EXPECT_EQ(opened["task"], is_child ? 2'000U : 2'002U);
    EXPECT_EQ(opened["busy"], is_child ? 2'000U : 0U);
  }
}

TEST_F(LifecycleTest, ForkWhileOtherThreadsRecordHarmsNeither) {
  if (test::has_sanitizer) {
    GTEST_SKIP() << test::no_fork_beside_allocations;
  }
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  constexpr auto forks = 20U;
  EXPECT_EQ(run({"fork-threads", std::to_string(forks)}, {without_leak_detection()}), 0);
  EXPECT_EQ(captures().size(), 1 + forks);
  EXPECT_EQ(counts()["child"], forks * 1'000);
}

TEST_F(LifecycleTest, ExecLosesNothingAndTheNewImageRecordsAnew) {
  EXPECT_EQ(run({"exec"}), 0);
  EXPECT_EQ(captures().size(), 2U);
  EXPECT_EQ(counts(), (Counts{{"before exec", 1000}, {"main", 1000}}));
}

TEST_F(LifecycleTest, AModuleRecordsThroughTheRecorderThatIsThere) {
  EXPECT_EQ(run({"module", SHARED_MODULE}), 0);
  EXPECT_EQ(captures().size(), 1U);
  EXPECT_EQ(counts(), (Counts{{"main", 2000}, {"module", 1000}}));
}

TEST_F(LifecycleTest, ASecondCopyOfTheRecorderSaysSoAndStaysOff) {
  EXPECT_EQ(run({"module", STATIC_MODULE}), 0);
  EXPECT_EQ(counts(), (Counts{{"main", 2000}}));
  EXPECT_NE(output().find("another copy of the recorder"), std::string::npos);
}

#ifdef LM_ID_NEWLM
TEST_F(LifecycleTest, InANamespaceOfDlmopenTheRecorderSaysSoAndStaysOff) {
  if (test::has_sanitizer) {
    GTEST_SKIP() << "a sanitizer's runtime is no second time in a process";
  }
  EXPECT_EQ(run({"module-in-namespace", SHARED_MODULE}), 0);
  EXPECT_EQ(counts(), (Counts{{"main", 2000}}));
  EXPECT_NE(output().find("dlmopen() loaded this copy of the recorder"), std::string::npos);
}
#endif

TEST_F(LifecycleTest, AnExistingCaptureIsNeverOverwritten) {
  const std::string path = captures_ + "/same.kymo";
  for (int i = 0; i < 3; ++i) {
    ChildProcess program({LIFECYCLE_PROGRAM, "normal"}, {{"KYMO_RECORD", path}}, output_);
    EXPECT_EQ(program.wait(), 0);
  }
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(captures().size(), 3U);
}

TEST_F(LifecycleTest, AFullDiskIsSaidAndTheProgramGoesOnAndTheCaptureCountsWhatItLacks) {
  EXPECT_EQ(run({"full-disk"}), 0);
  const std::string said = output();
  EXPECT_NE(said.find("result 42"), std::string::npos);
  // That there is no room, once, and at the end for how much.
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
  const CaptureReader capture(captures().front());
  EXPECT_TRUE(capture.damages().empty());
  EXPECT_TRUE(capture.is_closed());
  EXPECT_GT(counts()["main"], 0U);
  std::uint64_t accounted = 0;
  for (const TrackTotals& track : capture.end().tracks) {
    accounted += track.recorded_scopes + track.dropped_scopes;
  }
  constexpr std::uint64_t issued = 200 * 1'000;
  EXPECT_EQ(accounted, issued);
}

TEST_F(LifecycleTest, WhereTheDiskIsFullACaptureElsewhereCanBeStarted) {
  EXPECT_EQ(run({"full-disk-elsewhere"}), 0) << output();
  ASSERT_EQ(captures().size(), 2U);
  for (const std::string& path : captures()) {
    EXPECT_TRUE(CaptureReader(path).is_closed()) << path;
  }
  EXPECT_EQ(counts()["elsewhere"], 1'000U);
}

/// Samples of a metric in all captures.
std::size_t count_samples(const std::string& path, const std::string& metric) {
  const CaptureReader capture(path);
  std::size_t count = 0;
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::events && capture.read(block, batch)) {
      for (const SampleRun& run : batch.samples) {
        for (const MetricDeclaration& declared : capture.declarations().metrics) {
          count += declared.id == run.metric && declared.name == metric ? run.values.size() : 0;
        }
      }
    }
  }
  return count;
}

std::string info_of(const std::string& path, const std::string& key) {
  const CaptureReader capture(path);
  for (const InfoDeclaration& info : capture.declarations().infos) {
    if (info.key == key) {
      return info.value;
    }
  }
  return {};
}

TEST_F(LifecycleTest, WithoutVariablesNothingIsRecorded) {
  ChildProcess program({LIFECYCLE_PROGRAM, "frames"}, {}, output_);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(output(), "");
  EXPECT_TRUE(captures().empty());
}

TEST_F(LifecycleTest, ScopesOffLeavesMetricsOn) {
  EXPECT_EQ(run({"frames"}, {{"KYMO_SCOPES", "0"}}), 0);
  EXPECT_TRUE(counts().empty());
  EXPECT_EQ(count_samples(captures().front(), "loss"), 100U);
  EXPECT_EQ(count_samples(captures().front(), "frame_ms"), 99U);
}

TEST_F(LifecycleTest, ScopeEveryRecordsEveryNthFrameAndSaysSo) {
  EXPECT_EQ(run({"frames"}, {{"KYMO_SCOPE_EVERY", "10"}}), 0);
  EXPECT_EQ(counts(), (Counts{{"frame work", 10}}));
  EXPECT_EQ(count_samples(captures().front(), "loss"), 100U);
  EXPECT_EQ(info_of(captures().front(), "scope_every"), "10");
}

TEST_F(LifecycleTest, ScopeMaxFramesStopsScopesAndNotMetrics) {
  EXPECT_EQ(run({"frames"}, {{"KYMO_SCOPE_MAX_FRAMES", "25"}}), 0);
  EXPECT_EQ(counts(), (Counts{{"frame work", 25}}));
  EXPECT_EQ(count_samples(captures().front(), "loss"), 100U);
}

TEST_F(LifecycleTest, AProgramThatDroppedScopesSaysSoOnceAtItsEndWithWhatToSet) {
  EXPECT_EQ(run({"drops"}), 0);
  const std::uint64_t recorded = counts()["nested"];
  const std::string said = output();
  const std::string expected = std::to_string(12'001 - recorded) + " scopes were dropped";
  EXPECT_LT(recorded, 12'001U);
  const std::size_t at = said.find(expected);
  EXPECT_NE(at, std::string::npos) << expected << " in:\n" << said;
  EXPECT_NE(said.find("KYMO_BUFFER=", at), std::string::npos) << said;
  EXPECT_EQ(said.find("were dropped", at + expected.size()), std::string::npos) << said;
  EXPECT_EQ(run({"normal"}), 0);
  EXPECT_EQ(output().find("were dropped", at + expected.size()), std::string::npos) << output();
}

TEST_F(LifecycleTest, MaxSizeStopsScopesAndNotMetrics) {
  EXPECT_EQ(run({"frames"}, {{"KYMO_MAX_SIZE", "2500"}}), 0);
  EXPECT_LT(counts()["frame work"], 100U);
  EXPECT_EQ(count_samples(captures().front(), "loss"), 100U);
  EXPECT_NE(output().find("KYMO_MAX_SIZE"), std::string::npos);
  EXPECT_NE(info_of(captures().front(), "scopes_stopped"), "");
}

TrackTotals sum_of_totals(const std::string& path) {
  const CaptureReader capture(path);
  TrackTotals sum;
  for (const TrackTotals& track : capture.end().tracks) {
    sum.recorded_scopes += track.recorded_scopes;
    sum.dropped_scopes += track.dropped_scopes;
  }
  return sum;
}

TEST_F(LifecycleTest, WhatAFullDiskLostIsCountedAfterAKillToo) {
  EXPECT_EQ(run({"full-disk-killed"}), -SIGKILL);
  const std::string path = captures().front();
  static_cast<void>(capture::recover(path));
  const TrackTotals sum = sum_of_totals(path);
  EXPECT_GT(sum.dropped_scopes, 0U);
  EXPECT_EQ(sum.recorded_scopes + sum.dropped_scopes, 201U * 1'000U);
}

TEST_F(LifecycleTest, WhatALimitOfSizeDroppedIsCountedAfterAKillToo) {
  EXPECT_EQ(run({"size-limit-killed"}), -SIGKILL);
  const std::string path = captures().front();
  const auto expect_all_stated = [](const std::string& capture) {
    EXPECT_EQ(sum_of_totals(capture).recorded_scopes, 20'001U) << capture;
    EXPECT_EQ(sum_of_totals(capture).dropped_scopes, 1'000U) << capture;
    EXPECT_NE(info_of(capture, "scopes_stopped"), "") << capture;
  };
  capture::MergeOptions options;
  options.find_unwritten = [](CaptureReader& reader) {
    std::vector<EventBatch> batches;
    capture::read_unwritten(reader, [&batches](const EventBatch& batch) { batches.push_back(batch); });
    return batches;
  };
  const fs::path merged = directory_ / "merged.kymo";
  const fs::path again = directory_ / "again.kymo";
  capture::merge(std::vector<fs::path>{path}, merged, options);
  expect_all_stated(merged);
  static_cast<void>(capture::recover(path));
  expect_all_stated(path);
  capture::merge(std::vector<fs::path>{path}, again);
  expect_all_stated(again);
}

TEST_F(LifecycleTest, SitesAreLeftOutAndTheCaptureSaysSo) {
  const std::string trace = directory_ / "trace.json";
  EXPECT_EQ(run({"sites"}, {{"KYMO_SITES", "*,-lou?"}, {"KYMO_TRACE", trace}}), 0);
  EXPECT_EQ(counts(), (Counts{{"quiet", 10}}));
  EXPECT_EQ(info_of(captures().front(), "site_filter"), "*,-lou?");
  std::ifstream file(trace);
  std::stringstream json;
  json << file.rdbuf();
  EXPECT_NE(json.str().find("quiet"), std::string::npos);
  EXPECT_EQ(json.str().find("loud"), std::string::npos);
}

TEST_F(LifecycleTest, WithoutAFilterTheCaptureNamesNone) {
  EXPECT_EQ(run({"sites"}), 0);
  EXPECT_EQ(counts(), (Counts{{"loud", 10}, {"quiet", 10}}));
  EXPECT_EQ(info_of(captures().front(), "site_filter"), "");
}

TEST_F(LifecycleTest, TheFirstFilterHoldsForTheProcessAndItsForks) {
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  EXPECT_EQ(run({"sites-change"}, {without_leak_detection(), {"KYMO_SITES", "quiet"}}), 0);
  EXPECT_EQ(counts(), (Counts{{"quiet", 30}}));
  ASSERT_EQ(captures().size(), 3U);
  for (const std::string& path : captures()) {
    EXPECT_EQ(info_of(path, "site_filter"), "quiet") << path;
  }
  EXPECT_NE(output().find("KYMO_SITES stays"), std::string::npos);
}

TEST_F(LifecycleTest, AFilterThatIsNoneIsSaidAndAllSitesAreRecorded) {
  EXPECT_EQ(run({"sites"}, {{"KYMO_SITES", "quiet,,-"}}), 0);
  EXPECT_EQ(counts(), (Counts{{"loud", 10}, {"quiet", 10}}));
  EXPECT_NE(output().find("KYMO_SITES='quiet,,-' is not understood"), std::string::npos);
  EXPECT_EQ(info_of(captures().front(), "site_filter"), "");
}

TEST_F(LifecycleTest, LabelsAndInfosStandInTheCapture) {
  EXPECT_EQ(run({"frames"}, {{"KYMO_LABELS", "team=vision,run=7"}}), 0);
  EXPECT_EQ(info_of(captures().front(), "label.team"), "vision");
  EXPECT_EQ(info_of(captures().front(), "label.run"), "7");
  EXPECT_EQ(info_of(captures().front(), "model"), "tiny");
}

TEST_F(LifecycleTest, BadValuesAreSaidAndTheDefaultIsUsed) {
  EXPECT_EQ(run({"normal"}, {{"KYMO_SCOPE_EVERY", "often"}, {"KYMO_BUFFER", "-3"}}), 0);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
  EXPECT_NE(output().find("KYMO_SCOPE_EVERY='often'"), std::string::npos);
  EXPECT_NE(output().find("KYMO_BUFFER='-3'"), std::string::npos);
}

TEST_F(LifecycleTest, AFlightRecorderWritesAtTheTriggerAndAtTheEnd) {
  EXPECT_EQ(run({"trigger"}, {{"KYMO_KEEP", "30s,4MB"}}), 0);
  EXPECT_EQ(output(), "1");
  ASSERT_EQ(captures().size(), 1U);
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed());
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 1000}}));
}

TEST_F(LifecycleTest, ATriggerReachesEverySinkWithoutAFlightRecorderToo) {
  EXPECT_EQ(run({"trigger-sink"}), 0);
}

TEST_F(LifecycleTest, FramesBreakWhereAKilledFlightRecorderLostSome) {
  EXPECT_EQ(run({"lose-frames"}, {{"KYMO_KEEP", "1ms"}}), 4);
  ASSERT_EQ(captures().size(), 1U);
  capture::recover(captures().front());
  const CaptureReader capture(captures().front());
  EventBatch batch;
  std::string marks;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::events && capture.read(block, batch)) {
      for (const FrameMark& mark : batch.frame_marks) {
        marks += mark.is_break ? '|' : '.';
      }
    }
  }
  // What came before the first marks may have been replaced too.
  marks.erase(0, marks.starts_with('|') ? 1 : 0);
  EXPECT_EQ(marks.substr(0, 4), "..|.") << marks;
  EXPECT_EQ(std::count(marks.begin(), marks.end(), '|'), 1) << marks;
}

TEST_F(LifecycleTest, AKilledFlightRecorderLeavesItsLastStretch) {
  EXPECT_EQ(run({"_exit"}, {{"KYMO_KEEP", "30s"}}), 4);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
  const capture::RecoveryReport report = capture::recover(captures().front());
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, RecoveryTakesNothingOfAnEarlierCaptureIntoOneThatHadNotBegun) {
  EXPECT_EQ(run({"_exit-next"}), 4);
  const std::vector<std::string> paths = captures();
  ASSERT_EQ(paths.size(), 2U);
  const auto next = std::find_if(paths.begin(), paths.end(),
                                 [](const std::string& path) { return !CaptureReader(path).is_closed(); });
  ASSERT_NE(next, paths.end());
  // As if the process had been killed before the first batch.
  std::uint64_t end = fs::file_size(*next);
  const CaptureReader reader(*next);
  for (const BlockInfo& block : reader.blocks()) {
    end = block.kind == BlockKind::events ? std::min(end, block.offset) : end;
  }
  ASSERT_LT(end, fs::file_size(*next));
  fs::resize_file(*next, end);
  const capture::RecoveryReport report = capture::recover(*next);
  EXPECT_TRUE(report.notes.empty()) << report.notes.front();
  EXPECT_EQ(report.recovered_scope_events, 0U);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, ATriggerWithoutAFlightRecorderIsRefused) {
  EXPECT_EQ(run({"trigger"}), 0);
  EXPECT_EQ(output(), "0");
}

TEST_F(LifecycleTest, ChromeTracesHoldTheProcessAndItsScopes) {
  const std::string trace = directory_ / "trace.json";
  const std::string of_sink = directory_ / "sink.json";
  EXPECT_EQ(run({"trace-sink"}, {{"KYMO_TRACE", trace}, {"TRACE_OF_THE_SINK", of_sink}, {"KYMO_THREADS", "off"}}), 0);
  const std::string said = output();
  EXPECT_NE(said.find("/nonexistent/trace.json"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  const CaptureReader capture(captures().front());
  const ProcessDeclaration& process = capture.declarations().processes.at(0);
  const std::string place = "\"pid\":" + std::to_string(process.pid);
  EXPECT_EQ(process.command_line, LIFECYCLE_PROGRAM " trace-sink");
  for (const std::string& path : {trace, of_sink}) {
    const std::string json = test::read_file(path);
    EXPECT_EQ(json.front(), '[');
    EXPECT_EQ(json.find(R"({"name":"process_name","ph":"M",)" + place + R"(,"args":{"name":")" + process.command_line),
              3U)
        << json.substr(0, 400);
    std::size_t scopes = 0;
    const std::string phase = "\"ph\":\"X\"";
    for (std::size_t at = json.find(phase); at != std::string::npos; at = json.find(phase, at + 1)) {
      ++scopes;
      ASSERT_LT(json.find(place, at), json.find('\n', at));
    }
    EXPECT_EQ(scopes, 1000U) << path;
  }
}

TEST_F(LifecycleTest, AnUnwritableDirectoryIsSaidOnceAndTheProgramGoesOn) {
  ChildProcess program({LIFECYCLE_PROGRAM, "normal"}, {{"KYMO_RECORD", "/proc/nowhere/run.kymo"}}, output_);
  EXPECT_EQ(program.wait(), 0);
  const std::string said = output();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

}  // namespace
}  // namespace kymo
