// Nothing that was closed is lost, however the program ends or goes on: exit, _exit, abort, crash, fork, exec, dlclose.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <kymo/capture.hpp>

#include "capture/recovery.hpp"
#include "capture/scope_matcher.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace kymo {
namespace {

namespace fs = std::filesystem;
using test::ChildProcess;

/// How often each name was recorded in a set of captures, scopes still open left out.
using Counts = std::map<std::string, std::uint64_t>;

void count_batch(const CaptureReader& capture, const EventBatch& batch, std::map<TrackId, capture::ScopeStack>& stacks,
                 std::map<SiteId, std::string>& names, Counts& counts) {
  for (const SiteDeclaration& site : batch.declarations.sites) {
    names[site.id] = site.name;
  }
  for (const SiteDeclaration& site : capture.declarations().sites) {
    names[site.id] = site.name;
  }
  for (const ScopeRun& run : batch.runs) {
    capture::match(run, stacks[run.track], [&](const capture::ScopeSpan& span) { ++counts[names[span.site]]; });
  }
}

/// Counts what a capture and, where its process is dead, its spool hold.
void count_capture(const std::string& path, Counts& counts) {
  const CaptureReader capture(path);
  std::map<TrackId, capture::ScopeStack> stacks;
  std::map<SiteId, std::string> names;
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind == BlockKind::events && capture.read(block, batch)) {
      count_batch(capture, batch, stacks, names, counts);
    }
  }
  const std::vector<std::string> notes = capture::read_unwritten(
      capture, [&](const EventBatch& unwritten) { count_batch(capture, unwritten, stacks, names, counts); });
  EXPECT_TRUE(notes.empty());
}

class LifecycleTest : public ::testing::Test {
 protected:
  /// Runs the program in a mode; its captures go to the directory.
  int run(const std::vector<std::string>& arguments, std::vector<std::pair<std::string, std::string>> environment = {}) {
    std::vector<std::string> command{LIFECYCLE_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    environment.emplace_back("KYMO_RECORD", captures_ + "/");
    ChildProcess program(command, environment, output_);
    return program.wait();
  }

  [[nodiscard]] std::vector<std::string> captures() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(captures_)) {
      paths.push_back(entry.path().string());
    }
    return paths;
  }

  [[nodiscard]] Counts counts() const {
    Counts all;
    for (const std::string& path : captures()) {
      count_capture(path, all);
    }
    return all;
  }

  [[nodiscard]] std::string output() const {
    std::ifstream file(output_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  void TearDown() override {
    // The spools of programs that were killed or left by _exit.
    for (const std::string& path : captures()) {
      static_cast<void>(capture::recover(path));
    }
  }

  test::TemporaryDirectory directory_;
  std::string captures_ = (fs::create_directory(directory_ / "captures"), directory_ / "captures");
  std::string output_ = directory_ / "output";
};

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

TEST_F(LifecycleTest, AbortIsWrittenAndStillAborts) {
  EXPECT_EQ(run({"abort"}), -SIGABRT);
  EXPECT_EQ(counts(), (Counts{{"main", 1000}}));
}

TEST_F(LifecycleTest, ACrashIsWrittenByTheTimeItEndsTheProcess) {
  EXPECT_EQ(run({"crash"}), -SIGSEGV);
  ASSERT_EQ(captures().size(), 1U);
  // In the file itself, not only in shared memory.
  const CaptureReader capture(captures().front());
  std::uint64_t events = 0;
  for (const BlockInfo& block : capture.blocks()) {
    events += block.scope_events;
  }
  EXPECT_EQ(events, 2000U);
}

TEST_F(LifecycleTest, TheProgramsOwnCrashHandlerDecides) { EXPECT_EQ(run({"crash-handled"}), 42); }

TEST_F(LifecycleTest, EachForkedProcessWritesACaptureOfItsOwn) {
  EXPECT_EQ(run({"fork"}), 0);
  EXPECT_EQ(captures().size(), 3U);
  EXPECT_EQ(counts(), (Counts{{"parent", 2000}, {"child", 1000}, {"grandchild", 1000}, {"open over fork", 1}}));
}

TEST_F(LifecycleTest, ForkWhileOtherThreadsRecordHarmsNeither) {
  EXPECT_EQ(run({"fork-threads"}), 0);
  EXPECT_EQ(captures().size(), 21U);
  EXPECT_EQ(counts()["child"], 20'000U);
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

TEST_F(LifecycleTest, AnExistingCaptureIsNeverOverwritten) {
  const std::string path = captures_ + "/same.kymo";
  EXPECT_EQ(run({"normal"}, {{"KYMO_RECORD_IGNORED", ""}}), 0);
  for (int i = 0; i < 2; ++i) {
    ChildProcess program({LIFECYCLE_PROGRAM, "normal"}, {{"KYMO_RECORD", path}}, output_);
    EXPECT_EQ(program.wait(), 0);
  }
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(captures().size(), 3U);
}

TEST_F(LifecycleTest, AFullDiskIsSaidOnceAndTheProgramGoesOn) {
  EXPECT_EQ(run({"full-disk"}), 0);
  const std::string said = output();
  EXPECT_NE(said.find("result 42"), std::string::npos);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  const CaptureReader capture(captures().front());
  EXPECT_TRUE(capture.damages().empty());
  EXPECT_GT(counts()["main"], 0U);
}

TEST_F(LifecycleTest, AnUnwritableDirectoryIsSaidOnceAndTheProgramGoesOn) {
  ChildProcess program({LIFECYCLE_PROGRAM, "normal"}, {{"KYMO_RECORD", "/proc/nowhere/run.kymo"}}, output_);
  EXPECT_EQ(program.wait(), 0);
  const std::string said = output();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

}  // namespace
}  // namespace kymo
