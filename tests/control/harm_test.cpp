// Recording never harms the program: it neither hangs, ends nor spoils it, whatever the program does to itself.
#include <sys/stat.h>

#include "capture/recover/spool_file.hpp"
#include "lifecycle_fixture.hpp"

namespace kymo {
namespace {

/// _Fork() came with glibc 2.34.
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
constexpr bool has_plain_fork = true;
#else
constexpr bool has_plain_fork = false;
#endif

class HarmTest : public LifecycleTest {
 protected:
  void SetUp() override { program_ = HARM_PROGRAM; }
};

/// Those that fork, where the children of programs with threads can record.
class ForkHarmTest : public HarmTest {
 protected:
  void SetUp() override {
    if (test::is_emulated) {
      GTEST_SKIP() << test::no_threads_after_fork;
    }
    if (test::has_address_sanitizer) {
      GTEST_SKIP() << test::no_fork_beside_allocations;
    }
    HarmTest::SetUp();
  }
};

/// Those beside a disk that stalls: the kernel holds the program's writes to its captures.
class DiskHarmTest : public ForkHarmTest {
 protected:
  void SetUp() override {
    ForkHarmTest::SetUp();
    if (test::has_sanitizer && !IsSkipped()) {
      GTEST_SKIP() << "calls of a sanitizer's own would wait for the thread that answers them";
    }
    if (!IsSkipped() && run({"disk-answers"}) == 77) {
      GTEST_SKIP() << "this kernel hands no system calls to user space";
    }
  }

  int run_beside_disk(const std::string& mode) { return run({mode}, {{"KYMO_SAMPLE", "0"}}); }
};

TEST_F(ForkHarmTest, AChildMayTellAFactFirst) {
  EXPECT_EQ(run({"child-info"}, {without_leak_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"parent", 1000}, {"child", 1000}}));
}

TEST_F(ForkHarmTest, AChildMayStartACaptureWhereItsParentHasASink) {
  EXPECT_EQ(run({"child-capture"}, {without_leak_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"child", 1000}}));
}

TEST_F(ForkHarmTest, ADaemonThatGoesElsewhereWritesBesideItsParentsCapture) {
  EXPECT_EQ(run({"daemon"}, {without_leak_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"parent", 1000}, {"child", 1000}}));
}

TEST_F(ForkHarmTest, AForkBesideStartAndStopHangsNobody) {
  EXPECT_EQ(run({"fork-beside-start"}, {without_leak_detection(), {"KYMO_SAMPLE", "0"}}), 0) << output();
}

TEST_F(ForkHarmTest, ForksAndCallsGoOnWhileASinkStalls) {
  EXPECT_EQ(run({"stalled-sink"}, {without_leak_detection(), {"KYMO_SAMPLE", "0"}}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"stalled", 10}, {"child", 1000}}));
}

TEST_F(ForkHarmTest, AChildWithoutForkHandlersRecordsNothingAndSpoilsNothingOfItsParents) {
  EXPECT_EQ(run({"without-handlers"}, {without_leak_detection(), without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (has_plain_fork ? Counts{{"parent", 70}, {"known", 25'100}, {"beside", 25'000}, {"inner", 25'000}}
                                      : Counts{{"parent", 20}, {"known", 100}}));
  ASSERT_EQ(captures().size(), 1U);
  EXPECT_TRUE(CaptureReader(captures().front()).check());
}

TEST_F(ForkHarmTest, AChildWhoseFirstEventStandsInAHandlerStartsOutsideOfIt) {
  EXPECT_EQ(run({"handler-in-child"}, {without_leak_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"parent", 1000}, {"child", 1000}}));
}

TEST_F(ForkHarmTest, AHandlerMayForkWhereverItInterruptsTheRecorder) {
  if (test::has_sanitizer) {
    GTEST_SKIP() << "sanitizers hold signals back";
  }
  EXPECT_EQ(run({"fork-in-handlers"}, {{"KYMO_SAMPLE", "0"}}), 0) << output();
  ASSERT_EQ(captures().size(), 101U);
  for (const std::string& path : captures()) {
    Counts counts;
    count_capture(path, counts);
    const bool is_parent = counts.count("parent") != 0;
    EXPECT_EQ(counts[is_parent ? "parent" : "child"], 100U) << path;
    // Each name is opened once: no site has taken another one's id.
    for (const auto& [name, count] : counts) {
      EXPECT_TRUE(name == "parent" || name == "child" || (count == 1 && !name.empty())) << path << ": " << name;
    }
  }
}

TEST_F(ForkHarmTest, AChildThatMayStartNoThreadGoesOnAndLeavesNothingBehind) {
  const int status = run({"no-threads-in-child"}, {without_leak_detection()});
  if (status == 77) {
    GTEST_SKIP() << "this kernel filters no system calls";
  }
  EXPECT_EQ(status, 0) << output();
  EXPECT_EQ(counts(), (Counts{{"parent", 1000}}));
}

TEST_F(ForkHarmTest, AChildsAllocatorMayRecordScopes) {
  EXPECT_EQ(run({"allocator"}, {without_leak_detection()}), 0) << output();
  const Counts counts = this->counts();
  EXPECT_EQ(counts.at("parent"), 1000U);
  EXPECT_EQ(counts.at("child"), 1000U);
}

TEST_F(ForkHarmTest, AForkUnderWayHoldsNoEndUp) {
  EXPECT_EQ(run({"fork-beside-end"}, {without_leak_detection(), without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"parent", 1000}}));
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed()) << output();
}

TEST_F(ForkHarmTest, ASignalThatEndsAChildWithoutForkHandlersEndsNoRecording) {
  EXPECT_EQ(run({"end-without-handlers"}, {without_leak_detection(), without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 1000}}));
}

