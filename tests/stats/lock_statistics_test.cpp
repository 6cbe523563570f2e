// Locks: waits and holds added up by lock and by holder, from events and from summaries.
#include "stats/statistics/lock_statistics.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

constexpr TrackId worker{1};
constexpr TrackId fiber{2};
constexpr TrackId queue_lane{3};
constexpr TrackId log_lane{4};
constexpr TrackId other_lane{5};

SiteDeclaration wait_site(std::uint32_t id, const char* lock, const char* holder) {
  SiteDeclaration site;
  site.id = SiteId{id};
  site.kind = SiteKind::dynamic;
  site.name = std::string("wait for ") + lock;
  site.function = holder;
  site.file = "src/queue.hpp";
  site.line = 40;
  site.role = SiteRole::wait;
  return site;
}

/// Scopes at [start, end) on a track, one after the other, and spans.
class LockRecording {
 public:
  LockRecording() {
    Declarations& declared = batch_.declarations;
    declared.processes.push_back({ProcessId{1}, 1, "host", "boot", "", "program"});
    declared.tracks = {{worker, TrackKind::thread, ProcessId{1}, 7, "worker", TrackRole::plain},
                       {fiber, TrackKind::thread, ProcessId{1}, 0, "task", TrackRole::fiber},
                       {queue_lane, TrackKind::async, ProcessId{1}, 0, "queue", TrackRole::lock},
                       {log_lane, TrackKind::async, ProcessId{1}, 0, "log", TrackRole::lock},
                       {other_lane, TrackKind::async, ProcessId{1}, 0, "others", TrackRole::plain}};
    declared.sites = {wait_site(1, "queue", "push (queue.hpp:9)"), wait_site(2, "queue", "worker"),
                      wait_site(3, "log", ""), wait_site(4, "queue", "a namesake")};
    declared.sites.back().role = SiteRole::work;  // no wait, whatever its name
    declared.names = {
        {NameId{1}, "hold queue"}, {NameId{2}, "hold log"}, {NameId{3}, "hold on"}, {NameId{4}, "worker"}};
    batch_.start_ns = 0;
    batch_.end_ns = 100'000;
    for (const TrackId track : {worker, fiber}) {
      ScopeRun run;
      run.track = track;
      batch_.runs.push_back(std::move(run));
    }
  }

  void scope(TrackId track, SiteId site, std::int64_t start_ns, std::int64_t end_ns) {
    ScopeRun& run = batch_.runs[track.index()];
    run.events.push_back({start_ns, site, 0, 0});
    run.events.push_back({end_ns, {}, 0, 0});
    run.end_sequence += 2;
  }

  void hold(TrackId lane, NameId name, std::int64_t start_ns, std::int64_t end_ns) {
    SpanEvent span;
    span.track = lane;
    span.name = name;
    span.category = NameId{4};
    span.start_ns = start_ns;
    span.duration_ns = end_ns - start_ns;
    batch_.spans.push_back(span);
  }

  void write(const std::string& path) const {
    capture::CaptureWriter writer(path, capture::CaptureWriterOptions());
    writer.write(batch_);
    writer.finish();
  }

 private:
  EventBatch batch_;
};

TEST(LockStatistics, AddUpWaitsByLockAndHolderAndHoldsByLock) {
  LockRecording recording;
  recording.scope(worker, SiteId{1}, 100, 400);
  recording.scope(worker, SiteId{2}, 1'000, 3'000);
  recording.scope(worker, SiteId{1}, 4'000, 4'100);
  recording.scope(worker, SiteId{4}, 5'000, 9'000);
  recording.scope(fiber, SiteId{2}, 1'000, 1'500);
  recording.scope(fiber, SiteId{3}, 2'000, 2'050);
  recording.hold(queue_lane, NameId{1}, 0, 400);
  recording.hold(queue_lane, NameId{1}, 500, 3'000);
  recording.hold(log_lane, NameId{2}, 10, 30);
  recording.hold(other_lane, NameId{3}, 0, 90'000);  // of no lock
  const TemporaryDirectory directory;
  recording.write(directory / "locks.kymo");
  const Timeline timeline(directory / "locks.kymo");
  EXPECT_EQ(timeline.track(fiber).role, TrackRole::fiber);
  for (const bool uses_summaries : {true, false}) {
    stats::StatisticsOptions options;
    options.use_summaries = uses_summaries;
    const auto locks = stats::lock_statistics(timeline, stats::gather_statistics(timeline, options));
    ASSERT_EQ(locks.size(), 2U);
    const stats::LockStatistics& queue = locks[0];
    EXPECT_EQ(queue.name, "queue");
    EXPECT_EQ(queue.file, "src/queue.hpp");
    EXPECT_EQ(queue.line, 40U);
    EXPECT_EQ(queue.waits, 4U);
    EXPECT_EQ(queue.waited_ns, 300U + 2'000U + 100U + 500U);
    EXPECT_EQ(queue.max_wait_ns, 2'000);
    EXPECT_EQ(queue.holds, 2U);
    EXPECT_EQ(queue.held_ns, 2'900U);
    EXPECT_EQ(queue.max_hold_ns, 2'500);
    ASSERT_EQ(queue.holders.size(), 2U);
    EXPECT_EQ(queue.holders[0].holder, "worker");
    EXPECT_EQ(queue.holders[0].waits, 2U);
    EXPECT_EQ(queue.holders[0].total_ns, 2'500U);
    EXPECT_EQ(queue.holders[0].max_ns, 2'000);
    EXPECT_EQ(queue.holders[1].holder, "push (queue.hpp:9)");
    EXPECT_EQ(queue.holders[1].total_ns, 400U);
    const stats::LockStatistics& log = locks[1];
    EXPECT_EQ(log.name, "log");
    EXPECT_EQ(log.waited_ns, 50U);
    EXPECT_EQ(log.held_ns, 20U);
    ASSERT_EQ(log.holders.size(), 1U);
    EXPECT_EQ(log.holders[0].holder, "");
  }
}

TEST(LockStatistics, AreOfTheThreadsAndFibersThatWereAskedFor) {
  LockRecording recording;
  recording.scope(worker, SiteId{1}, 100, 400);
  recording.scope(fiber, SiteId{2}, 1'000, 1'500);
  const TemporaryDirectory directory;
  recording.write(directory / "locks.kymo");
  const Timeline timeline(directory / "locks.kymo");
  SelectionOptions selection;
  selection.threads = {"task"};
  stats::StatisticsOptions options;
  options.selection = stats::Selection(timeline, selection);
  const auto locks = stats::lock_statistics(timeline, stats::gather_statistics(timeline, options));
  ASSERT_EQ(locks.size(), 1U);
  EXPECT_EQ(locks[0].waits, 1U);
  EXPECT_EQ(locks[0].waited_ns, 500U);
}

}  // namespace
}  // namespace kymo::test
