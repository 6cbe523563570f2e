// Locks that are recorded: who held them, who waited for whom, and nothing of it where nothing was asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <kymo/kymo.hpp>
#include <kymo/lockable.hpp>

#include "record/recording_fixture.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace kymo::record {
namespace {

using test::SeenScope;

/// The clock's contract: so far from each other two times may be that were mapped apart. An emulator's counter steps by
/// a microsecond.
constexpr std::int64_t clocks_ns = test::is_emulated ? 5'000 : 1'000;

/// How far apart two batches may put one moment: more where they say so, as on a machine that is busy otherwise.
std::int64_t clock_bound_ns(const std::vector<EventBatch>& batches) {
  std::int64_t bound_ns = clocks_ns;
  for (const EventBatch& batch : batches) {
    for (const ClockUncertainty& uncertain : batch.clock_uncertainties) {
      bound_ns = std::max(bound_ns, 2 * uncertain.bound_ns);
    }
  }
  return bound_ns;
}

/// A hold as a test sees it.
struct SeenHold {
  std::string lock;
  std::string holder;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

class LockableTest : public RecordingTest {
 protected:
  static std::vector<SeenHold> holds(const std::vector<EventBatch>& batches) {
    std::vector<SeenHold> found;
    for (const EventBatch& batch : batches) {
      for (const SpanEvent& span : batch.spans) {
        EXPECT_LE(batch.start_ns, span.start_ns);
        EXPECT_GE(batch.end_ns, span.start_ns + span.duration_ns);
        const std::string lock = test::track_name(batches, span.track);
        EXPECT_EQ(test::text_name(batches, span.name), "hold " + lock);
        found.push_back(
            {lock, test::text_name(batches, span.category), span.start_ns, span.start_ns + span.duration_ns});
      }
    }
    return found;
  }

  static SiteDeclaration wait_site(const std::vector<EventBatch>& batches) {
    SiteDeclaration found;
    for (const EventBatch& batch : batches) {
      for (const SiteDeclaration& site : batch.declarations.sites) {
        found = site.role == SiteRole::wait ? site : found;
      }
    }
    return found;
  }

  /// Somebody has begun to wait for the lock, and not ended.
  bool is_waited_for(const std::string& lock) {
    return test::wait_until([&] {
      const std::vector<EventBatch> batches = recorded();
      std::size_t opened = 0;
      for (const EventBatch& batch : batches) {
        for (const ScopeRun& run : batch.runs) {
          for (const ScopeEvent& event : run.events) {
            opened += event.is_open() && test::site_name(batches, event.site) == "wait for " + lock ? 1U : 0U;
          }
        }
      }
      return opened != 0;
    });
  }

  static std::vector<SeenScope> waits(const std::vector<EventBatch>& batches) {
    std::vector<SeenScope> found = test::closed_scopes(batches);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [](const SeenScope& scope) { return scope.name.rfind("wait for ", 0) != 0; }),
                found.end());
    return found;
  }
};

TEST_F(LockableTest, TheLibrarysGuardsTakeItAndEveryHoldIsRecorded) {
  Lockable<std::mutex> first("first");
  Lockable<std::shared_mutex> second("second");
  Lockable<std::timed_mutex> third("third");
  Lockable<std::recursive_mutex> fourth("fourth");
  set_thread_name("the tester");
  { const std::lock_guard lock(first); }
  {
    std::unique_lock lock(second, std::defer_lock);
    EXPECT_TRUE(lock.try_lock());
  }
  { const std::scoped_lock lock(first, third); }
  { const std::shared_lock lock(second); }
  {
    const std::unique_lock lock(third, std::chrono::milliseconds(1));
    EXPECT_TRUE(lock.owns_lock());
  }
  {
    const std::lock_guard outer(fourth);
    const std::lock_guard inner(fourth);
  }
  const std::vector<EventBatch> batches = recorded();
  std::vector<std::string> locks;
  for (const SeenHold& hold : holds(batches)) {
    locks.push_back(hold.lock);
    EXPECT_EQ(hold.holder, "the tester");
    EXPECT_GE(hold.end_ns, hold.start_ns);
  }
  std::sort(locks.begin(), locks.end());
  EXPECT_EQ(locks, (std::vector<std::string>{"first", "first", "fourth", "second", "second", "third", "third"}));
  EXPECT_TRUE(waits(batches).empty());
  for (const EventBatch& batch : batches) {
    for (const TrackDeclaration& track : batch.declarations.tracks) {
      EXPECT_TRUE(track.role != TrackRole::lock || track.kind == TrackKind::async);
    }
  }
}

