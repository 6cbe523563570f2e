// Fibers: what they record goes to their own tracks, whichever thread they are on, and what is misused harms nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <kymo/kymo.hpp>

#include "record/hot/track_writer.hpp"
#include "record/recording_fixture.hpp"
#include "support/rounds.hpp"

namespace kymo::record {
namespace {

using test::SeenScope;

class FiberTest : public RecordingTest {
 protected:
  /// The scopes of the fiber of that name, or of no fiber's track, in the order they closed.
  static std::vector<SeenScope> scopes_of(const std::vector<EventBatch>& batches, const std::string& fiber) {
    std::vector<SeenScope> found;
    for (const SeenScope& scope : test::closed_scopes(batches)) {
      const TrackDeclaration track = declared(batches, scope.track);
      const bool is_fiber = track.role == TrackRole::fiber;
      if (is_fiber ? track.name == fiber : fiber.empty()) {
        found.push_back(scope);
      }
    }
    return found;
  }

  static TrackDeclaration declared(const std::vector<EventBatch>& batches, TrackId id) {
    TrackDeclaration found;
    for (const EventBatch& batch : batches) {
      for (const TrackDeclaration& track : batch.declarations.tracks) {
        found = track.id == id ? track : found;
      }
    }
    return found;
  }

  static std::vector<std::string> names(const std::vector<SeenScope>& scopes) {
    std::vector<std::string> all;
    for (const SeenScope& scope : scopes) {
      all.push_back(scope.name);
    }
    return all;
  }
};

using Names = std::vector<std::string>;

TEST_F(FiberTest, WhatAThreadRecordsInAFiberGoesToTheFibersTrack) {
  const Fiber fiber("task");
  {
    KYMO_SCOPE("worker loop");
    const FiberGuard guard(fiber);
    KYMO_SCOPE("step", {"n", 7});
    message("said by the task");
  }
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> on_fiber = scopes_of(batches, "task");
  ASSERT_EQ(names(on_fiber), Names{"step"});
  EXPECT_EQ(on_fiber[0].depth, 0U);
  // The thread shows the fiber's run inside of what it had open.
  const std::vector<SeenScope> on_thread = scopes_of(batches, "");
  ASSERT_EQ(names(on_thread), (Names{"task", "worker loop"}));
  EXPECT_EQ(on_thread[0].depth, 1U);
  EXPECT_LE(on_thread[0].start_ns, on_fiber[0].start_ns);
  EXPECT_GE(on_thread[0].end_ns, on_fiber[0].end_ns);
  for (const EventBatch& batch : batches) {
    for (const SiteDeclaration& site : batch.declarations.sites) {
      EXPECT_EQ(site.role, site.name == "task" ? SiteRole::fiber_run : SiteRole::work);
    }
    for (const ScopeRun& run : batch.runs) {
      EXPECT_EQ(run.arguments.size(), run.track == on_fiber[0].track ? 1U : 0U);
    }
    for (const Message& text : batch.messages) {
      EXPECT_EQ(text.track, on_fiber[0].track);
    }
  }
}

TEST_F(FiberTest, AScopeIsClosedByTheThreadThatTheFiberMovedTo) {
  const Fiber fiber("moving");
  std::optional<detail::ScopeGuard> outer;
  std::optional<detail::ScopeGuard> inner;
  static kymo_site outer_site = {0, 0, "outer", "", "", 0, KYMO_SITE_SCOPE};
  static kymo_site inner_site = {0, 0, "inner", "", "", 0, KYMO_SITE_SCOPE};
  KYMO_SCOPE("of the first thread");
  fiber_enter(fiber);
  outer.emplace(outer_site);
  inner.emplace(inner_site);
  fiber_leave();
  std::thread([&] {
    KYMO_SCOPE("of the second thread");
    const FiberGuard guard(fiber);
    inner.reset();
    { KYMO_SCOPE("later"); }
    outer.reset();
  }).join();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = scopes_of(batches, "moving");
  ASSERT_EQ(names(scopes), (Names{"inner", "later", "outer"}));
  for (const SeenScope& scope : scopes) {
    EXPECT_FALSE(scope.is_forced);
    EXPECT_EQ(scope.depth, scope.name == "outer" ? 0U : 1U);
  }
  EXPECT_EQ(names(scopes_of(batches, "")), (Names{"moving", "moving", "of the second thread"}));
}

TEST_F(FiberTest, AFiberThatIsEnteredTwiceDropsAndCountsTheSecondThreadsScopes) {
  const Fiber fiber("contested");
  const Pool& pool = *Recorder::instance().pool();
  const DropCounts before = pool.header().dropped_without_track.load();
  {
    const FiberGuard guard(fiber);
    KYMO_SCOPE("first");
    std::thread([&] {
      KYMO_SCOPE("before");
      EXPECT_FALSE(fiber_enter(fiber));
      {
        KYMO_SCOPE("second", {"n", 1});
        KYMO_ARG("late", 2);
      }
      record_metric("a loss of another kind", 1);
      set_thread_name("second thread");
      fiber_leave();
      KYMO_SCOPE("after");
    }).join();
  }
  EXPECT_EQ(pool.header().dropped_without_track.load().scopes, before.scopes + 1);
  EXPECT_EQ(pool.header().dropped_without_track.load().others, before.others + 1);
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(names(scopes_of(batches, "contested")), Names{"first"});
  // Tracks come in the order of their batches, whose borders may lie anywhere.
  std::map<std::string, TrackId> tracks;
  for (const SeenScope& scope : scopes_of(batches, "")) {
    tracks[scope.name] = scope.track;
  }
  ASSERT_EQ(tracks.size(), 3U);
  EXPECT_NE(tracks["contested"], tracks["after"]);
  EXPECT_EQ(tracks["before"], tracks["after"]);
  EXPECT_EQ(declared(batches, tracks["after"]).name, "second thread");
}

TEST_F(FiberTest, LeavingWithoutEnteringAndEnteringTwiceOnOneThreadHarmNothing) {
  const Fiber first("first");
  const Fiber second("second");
  KYMO_SCOPE("thread");
  fiber_leave();
  fiber_enter(first);
  {
    KYMO_SCOPE("in first");
    fiber_enter(second);  // leaves the first one
    { KYMO_SCOPE("in second"); }
    fiber_enter(second);
    { KYMO_SCOPE("in second again"); }
  }  // of the first fiber, which is not here: closes nothing
  fiber_leave();
  fiber_leave();
  { KYMO_SCOPE("on thread"); }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(names(scopes_of(batches, "second")), (Names{"in second", "in second again"}));
  EXPECT_EQ(names(scopes_of(batches, "first")), Names{});
  EXPECT_EQ(names(scopes_of(batches, "")), (Names{"first", "second", "second", "on thread"}));
}

TEST_F(FiberTest, AScopeThatIsClosedOutsideItsFiberEndsWithTheNextOneFurtherOut) {
  const Fiber fiber("task");
  static kymo_site site = {0, 0, "carried out", "", "", 0, KYMO_SITE_SCOPE};
  fiber_enter(fiber);
  {
    KYMO_SCOPE("outer");
    const detail::ScopeToken token = detail::open_scope(site);
    fiber_leave();
    {
      KYMO_SCOPE("on the thread");
      detail::close_scope(token);
    }
    fiber_enter(fiber);
  }
  fiber_leave();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = scopes_of(batches, "task");
  ASSERT_EQ(names(scopes), (Names{"carried out", "outer"}));
  EXPECT_TRUE(scopes[0].is_forced);
  EXPECT_FALSE(scopes[1].is_forced);
  EXPECT_EQ(names(scopes_of(batches, "")), (Names{"task", "on the thread", "task"}));
}

TEST_F(FiberTest, AFiberThatIsDestroyedWhileEnteredEndsWhenItIsLeft) {
  auto fiber = std::make_unique<Fiber>("short-lived");
  fiber_enter(*fiber);
  { KYMO_SCOPE("before"); }
  std::thread([&] { fiber.reset(); }).join();
  { KYMO_SCOPE("behind"); }
  static kymo_site site = {0, 0, "open", "", "", 0, KYMO_SITE_SCOPE};
  static_cast<void>(detail::open_scope(site));
  const std::vector<EventBatch> while_in = recorded();
  fiber_leave();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = scopes_of(batches, "short-lived");
  ASSERT_EQ(names(scopes), (Names{"before", "behind", "open"}));
  EXPECT_TRUE(scopes.back().is_forced);
  const auto ends = [&](const std::vector<EventBatch>& all) {
    std::size_t count = 0;
    for (const EventBatch& batch : all) {
      count += static_cast<std::size_t>(
          std::count_if(batch.track_ends.begin(), batch.track_ends.end(),
                        [&](const TrackEnd& end) { return end.track == scopes.front().track; }));
    }
    return count;
  };
  EXPECT_EQ(ends(while_in), 0U);
  EXPECT_EQ(ends(batches), 1U);
}

TEST_F(FiberTest, AThreadThatEndsInAFiberLeavesItToTheNext) {
  const Fiber fiber("orphan");
  static kymo_site site = {0, 0, "left open", "", "", 0, KYMO_SITE_SCOPE};
  detail::ScopeToken token;
  std::thread([&] {
    fiber_enter(fiber);
    token = detail::open_scope(site);
  }).join();
  EXPECT_TRUE(fiber_enter(fiber));
  detail::close_scope(token);
  fiber_leave();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = scopes_of(batches, "orphan");
  ASSERT_EQ(names(scopes), Names{"left open"});
  EXPECT_FALSE(scopes[0].is_forced);
  EXPECT_EQ(names(scopes_of(batches, "")), (Names{"orphan", "orphan"}));
}

TEST_F(FiberTest, RecordingMayBeSwitchedOffAndOnInAFiber) {
  const Fiber fiber("patient");
  Recorder::instance().switch_scopes_off(ScopesOff::never_wanted);
  fiber_enter(fiber);
  { KYMO_SCOPE("off"); }
  Recorder::instance().switch_scopes_on(ScopesOff::never_wanted);
  { KYMO_SCOPE("on"); }
  fiber_leave();
  fiber_enter(fiber);
  Recorder::instance().switch_scopes_off(ScopesOff::never_wanted);
  fiber_leave();
  Recorder::instance().switch_scopes_on(ScopesOff::never_wanted);
  { KYMO_SCOPE("thread"); }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(names(scopes_of(batches, "patient")), Names{"on"});
  EXPECT_EQ(names(scopes_of(batches, "")), (Names{"patient", "thread"}));
}

TEST_F(FiberTest, FibersThatEndGiveTheirChunksBack) {
  const auto record_in_short_fibers = [](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const Fiber fiber("short");
      const FiberGuard guard(fiber);
      KYMO_SCOPE("work");
    }
  };
  record_in_short_fibers(1);  // from here on the thread has the tracks that it needs for them
  static_cast<void>(recorded());
  const Pool& pool = *Recorder::instance().pool();
  const std::uint32_t free_before = pool.header().free_count.load();
  constexpr std::uint64_t fibers = 2'000;
  record_in_short_fibers(fibers);
  const std::vector<EventBatch> batches = recorded();
  const std::uint64_t without_track = pool.header().dropped_without_track.load().scopes;
  std::uint64_t runs = 0;
  std::uint64_t works = 0;
  for (const SeenScope& scope : test::closed_scopes(batches)) {
    (scope.name == "work" ? works : runs) += 1;
  }
  EXPECT_EQ(works + runs + dropped_scopes(batches) + without_track, 2 * (fibers + 1));
  // This thread and the log may have moved on to large chunks.
  EXPECT_GE(pool.header().free_count.load() + 2 * pieces_a_chunk, free_before);
}

TEST_F(FiberTest, AFiberWithoutRoomDropsItsScopesWholeAndCountsThemOnItsTrack) {
  const Fiber fiber("crowded");
  const auto gate = std::make_shared<GatedSink>();
  const std::uint64_t gate_handle = Recorder::instance().add_sink(gate);
  gate->set_open(false);
  // Two words each, and a batch that was taken before the gate was seen shut. Few more: a drop looks for a chunk.
  constexpr std::uint64_t more_than_fit = 4 * smallest_pool_bytes / 16 + 120'000;
  {
    const FiberGuard guard(fiber);
    for (std::uint64_t n = 0; n < more_than_fit; ++n) {
      KYMO_SCOPE("tight");
    }
  }
  gate->set_open(true);
  const std::vector<EventBatch> batches = recorded();
  Recorder::instance().remove_sink(gate_handle);
  const std::vector<SeenScope> scopes = scopes_of(batches, "crowded");
  ASSERT_FALSE(scopes.empty());
  std::uint64_t dropped = 0;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      dropped = run.track == scopes.front().track ? run.dropped_scopes : dropped;
    }
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(scopes.size() + dropped, more_than_fit);
}