TEST_F(ForkHarmTest, ASignalThatTheKernelKeepsFromTheFirstProcessOfAContainerEndsNoRecording) {
  const int status = run({"first-process"}, {without_leak_detection()});
  if (status == 77) {
    GTEST_SKIP() << "this user may make no namespaces";
  }
  EXPECT_EQ(status, 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 1000}}));
}

TEST_F(HarmTest, AHandlerThatInterruptsAFlushMayJumpOutOfIt) {
  if (test::is_emulated) {
    GTEST_SKIP() << "under qemu-user 7.2 the thread that the signal goes to does not come on";
  }
  EXPECT_EQ(
      run({"jump-out-of-flush"}, {without_leak_detection(), with_option("TSAN_OPTIONS", "report_signal_unsafe=0")}), 0)
      << output();
}

TEST_F(HarmTest, AHandlerThatInterruptsACallMayEndTheProgram) {
  if (test::is_emulated) {
    GTEST_SKIP() << "under qemu-user 7.2 the thread that the signal goes to does not come on";
  }
  for (const char* const mode : {"exit-in-flush", "exit-in-stop"}) {
    SCOPED_TRACE(mode);
    EXPECT_EQ(
        run({mode},
            {without_leak_detection(), {"KYMO_SAMPLE", "0"}, with_option("TSAN_OPTIONS", "report_signal_unsafe=0")}),
        0)
        << output();
    EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"meanwhile", 1000}}));
    fs::remove_all(captures_);
    fs::create_directory(captures_);
  }
}

TEST_F(HarmTest, AProgramWhoseMainThreadEndedEndsWithItsLastThread) {
  if (test::is_emulated || test::has_sanitizer) {
    GTEST_SKIP() << "threads of an emulator and of sanitizers have no names of kymo's";
  }
  EXPECT_EQ(run({"main-thread-ends"}, {without_leak_detection(), without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"afterwards", 1000}}));
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed());
}

TEST_F(HarmTest, WhatACaptureCouldNotTakeStaysInMemoryForItsRecovery) {
  if (test::is_emulated) {
    GTEST_SKIP() << "the emulator's own descriptors are closed as well";
  }
  EXPECT_EQ(run({"lost-capture"}, {{"KYMO_SAMPLE", "0"}, without_race_detection()}), 0) << output();
  ASSERT_EQ(captures().size(), 1U);
  const std::string moved = captures().front();
  // Another recording looks for what the dead have left.
  EXPECT_EQ(run({"interrupt"}), -SIGINT);
  capture::recover(moved);
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 1000}, {"main", 1000}}));
}

