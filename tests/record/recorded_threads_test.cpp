// What many threads record, and what they leave behind: dropped, open, or closed where it was not opened.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <limits.h>
#include <pthread.h>

#include <kymo/kymo.hpp>

#include "record/hot/track_writer.hpp"
#include "record/recording_fixture.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace kymo::record {
namespace {

using test::SeenScope;

TEST_F(RecordingTest, EveryScopeOfManyThreadsIsRecordedOrCounted) {
  constexpr int threads = 4;
  constexpr std::uint64_t scopes_each = 200'000;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([] {
      for (std::uint64_t n = 0; n < scopes_each; ++n) {
        KYMO_SCOPE("tight");
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::closed_scopes(batches).size() + dropped_scopes(batches), threads * scopes_each);
}

TEST_F(RecordingTest, ThreadsThatRecordWhileTheirLastDestructorsRunReturnTheirSlots) {
  if (test::has_sanitizer && !test::has_address_sanitizer) {
    GTEST_SKIP() << "ThreadSanitizer ends its own part of a thread before";
  }
  if (test::is_emulated) {
    GTEST_SKIP() << "an emulator's threads are not the kernel's";
  }
  static pthread_key_t key;
  // Set anew in each of its calls, it is called in every round of destructors.
  const auto record_again = [](void* value) {
    { KYMO_SCOPE("cleanup"); }
    ::pthread_setspecific(key, value);
  };
  ASSERT_EQ(::pthread_key_create(&key, record_again), 0);
  Pool& pool = *Recorder::instance().pool();
  const auto active_slots = [&pool] {
    std::uint32_t active = 0;
    for (std::uint32_t i = 1; i < pool.slot_count(); ++i) {
      active += pool.slot(i).state.load() == SlotState::active ? 1U : 0U;
    }
    return active;
  };
  { KYMO_SCOPE("this thread"); }
  const std::uint32_t before = active_slots();
  constexpr std::size_t threads = 20;
  for (std::size_t i = 0; i < threads; ++i) {
    std::thread([] { ::pthread_setspecific(key, &key); }).join();
  }
  EXPECT_TRUE(test::wait_until([&] {
    static_cast<void>(recorded());
    return active_slots() <= before;
  }));
  EXPECT_EQ(::pthread_key_delete(key), 0);
  EXPECT_EQ(test::closed_scopes(recorded()).size(), 1 + threads * PTHREAD_DESTRUCTOR_ITERATIONS);
}

/// Each records so fast, for a moment, that it would fill a large chunk in no time.
TEST_F(RecordingTest, ThereMayBeMoreBusyThreadsThanLargeChunks) {
  constexpr int rounds = 3;
  constexpr int scopes_a_burst = 300;
  const int thread_count = static_cast<int>(Recorder::instance().pool()->header().most_chunks) * 3 / 2;
  std::atomic<int> turn{-1};
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round) {
        const int own = round * thread_count + i;
        for (int now = turn.load(); now != own; now = turn.load()) {
          turn.wait(now);
        }
        for (int n = 0; n < scopes_a_burst; ++n) {
          KYMO_SCOPE("burst");
        }
        EXPECT_TRUE(Recorder::instance().flush(std::chrono::seconds(30)));
        turn.store(own + 1);
        turn.notify_all();
      }
    });
  }
  turn.store(0);
  turn.notify_all();
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(dropped_scopes(batches), 0U);
  EXPECT_EQ(test::closed_scopes(batches).size(), static_cast<std::size_t>(rounds * thread_count * scopes_a_burst));
}

TEST_F(RecordingTest, WhatWasDroppedForEarlierSinksIsNotTheNextOnesLoss) {
  const auto gate = std::make_shared<GatedSink>();
  const std::uint64_t gate_handle = Recorder::instance().add_sink(gate);
  gate->set_open(false);
  const std::uint64_t more_than_fit = 4 * smallest_pool_bytes / 8;
  for (std::uint64_t n = 0; n < more_than_fit; ++n) {
    KYMO_SCOPE("tight");
  }
  gate->set_open(true);
  EXPECT_GT(dropped_scopes(recorded()), 0U);
  Recorder::instance().remove_sink(gate_handle);
  Recorder::instance().remove_sink(handle_);
  sink_ = std::make_shared<MemorySink>();
  handle_ = Recorder::instance().add_sink(sink_);
  { KYMO_SCOPE("after"); }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::closed_scopes(batches).size(), 1U);
  EXPECT_EQ(dropped_scopes(batches), 0U);
}

TEST_F(RecordingTest, DropsAfterTheLastEventAreStated) {
  { KYMO_SCOPE("last"); }
  EXPECT_EQ(dropped_scopes(recorded()), 0U);
  current_slot()->dropped_scopes.fetch_add(3, std::memory_order_relaxed);
  EXPECT_EQ(dropped_scopes(recorded()), 3U);
}