/// A task that is in the midst of nested scopes whenever it moves to another thread.
class Task {
 public:
  static constexpr std::size_t deepest = 6;

  explicit Task(std::size_t number) : fiber_("task " + std::to_string(number)), random_(number) {}

  /// Some steps on the calling thread, unless another one has the task. The flag orders nothing: what makes the
  /// recorder's own state go over from thread to thread has to be the recorder.
  void run(std::uint64_t steps) {
    if (is_taken_.exchange(true, std::memory_order_relaxed)) {
      return;
    }
    fiber_enter(fiber_);
    for (std::uint64_t i = 0; i < steps; ++i) {
      step();
    }
    fiber_leave();
    is_taken_.store(false, std::memory_order_relaxed);
  }

  void finish() {
    const FiberGuard guard(fiber_);
    while (depth_ > 0) {
      detail::close_scope(open_[--depth_]);
    }
  }

  [[nodiscard]] std::uint64_t issued() const { return issued_; }

 private:
  // What the task itself knows goes from thread to thread within the fiber, whose enter sees what leave had seen.
  void step() {
    static kymo_site site = {0, 0, "step", "", "", 0, KYMO_SITE_SCOPE};
    if (depth_ == deepest || (depth_ > 0 && random_() % 2 == 0)) {
      detail::close_scope(open_[--depth_]);
      return;
    }
    open_[depth_] = detail::open_scope(site);
    if (detail::accepts_argument()) {
      KYMO_ARG("number", issued_);
    }
    ++issued_;
    ++depth_;
  }