TEST_F(LockableTest, AWaitIsAScopeThatNamesThePlaceThatHeldTheLock) {
  Lockable<std::mutex> mutex("queue");
  const unsigned lock_line = __LINE__ - 1;
  mutex.lock();
  const std::string place = "TestBody (lockable_test.cpp:" + std::to_string(__LINE__ - 1) + ")";
  std::thread waiting([&] {
    KYMO_SCOPE("worker");
    const std::lock_guard lock(mutex);
  });
  EXPECT_TRUE(is_waited_for("queue"));
  mutex.unlock();
  waiting.join();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> seen = waits(batches);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].depth, 1U);
  const SiteDeclaration site = wait_site(batches);
  EXPECT_EQ(site.name, "wait for queue");
  EXPECT_EQ(site.function, place);
  EXPECT_EQ(site.line, lock_line);
  EXPECT_NE(site.file.find("lockable_test.cpp"), std::string::npos);
  const std::vector<SeenHold> held = holds(batches);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held[0].holder, place);
  // The wait ends once the hold before has.
  EXPECT_GE(seen[0].end_ns + clocks_ns, std::min(held[0].end_ns, held[1].end_ns));
  EXPECT_GE(seen[0].start_ns + clocks_ns, std::min(held[0].start_ns, held[1].start_ns));
}

TEST_F(LockableTest, AGuardsHolderIsItsThreadUntilItMarksItsPlace) {
  Lockable<std::mutex> mutex("marked");
  for (const bool marks : {false, true}) {
    std::thread waiting;
    {
      set_thread_name("the holder");
      const std::lock_guard lock(mutex);
      if (marks) {
        mutex.mark();
      }
      const unsigned before = static_cast<unsigned>(waits(recorded()).size());
      waiting = std::thread([&] { const std::lock_guard inner(mutex); });
      EXPECT_TRUE(test::wait_until([&] {
        const SiteDeclaration site = wait_site(recorded());
        return site.function.rfind(marks ? "TestBody (lockable_test.cpp:" : "the holder", 0) == 0;
      }));
      EXPECT_EQ(waits(recorded()).size(), before);
    }
    waiting.join();
  }
}

TEST_F(LockableTest, FibersWaitAndHoldUnderTheirNames) {
  Lockable<std::mutex> mutex("shared by fibers");
  const Fiber holder("fiber one");
  const Fiber waiter("fiber two");
  fiber_enter(holder);
  {
    std::thread waiting;
    {
      const std::lock_guard lock(mutex);
      waiting = std::thread([&] {
        const FiberGuard guard(waiter);
        const std::lock_guard inner(mutex);
      });
      EXPECT_TRUE(is_waited_for("shared by fibers"));
    }
    waiting.join();
  }
  fiber_leave();
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(wait_site(batches).function, "fiber one");
  const std::vector<SeenScope> seen = waits(batches);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(test::track_name(batches, seen[0].track), "fiber two");
}

TEST_F(LockableTest, AHoldThatOutlivesItsScopeDisturbsNone) {
  Lockable<std::mutex> mutex("crossing");
  std::unique_lock lock(mutex, std::defer_lock);
  {
    KYMO_SCOPE("outer");
    lock.lock();
    {
      KYMO_SCOPE("inner");
      lock.unlock();
      { KYMO_SCOPE("innermost"); }
      lock.lock();
    }
  }
  lock.unlock();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = test::closed_scopes(batches);
  ASSERT_EQ(scopes.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(scopes[i].is_forced);
    EXPECT_EQ(scopes[i].depth, 2U - i);
  }
  const std::vector<SeenHold> held = holds(batches);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_LE(held[0].start_ns, scopes[1].start_ns);
  EXPECT_LE(held[0].end_ns, scopes[0].start_ns);
  EXPECT_GE(held[1].end_ns, scopes[2].end_ns);
}