using Waiting = std::function<void()>;

/// What a thread may do last before it waits. Each publishes its event in another way.
const std::vector<void (*)(const Waiting&)> last_acts{
    [](const Waiting& wait) {
      KYMO_SCOPE("open");
      wait();
    },
    [](const Waiting& wait) {
      { KYMO_SCOPE("closed"); }
      wait();
    },
    [](const Waiting& wait) {
      KYMO_SCOPE("with an argument", {"n", 1});
      wait();
    },
    [](const Waiting& wait) {
      KYMO_SCOPE("with a text", {"text", "some text"});
      wait();
    },
    [](const Waiting& wait) {
      record_metric("metric", 1);
      wait();
    },
    [](const Waiting& wait) {
      set_thread_name("waiting");
      wait();
    },
    [](const Waiting& wait) {
      for (int n = 0; n < 20'000; ++n) {
        KYMO_SCOPE("many chunks", {"n", n});
      }
      wait();
    },
};

TEST_F(RecordingTest, WhatARunningThreadRecordedIsReadWhileItRuns) {
  for (const auto act : last_acts) {
    // The flags order nothing: the way in which the recorder publishes an event has to, and ThreadSanitizer checks
    // that.
    std::atomic<bool> is_recorded{false};
    std::atomic<bool> is_read{false};
    const std::size_t batches_before = recorded().size();
    std::thread running([&] {
      act([] {});  // takes a chunk, declares the site
      act([&] {
        is_recorded.store(true, std::memory_order_relaxed);
        while (!is_read.load(std::memory_order_relaxed)) {
          std::this_thread::yield();
        }
      });
    });
    while (!is_recorded.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
    }
    EXPECT_GT(recorded().size(), batches_before);
    is_read.store(true, std::memory_order_relaxed);
    running.join();
  }
}

TEST_F(RecordingTest, SequencesOfATrackAreWithoutGapsAndOverlaps) {
  for (int n = 0; n < 100'000; ++n) {
    KYMO_SCOPE("tight", {"n", n});
  }
  std::map<TrackId, std::uint64_t> next;
  for (const EventBatch& batch : recorded()) {
    for (const ScopeRun& run : batch.runs) {
      const auto [known, is_new] = next.try_emplace(run.track, run.first_sequence);
      EXPECT_EQ(run.first_sequence, known->second);
      EXPECT_GE(run.end_sequence, run.first_sequence);
      known->second = run.end_sequence;
    }
  }
}

/// Free words of the calling thread's chunk, beyond those that its open scopes need for their closes.
std::int64_t unreserved_words() {
  const detail::ThreadState& own = *kymo_thread_v3;
  const std::uint64_t* const cursor = detail::cursor_of(*kymo_thread_v3).load(std::memory_order_relaxed);
  return own.scopes_end + (detail::words_of_a_scope - 1) - cursor -
         static_cast<std::int64_t>(detail::depth_of(own.key));
}

/// Scopes that go up and down between depths that change.
struct Walk {
  void go_deeper() {
    KYMO_SCOPE("walk");
    ++opened;
    ++depth;
    while (--steps > 0) {
      least_unreserved = std::min(least_unreserved, unreserved_words());
      if (steps % 4096 == 0) {
        wanted = random() % 3 == 0 ? random() % 4 : random() % 5000;
      }
      if (random() % 64 == 0) {
        message("between");
      }
      if (depth > wanted || random() % 8 == 0) {
        break;
      }
      go_deeper();
    }
    --depth;
  }

  std::mt19937 random{1};
  int steps = 400'000;
  std::uint64_t opened = 0;
  std::size_t depth = 0;
  std::size_t wanted = 100;
  std::int64_t least_unreserved = 0;
};

TEST_F(RecordingTest, AtWhateverDepthAChunkEndsItHasRoomForTheClosesThatAreDue) {
  Walk walk;
  std::thread([&walk] {
    while (walk.steps > 0) {
      walk.go_deeper();
    }
  }).join();
  EXPECT_EQ(walk.least_unreserved, 0);
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = test::closed_scopes(batches);
  EXPECT_EQ(scopes.size() + dropped_scopes(batches), walk.opened);
  EXPECT_TRUE(std::none_of(scopes.begin(), scopes.end(), [](const SeenScope& scope) { return scope.is_forced; }));
}

TEST_F(RecordingTest, AnExitedThreadsOpenScopeIsClosedByForce) {
  std::thread([] {
    static kymo_site site = {0, 0, "abandoned", "", "", 0, KYMO_SITE_SCOPE};
    static_cast<void>(detail::open_scope(site));
  }).join();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = test::closed_scopes(batches);
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_TRUE(scopes[0].is_forced);
  const bool has_track_end =
      std::any_of(batches.begin(), batches.end(), [](const auto& batch) { return !batch.track_ends.empty(); });
  EXPECT_TRUE(has_track_end);
}