  Fiber fiber_;
  std::minstd_rand random_;
  std::atomic<bool> is_taken_{false};
  std::array<detail::ScopeToken, deepest> open_;
  std::size_t depth_ = 0;
  std::uint64_t issued_ = 0;
};

TEST_F(FiberTest, TasksThatMoveBetweenThreadsKeepEveryScopeInOrder) {
  constexpr std::size_t task_count = 12;
  constexpr std::uint64_t turns = test::rounds<std::uint64_t>(20'000);
  std::vector<std::unique_ptr<Task>> tasks;
  for (std::size_t i = 0; i < task_count; ++i) {
    tasks.push_back(std::make_unique<Task>(i + 1));
  }
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&tasks, t] {
      std::minstd_rand random(t + 1);
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        tasks[random() % task_count]->run(1 + random() % 16);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::uint64_t issued = 0;
  for (const auto& task : tasks) {
    task->finish();
    issued += task->issued();
  }
  const std::vector<EventBatch> batches = recorded();
  std::map<TrackId, std::uint64_t> closed;
  for (const SeenScope& scope : test::closed_scopes(batches)) {
    if (scope.name == "step") {
      EXPECT_FALSE(scope.is_forced);
      ++closed[scope.track];
    }
  }
  ASSERT_EQ(closed.size(), task_count);
  std::map<TrackId, std::uint64_t> dropped;
  std::map<TrackId, std::uint64_t> dropped_arguments;
  std::map<TrackId, std::uint64_t> sequence;
  std::map<TrackId, std::vector<std::uint64_t>> numbers;
  std::map<TrackId, std::int64_t> last_ns;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      if (closed.count(run.track) == 0) {
        continue;
      }
      dropped[run.track] = run.dropped_scopes;
      dropped_arguments[run.track] = run.dropped_others;
      EXPECT_EQ(run.first_sequence, sequence[run.track]);
      sequence[run.track] = run.end_sequence;
      for (const ScopeArgument& argument : run.arguments) {
        numbers[run.track].push_back(argument.value.bits);
      }
      for (const ScopeEvent& event : run.events) {
        EXPECT_GE(event.time_ns, last_ns[run.track]);
        last_ns[run.track] = event.time_ns;
      }
    }
  }
  std::uint64_t accounted = 0;
  for (const auto& [track, count] : closed) {
    const std::size_t task = std::stoul(declared(batches, track).name.substr(5)) - 1;
    EXPECT_EQ(count + dropped[track], tasks[task]->issued());
    EXPECT_TRUE(std::is_sorted(numbers[track].begin(), numbers[track].end()));
    EXPECT_EQ(std::adjacent_find(numbers[track].begin(), numbers[track].end()), numbers[track].end());
    EXPECT_EQ(numbers[track].size() + dropped_arguments[track], count);
    accounted += count + dropped[track];
  }
  EXPECT_EQ(accounted, issued);
}

TEST_F(FiberTest, CountsAreAddedWhileOthersRecord) {
  // Threads that fight over one fiber: who gets it records, the others are counted.
  const Fiber fiber("one for all");
  const std::uint64_t before = Recorder::instance().pool()->header().dropped_without_track.load().scopes;
  constexpr std::uint64_t turns = test::rounds<std::uint64_t>(10'000);
  std::atomic<std::uint64_t> entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        entered.fetch_add(fiber_enter(fiber) ? 1U : 0U, std::memory_order_relaxed);
        { KYMO_SCOPE("turn"); }
        fiber_leave();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = scopes_of(batches, "one for all");
  std::uint64_t runs = 0;
  for (const SeenScope& scope : scopes_of(batches, "")) {
    runs += scope.name == "one for all" ? 1U : 0U;
  }
  const std::uint64_t without_track =
      Recorder::instance().pool()->header().dropped_without_track.load().scopes - before;
  EXPECT_EQ(scopes.size() + runs + dropped_scopes(batches) + without_track, 3 * turns + entered);
  EXPECT_LE(scopes.size(), entered);
}

}  // namespace
}  // namespace kymo::record