TEST_F(DiskHarmTest, CallsAndForksGoOnWhileADiskStalls) {
  for (const char* const mode : {"stalled-flush", "stalled-stop", "stalled-start"}) {
    SCOPED_TRACE(mode);
    EXPECT_EQ(run_beside_disk(mode), 0) << output();
    const Counts counts = this->counts();
    EXPECT_EQ(counts.at("before"), 1000U);
    if (mode != std::string("stalled-start")) {
      EXPECT_EQ(counts.at("stalled"), 10U);
      EXPECT_EQ(counts.at("meanwhile"), 100'000U);
      EXPECT_EQ(counts.at("in a thread of its own"), 1000U);
    }
    fs::remove_all(captures_);
    fs::create_directory(captures_);
  }
}

TEST_F(DiskHarmTest, ADiskThatHangsKeepsNoProgramFromItsEnd) {
  EXPECT_EQ(run_beside_disk("hanging-disk"), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}}));
}

TEST_F(DiskHarmTest, ADiskThatHangsKeepsNoSignalFromEndingTheProgram) {
  EXPECT_EQ(run_beside_disk("hanging-disk-term"), -SIGTERM) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}}));
}

TEST_F(DiskHarmTest, ACrashBesideADiskThatHangsEndsTheProgram) {
  EXPECT_EQ(run_beside_disk("hanging-disk-crash"), -SIGSEGV) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}}));
}