TEST_F(RecordingTest, TenThousandShortThreadsLeakNothing) {
  const Pool& pool = *Recorder::instance().pool();
  static_cast<void>(recorded());
  const std::uint32_t free_before = pool.header().free_count.load();
  // A sanitizer is what finds a leak, so it has them all.
  constexpr std::size_t threads = test::is_emulated ? 1'000 : 10'000;
  for (std::size_t i = 0; i < threads; ++i) {
    std::thread([] { KYMO_SCOPE("short"); }).join();
  }
  const std::vector<EventBatch> batches = recorded();
  const std::uint64_t without_track = pool.header().dropped_without_track.load().scopes;
  EXPECT_EQ(test::closed_scopes(batches).size() + dropped_scopes(batches) + without_track, threads);
  // The log of declarations and this thread may have moved on to large chunks.
  EXPECT_GE(pool.header().free_count.load() + 2 * pieces_a_chunk, free_before);
}

TEST_F(RecordingTest, AScopeClosedOnAnotherThreadClosesNothingThere) {
  static kymo_site site = {0, 0, "carried", "", "", 0, KYMO_SITE_SCOPE};
  detail::ScopeToken token;
  std::thread([&] { token = detail::open_scope(site); }).join();
  {
    KYMO_SCOPE("here");
    detail::close_scope(token);
  }
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  ASSERT_EQ(scopes.size(), 2U);
  EXPECT_TRUE(std::all_of(scopes.begin(), scopes.end(), [](const SeenScope& scope) { return scope.depth == 0; }));
}

TEST_F(RecordingTest, AScopeClosedOnAnotherThreadWhileItsOwnGoesOnIsSaidOnce) {
  static kymo_site site = {0, 0, "awaited", "", "", 0, KYMO_SITE_SCOPE};
  std::array<detail::ScopeToken, 2> tokens;
  std::promise<void> are_open;
  std::promise<void> are_closed;
  std::thread opener([&] {
    for (detail::ScopeToken& token : tokens) {
      token = detail::open_scope(site);
    }
    are_open.set_value();
    are_closed.get_future().wait();
  });
  are_open.get_future().wait();
  testing::internal::CaptureStderr();
  for (const detail::ScopeToken& token : tokens) {
    detail::close_scope(token);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  are_closed.set_value();
  opener.join();
  const std::size_t at = said.find("closed on another thread");
  EXPECT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("closed on another thread", at + 1), std::string::npos) << said;
}

TEST_F(RecordingTest, AScopeSkippedByLongjmpIsClosedWithItsParent) {
  static kymo_site site = {0, 0, "skipped", "", "", 0, KYMO_SITE_SCOPE};
  {
    KYMO_SCOPE("parent");
    static_cast<void>(detail::open_scope(site));  // never closed, as after a longjmp
  }
  { KYMO_SCOPE("after"); }
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  ASSERT_EQ(scopes.size(), 3U);
  EXPECT_EQ(scopes[0].name, "skipped");
  EXPECT_TRUE(scopes[0].is_forced);
  EXPECT_EQ(scopes[1].name, "parent");
  EXPECT_FALSE(scopes[1].is_forced);
  EXPECT_EQ(scopes[2].name, "after");
  EXPECT_EQ(scopes[2].depth, 0U);
}

TEST_F(RecordingTest, AfterALeftOutScopeThatLongjmpSkippedLaterScopesHaveTheirArguments) {
  static kymo_site site = {detail::left_out_id, 0, "left out", "", "", 0, KYMO_SITE_SCOPE};
  {
    KYMO_SCOPE("parent");
    static_cast<void>(detail::open_scope(site));  // never closed
    KYMO_ARG("lost", 1);
  }
  frame_mark();
  {
    KYMO_SCOPE("later");
    KYMO_ARG("kept", 2);
    const detail::ScopeToken outer = detail::open_scope(site);
    const detail::ScopeToken inner = detail::open_scope(site);
    KYMO_ARG("lost too", 3);
    {
      KYMO_SCOPE("within");
      KYMO_ARG("kept as well", 4);
    }
    detail::close_scope(inner);
    KYMO_ARG("also lost", 5);
    detail::close_scope(outer);
    KYMO_ARG("kept again", 6);
  }
  std::vector<std::uint64_t> kept;
  for (const EventBatch& batch : recorded()) {
    for (const ScopeRun& run : batch.runs) {
      for (const ScopeArgument& argument : run.arguments) {
        kept.push_back(argument.value.bits);
      }
    }
  }
  EXPECT_EQ(kept, (std::vector<std::uint64_t>{2, 4, 6}));
}

}  // namespace
}  // namespace kymo::record
