// What threads did in all: states, migrations and faults of each.
#include <kymo/thread_activity.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "capture/merge/merge.hpp"
#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

MetricDeclaration faults_of(std::uint32_t id, const char* name, const char* thread, const char* pid) {
  MetricDeclaration metric;
  metric.id = MetricId{id};
  metric.kind = MetricKind::counter;
  metric.name = name;
  metric.source = "/proc";
  metric.labels = {{"thread", thread}, {"pid", pid}, {"name", "named so"}};
  return metric;
}

/// Two threads with states, of which the first has faults and scopes, and one with faults alone.
class ThreadActivityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    capture::CaptureWriterOptions options;
    Declarations& declared = options.declarations;
    declared.processes.push_back({ProcessId{1}, 10, "host", "boot", "", "program"});
    declared.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 10, "main"});
    declared.threads = {{ThreadId{1}, ProcessId{1}, 10, 10, "main"}, {ThreadId{2}, ProcessId{1}, 10, 11, "worker"}};
    declared.threads.insert(declared.threads.end(), more_threads_.begin(), more_threads_.end());
    declared.metrics = {
        faults_of(1, "thread_minor_faults", "10", "10"), faults_of(2, "thread_major_faults", "10", "10"),
        faults_of(3, "thread_minor_faults", "12", "10"), faults_of(4, "thread_minor_faults", "x", "10")};
    capture::CaptureWriter writer(path(), std::move(options));
    EventBatch batch;
    batch.start_ns = 0;
    batch.end_ns = 1'000;
    constexpr RunState running = RunState::running;
    constexpr RunState runnable = RunState::runnable;
    constexpr RunState blocked = RunState::blocked;
    batch.states = {{ThreadId{1}, {{0, 100, 0, running}, {100, 100, 0, blocked}, {200, 100, 1, running}}},
                    {ThreadId{2}, {{0, 300, 0, runnable}, {300, 700, 1, running}}}};
    batch.samples = {{MetricId{1}, {100, 500, 900}, {7, 9, 30}, {}},
                     {MetricId{2}, {100, 500, 900}, {0, 1, std::nan("")}, {}},
                     {MetricId{3}, {500}, {4}, {}},
                     {MetricId{4}, {500}, {4}, {}}};
    writer.write(batch);
    writer.finish();
  }
  [[nodiscard]] std::string path() const { return directory_ / "run.kymo"; }

  std::vector<ThreadDeclaration> more_threads_;

 private:
  TemporaryDirectory directory_;
};

TEST_F(ThreadActivityTest, EachThreadHasItsOwnByDescendingCpuTime) {
  const std::vector<ThreadActivity> all = read_thread_activity(Timeline(path()));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "worker");
  EXPECT_EQ(all[0].times->running_ns, 700);
  EXPECT_EQ(all[0].times->runnable_ns, 300);
  EXPECT_EQ(all[0].migrations, 0U) << "the kernel chose its first CPU";
  EXPECT_EQ(all[0].minor_faults, std::nullopt);
  EXPECT_EQ(all[1].os_thread_id, 10U);
  EXPECT_EQ(all[1].times->running_ns, 200);
  EXPECT_EQ(all[1].times->blocked_ns, 100);
  EXPECT_EQ(all[1].migrations, 1U);
  EXPECT_EQ(all[1].minor_faults, 30U);
  EXPECT_EQ(all[1].major_faults, 1U);
  EXPECT_EQ(all[2].name, "named so");
  EXPECT_EQ(all[2].os_thread_id, 12U);
  EXPECT_FALSE(all[2].times);
  EXPECT_EQ(all[2].minor_faults, 4U);
  EXPECT_EQ(all[2].major_faults, std::nullopt);
}

TEST_F(ThreadActivityTest, OfAnIntervalItIsWhatCameInIt) {
  SelectionOptions part;
  part.time = {250, 600};
  std::vector<ThreadActivity> all = read_thread_activity(Timeline(path()), part);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].times->running_ns, 300);
  EXPECT_EQ(all[1].times->running_ns, 50);
  EXPECT_EQ(all[1].migrations, 0U) << "it moved before";
  EXPECT_EQ(all[1].minor_faults, 2U);
  EXPECT_EQ(all[1].major_faults, 1U);
  part.time = {0, 50};
  all = read_thread_activity(Timeline(path()), part);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].minor_faults, std::nullopt) << "the first reading came later";
}

TEST_F(ThreadActivityTest, ThreadsAreChosenByTheKernelsNameAndByTheirTracks) {
  SelectionOptions part;
  part.threads = {"work*"};
  const std::vector<ThreadActivity> all = read_thread_activity(Timeline(path()), part);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].os_thread_id, 11U);
}

TEST_F(ThreadActivityTest, ARedactedCaptureHasTheFiguresWithoutTheKernelsNames) {
  capture::MergeOptions options;
  options.redacts = true;
  const std::vector<std::filesystem::path> inputs{path()};
  const std::string redacted = path() + ".redacted";
  capture::merge(inputs, redacted, options);
  const std::vector<ThreadActivity> all = read_thread_activity(Timeline(redacted));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].minor_faults, 30U);
  for (const ThreadActivity& thread : all) {
    EXPECT_EQ(thread.name, thread.os_thread_id == 10 ? "main" : "") << "a track's name is the program's own";
  }
}

class ReusedThreadIdTest : public ThreadActivityTest {
 protected:
  void SetUp() override {
    more_threads_ = {{ThreadId{3}, ProcessId{1}, 10, 10, "later"}};
    ThreadActivityTest::SetUp();
  }
};

TEST_F(ReusedThreadIdTest, WhoseFaultsTheyAreIsNotGuessed) {
  for (const ThreadActivity& thread : read_thread_activity(Timeline(path()))) {
    EXPECT_TRUE(thread.os_thread_id != 10 || !thread.minor_faults) << thread.name;
  }
}

}  // namespace
}  // namespace kymo::test