TEST_F(HarmTest, ASinkThatHangsKeepsNoProgramFromItsEnd) {
  EXPECT_EQ(run({"hanging-sink"}, {without_leak_detection(), without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(HarmTest, ASinkThatHangsKeepsNoSignalFromEndingTheProgram) {
  EXPECT_EQ(run({"hanging-sink-term"}, {without_leak_detection(), without_race_detection()}), -SIGTERM) << output();
}

TEST_F(HarmTest, ASignalWhileTheProgramEndsWaitsForItsCapture) {
  EXPECT_EQ(run({"term-at-exit"}, {without_leak_detection(), without_race_detection(), {"KYMO_SAMPLE", "0"}}), -SIGTERM)
      << output();
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
  ASSERT_EQ(captures().size(), 1U);
  EXPECT_TRUE(CaptureReader(captures().front()).is_closed());
}

TEST_F(HarmTest, ASinkMayCallKymoAndIsRefusedWhatWaitsForIt) {
  EXPECT_EQ(run({"calling-sink"}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(HarmTest, ACancelledThreadFinishesItsCallFirst) {
  EXPECT_EQ(run({"cancel"}, {{"KYMO_SAMPLE", "0"}}), 0) << output();
}

TEST_F(HarmTest, ACancelledThreadHasItsCaptureStartedFirst) {
  EXPECT_EQ(run({"cancel-start"}, {{"KYMO_SAMPLE", "0"}}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"main", 2000}}));
}

TEST_F(HarmTest, ACrashBesideASinkThatHangsEndsTheProgram) {
  EXPECT_EQ(run({"hanging-sink-crash"},
                {without_leak_detection(), without_race_detection(), with_option("ASAN_OPTIONS", "handle_segv=0"),
                 with_option("TSAN_OPTIONS", "handle_segv=0")}),
            -SIGSEGV)
      << output();
}

TEST_F(HarmTest, NoPortIsOpened) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "programs under sanitizers and emulators do not sample";
  }
  EXPECT_EQ(run({"ports"}, {{"KYMO_SAMPLE", "1000"}}), 0) << output();
}

TEST_F(HarmTest, TheFileIsFlushedToTheDiskWhereThatIsAskedFor) {
  EXPECT_EQ(run({"syncs"}), 0) << output();
  EXPECT_EQ(run({"syncs"}, {{"KYMO_SYNC", "1ms"}}), 0) << output();
}

TEST_F(HarmTest, ALimitOnTheSizeOfFilesEndsTheCaptureAndNotTheProgram) {
  EXPECT_EQ(run({"small-files"}, {{"KYMO_SAMPLE", "0"}}), 0) << output();
}

TEST_F(HarmTest, MessagesThatNobodyTakesNeitherEndNorHoldTheProgram) {
  for (const char* const mode : {"told-nobody", "told-a-full-pipe", "told-a-full-file"}) {
    EXPECT_EQ(run({mode}, {{"KYMO_SITES", ",,"}, {"KYMO_SAMPLE", "0"}}), 0) << mode;
  }
}

TEST_F(HarmTest, WhereMemoryRunsOutRecordingEndsAndNotTheProgram) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "these need address space of their own";
  }
  EXPECT_EQ(run({"little-memory"}, {{"KYMO_SAMPLE", "0"}}), 0) << output();
}

TEST_F(HarmTest, ADaemonThatClosesAllDescriptorsKeepsItsFilesAndItsCapture) {
  if (test::is_emulated) {
    GTEST_SKIP() << "the emulator's own descriptors are closed as well";
  }
  const test::TemporaryDirectory elsewhere;
  const std::string trace = (elsewhere.path() / "trace.json").string();
  EXPECT_EQ(run({"close-all"}, {{"KYMO_SAMPLE", "0"}, {"KYMO_TRACE", trace}, without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 100'000}}));
  std::ifstream file(trace);
  std::uint64_t traced = 0;
  for (std::string line; std::getline(file, line);) {
    traced += line.find(R"("name":"after")") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(traced, 100'000U);
}

TEST_F(HarmTest, ADaemonThatClosesAllDescriptorsKeepsItsFlightRecorder) {
  if (test::is_emulated) {
    GTEST_SKIP() << "the emulator's own descriptors are closed as well";
  }
  EXPECT_EQ(run({"close-all"}, {{"KYMO_SAMPLE", "0"}, {"KYMO_KEEP", "64MB"}, without_race_detection()}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 100'000}}));
}

TEST_F(HarmTest, ASamplerLeavesTheFilesOfADaemonAlone) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "programs under sanitizers and emulators do not sample";
  }
  EXPECT_EQ(run({"close-all-sampled"}, {{"KYMO_SAMPLE", "1000"}}), 0) << output();
}

TEST_F(HarmTest, ASourceThatHangsKeepsNoProgramFromItsEnd) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "programs under sanitizers and emulators do not sample";
  }
  const test::TemporaryDirectory elsewhere;
  fs::create_symlink(STALLED_NVML, elsewhere.path() / "libnvidia-ml.so.1");
  EXPECT_EQ(run({"stalled-source"}, {{"KYMO_SAMPLE", "100,10,1"},
                                     {"KYMO_MACHINE", "own"},
                                     {"LD_LIBRARY_PATH", elsewhere.path().string()},
                                     {"STALLED_NVML_MARK", elsewhere / "mark"}}),
            0)
      << output();
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
  EXPECT_NE(output().find("does not answer"), std::string::npos) << output();
}

TEST_F(HarmTest, WithoutStderrAtTheStartMessagesGoNowhere) {
  if (test::is_emulated) {
    GTEST_SKIP() << "an emulator's own files take the number";
  }
  EXPECT_EQ(run({"no-stderr"}, {without_race_detection()}), 0);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(HarmTest, WithoutStandardStreamsNothingOfTheProgramsGoesIntoTheCapture) {
  EXPECT_EQ(run({"no-streams"}, {without_race_detection()}), 0);
  ASSERT_EQ(captures().size(), 1U);
  CaptureReader capture(captures().front());
  EXPECT_TRUE(capture.check());
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(HarmTest, AFaultEndsTheProgramThoughItsSignalWasIgnored) {
  EXPECT_EQ(run({"ignored-fault"},
                {with_option("ASAN_OPTIONS", "handle_segv=0"), with_option("TSAN_OPTIONS", "handle_segv=0")}),
            -SIGSEGV);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(HarmTest, AProgramThatMendsItsOwnFaultsIsLeftAlone) {
  EXPECT_EQ(
      run({"own-faults"}, {with_option("ASAN_OPTIONS", "handle_segv=0"), with_option("TSAN_OPTIONS", "handle_segv=0")}),
      0)
      << output();
}

TEST_F(HarmTest, AHandlerThatGoesOnWithKymosDecidesHowTheProgramGoesOn) {
  const std::vector own_faults{with_option("ASAN_OPTIONS", "handle_segv=0"),
                               with_option("TSAN_OPTIONS", "handle_segv=0")};
  EXPECT_EQ(run({"survived-requests"}), 0) << output();
  EXPECT_EQ(run({"mended-after-others"}, own_faults), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 2000}, {"after", 2000}}));
  for (const std::string& path : captures()) {
    EXPECT_TRUE(CaptureReader(path).is_closed());
  }
  EXPECT_EQ(run({"endless-fault"}, own_faults), -SIGSEGV) << "which would not end of itself";
}

TEST_F(HarmTest, WhatTheProgramInitialisesAtItsStartFindsTheDefaultActionOfSignals) {
  EXPECT_EQ(run({"default-handlers"}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"before", 1000}, {"after", 1000}}));
}

TEST_F(HarmTest, SignalsThatEndTheProgramCloseTheCapture) {
  EXPECT_EQ(run({"term"}), -SIGTERM);
  EXPECT_EQ(run({"interrupt"}), -SIGINT);
  EXPECT_EQ(run({"hang-up"}), -SIGHUP);
  ASSERT_EQ(captures().size(), 3U);
  for (const std::string& path : captures()) {
    const CaptureReader capture(path);
    EXPECT_TRUE(capture.is_closed());
    EXPECT_EQ(capture::find_spool_file(capture.header().spool_id).state, capture::SpoolFile::State::absent);
  }
  EXPECT_EQ(counts(), (Counts{{"main", 3000}}));
}

TEST_F(HarmTest, ADebuggerIsToldOfASignalWhatItsSenderSaid) {
  if (test::is_emulated) {
    GTEST_SKIP() << "an emulator does not trace";
  }
  EXPECT_EQ(run({"known-of-a-signal"}, {with_option("ASAN_OPTIONS", "handle_segv=0:handle_abort=0:detect_leaks=0"),
                                        with_option("TSAN_OPTIONS", "handle_segv=0:handle_abort=0")}),
            0)
      << output();
}

TEST_F(HarmTest, ACaptureThatGoesToDevNullMakesNoFile) {
  test::ChildProcess program({LIFECYCLE_PROGRAM, "normal"}, {{"KYMO_RECORD", "/dev/null"}}, output_);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(output(), "");
  EXPECT_FALSE(std::filesystem::exists("/dev/null-1"));
}

TEST_F(HarmTest, WhatTakesNoFileIsRefusedAndGetsNoNeighbour) {
  const std::string pipe = directory_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& place : {pipe, std::string("/dev/stdout"), std::string("/dev/fd/1")}) {
    test::ChildProcess program({LIFECYCLE_PROGRAM, "normal"}, {{"KYMO_RECORD", place}}, output_);
    EXPECT_EQ(program.wait(), 0);
    EXPECT_NE(output().find("cannot create a capture: " + place + ": Operation not supported"), std::string::npos)
        << output();
    EXPECT_FALSE(std::filesystem::exists(place + "-1"));
  }
}

TEST_F(HarmTest, KymosThreadsDoNotInheritARealTimePriority) {
  const int status = run({"real-time"}, {{"KYMO_SAMPLE", test::has_sanitizer || test::is_emulated ? "0" : "1000"}});
  if (status == 77) {
    GTEST_SKIP() << "a real-time priority is not permitted here";
  }
  EXPECT_EQ(status, 0) << output();
}

TEST_F(HarmTest, KymosThreadsDoNotInheritFloatingPointTraps) {
  const int status = run({"trapping"}, {{"KYMO_SAMPLE", "1000"}});
  if (status == 77) {
    GTEST_SKIP() << "this processor has no such traps";
  }
  EXPECT_EQ(status, 0) << output();
  EXPECT_EQ(counts(), (Counts{{"trapping", 2000}}));
}

TEST_F(HarmTest, KymosThreadsHaveRoomOnTheirStacksHoweverSmallThoseOfTheProgramAre) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "what sanitizers and emulators add to frames is not the recorder's";
  }
  EXPECT_EQ(run({"small-stacks"}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"on a small stack", 1000}}));
}

TEST_F(HarmTest, ATraceThatItsReaderLeavesLeavesNothingInMemory) {
  const std::string pipe = directory_ / "trace.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(run({"left-trace"}, {{"KYMO_TRACE", pipe}}), 0) << output();
  EXPECT_EQ(output().find("kymo recover"), std::string::npos) << output();
  const std::string process = output().substr(0, output().find('\n'));
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    EXPECT_NE(entry.path().filename().string().find("kymo-" + process + "-"), 0U) << entry.path();
  }
}

TEST_F(HarmTest, OptionsOfAnOlderProgramAreTakenAsFarAsTheyGo) {
  EXPECT_EQ(run({"old-options"}), 0) << output();
  EXPECT_EQ(run({"old-options-of-cpp"}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"main", 2000}}));
}

}  // namespace
}  // namespace kymo