TEST_F(LockableTest, WhoSharesALockHoldsItFromTheFirstToTheLast) {
  Lockable<std::shared_mutex> mutex("table");
  set_thread_name("reader");
  mutex.lock_shared();
  std::thread([&] {
    const std::shared_lock lock(mutex);
    KYMO_SCOPE("second reader");
  }).join();
  set_thread_name("reader");
  std::thread writer([&] { const std::lock_guard lock(mutex); });
  EXPECT_TRUE(is_waited_for("table"));
  mutex.unlock_shared();
  writer.join();
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(holds(batches).size(), 2U);
  EXPECT_EQ(waits(batches).size(), 1U);
}

TEST_F(LockableTest, ATryThatTimesOutHasWaitedAndHoldsNothing) {
  Lockable<std::timed_mutex> mutex("slow");
  const std::lock_guard lock(mutex);
  std::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds(20)));
  }).join();
  const std::vector<SeenScope> seen = waits(recorded());
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_GE(seen[0].end_ns - seen[0].start_ns, 20'000'000 - clocks_ns);
  EXPECT_TRUE(holds(recorded()).empty());
}

TEST_F(LockableTest, AConditionsWaitIsNoHold) {
  Lockable<std::mutex> mutex("condition");
  std::condition_variable_any changed;
  bool is_ready = false;
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    is_ready = true;
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_ready; });
  }
  other.join();
  std::vector<SeenHold> held = holds(recorded());
  std::sort(held.begin(), held.end(), [](const SeenHold& a, const SeenHold& b) { return a.start_ns < b.start_ns; });
  ASSERT_GE(held.size(), 2U);
  for (std::size_t i = 1; i < held.size(); ++i) {
    EXPECT_LE(held[i - 1].end_ns, held[i].start_ns + clocks_ns);
  }
}

TEST_F(LockableTest, WhatIsTakenWhileOffLeavesNothing) {
  Lockable<std::recursive_mutex> mutex("off");
  Recorder::instance().switch_scopes_off(ScopesOff::never_wanted);
  mutex.lock();
  Recorder::instance().switch_scopes_on(ScopesOff::never_wanted);
  mutex.unlock();
  { const std::lock_guard lock(mutex); }
  mutex.lock();
  Recorder::instance().switch_scopes_off(ScopesOff::never_wanted);
  mutex.lock();
  mutex.unlock();
  Recorder::instance().switch_scopes_on(ScopesOff::never_wanted);
  { const std::lock_guard lock(mutex); }
  mutex.unlock();
  EXPECT_EQ(holds(recorded()).size(), 2U);
}

TEST_F(LockableTest, HoldsOfManyThreadsAreRecordedOrCountedAndDoNotOverlap) {
  constexpr std::uint64_t turns = test::rounds<std::uint64_t>(5'000);
  constexpr std::uint64_t threads = 4;
  Lockable<std::mutex> mutex("contested");
  std::uint64_t sum = 0;
  std::vector<std::thread> workers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        const std::lock_guard lock(mutex);
        ++sum;
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  EXPECT_EQ(sum, threads * turns);
  const std::vector<EventBatch> batches = recorded();
  std::vector<SeenHold> held = holds(batches);
  std::map<TrackId, std::uint64_t> dropped;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      dropped[run.track] = run.dropped_others;
    }
  }
  std::uint64_t dropped_holds = 0;
  for (const auto& [track, count] : dropped) {
    dropped_holds += count;
  }
  EXPECT_EQ(held.size() + dropped_holds, threads * turns);
  EXPECT_LE(waits(batches).size(), threads * turns);
  std::sort(held.begin(), held.end(), [](const SeenHold& a, const SeenHold& b) { return a.start_ns < b.start_ns; });
  // The clock's contract, where batches were converted by different lines.
  const std::int64_t bound_ns = clock_bound_ns(batches);
  for (std::size_t i = 1; i < held.size(); ++i) {
    EXPECT_LE(held[i - 1].end_ns, held[i].start_ns + bound_ns);
  }
}

}  // namespace
}  // namespace kymo::record
