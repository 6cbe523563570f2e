// What the collector keeps, and what it says of tracks that had no room.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "record/collector/collector.hpp"
#include "record/hot/track_writer.hpp"
#include "record/platform/platform.hpp"
#include "record/recording_fixture.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace kymo::record {
namespace {

const TrackDeclaration* find_track(const std::vector<EventBatch>& batches, TrackId id) {
  const TrackDeclaration* found = nullptr;
  for (const EventBatch& batch : batches) {
    for (const TrackDeclaration& track : batch.declarations.tracks) {
      found = track.id == id ? &track : found;
    }
  }
  return found;
}

bool has_ended(const std::vector<EventBatch>& batches, TrackId id) {
  return std::any_of(batches.begin(), batches.end(), [id](const EventBatch& batch) {
    return std::any_of(batch.track_ends.begin(), batch.track_ends.end(),
                       [id](const TrackEnd& end) { return end.track == id; });
  });
}

/// What the collector knows, while it takes nothing in.
template <typename Look>
auto look_at_known(Look look) {
  Collector& collector = *Recorder::instance().collector();
  collector.lock_known();
  const auto seen = look(collector.known());
  collector.unlock_known();
  return seen;
}

using CollectorTest = RecordingTest;

TEST_F(CollectorTest, ATrackThatDroppedEverythingIsDeclaredAndKeepsTheBatchesTimes) {
  const std::int64_t start_ns = monotonic_now();
  TrackSlot* const slot = claim_slot(TrackRole::plain);
  ASSERT_NE(slot, nullptr);
  const TrackId track{slot->track.load()};
  slot->dropped_scopes.store(5);
  const std::vector<EventBatch> living = recorded();
  ASSERT_NE(find_track(living, track), nullptr);
  EXPECT_EQ(find_track(living, track)->os_thread_id, os_thread_id());
  EXPECT_EQ(dropped_scopes(living), 5U);

  std::string("worker").copy(slot->name, sizeof slot->name);
  slot->name[6] = '\0';
  slot->state.store(SlotState::exited, std::memory_order_release);
  const std::vector<EventBatch> ended = recorded();
  EXPECT_TRUE(has_ended(ended, track));
  EXPECT_EQ(find_track(ended, track)->name, "worker");
  for (std::size_t i = 1; i < ended.size(); ++i) {
    EXPECT_GE(ended[i].start_ns, start_ns);
    for (const TrackEnd& end : ended[i].track_ends) {
      EXPECT_GE(end.time_ns, start_ns);
    }
  }
}

TEST_F(CollectorTest, ADeclarationOfAThreadsOwnIsNotReplaced) {
  std::thread([] {
    set_thread_name("a name that is longer than what the slot of a thread keeps of it: 48 bytes");
    KYMO_SCOPE("work");
  }).join();
  const std::vector<EventBatch> batches = recorded();
  std::vector<std::string> names;
  for (const EventBatch& batch : batches) {
    for (const TrackEnd& end : batch.track_ends) {
      names.push_back(find_track(batches, end.track)->name);
    }
  }
  ASSERT_EQ(names.size(), 1U);
  EXPECT_GT(names[0].size(), 48U);
}

TEST_F(CollectorTest, AnInfoThatIsSetAgainTakesNoMemory) {
  const auto count = [](const Declarations& known) { return known.infos.size(); };
  const std::size_t before = look_at_known(count);
  for (int n = 0; n < 1'000; ++n) {
    ASSERT_TRUE(Recorder::instance().declarations().declare_info("epoch", std::to_string(n)));
    if (n % 100 == 0) {
      static_cast<void>(recorded());
    }
  }
  static_cast<void>(recorded());
  EXPECT_EQ(look_at_known(count), before + 1);
  EXPECT_EQ(look_at_known([](const Declarations& known) { return known.infos.back().value; }), "999");
}

TEST_F(CollectorTest, TracksThatHaveEndedAreForgotten) {
  const auto count = [](const Declarations& known) { return known.tracks.size(); };
  const std::size_t before = look_at_known(count);
  for (int n = 0; n < 3'000; ++n) {
    std::thread([] { KYMO_SCOPE("short"); }).join();
  }
  static_cast<void>(recorded());
  EXPECT_LE(look_at_known(count), before + 1'100);
}

TEST(Collector, AForkedChildTakesOverWhatItsEventsMayReferTo) {
  PoolOptions options;
  options.bytes = smallest_pool_bytes;
  const std::unique_ptr<Pool> pool = Pool::create(options);
  Declarations known;
  known.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 10, "a thread of the parent's"});
  known.tracks.push_back({TrackId{2}, TrackKind::queue, ProcessId{1}, 0, "queue"});
  known.sites.emplace_back().id = SiteId{3};
  const Collector collector(*pool, &known, {});
  ASSERT_EQ(collector.known().tracks.size(), 1U);
  EXPECT_EQ(collector.known().tracks[0].name, "queue");
  EXPECT_EQ(collector.known().sites.size(), 1U);
  pool->remove_spool();
}

TEST_F(CollectorTest, AThreadThatNobodyWatchesEndsWhenTheKernelKnowsItNoMore) {
  if (test::is_emulated) {
    GTEST_SKIP() << "an emulator's threads are not the kernel's";
  }
  TrackSlot* const slot = claim_slot(TrackRole::plain);
  ASSERT_NE(slot, nullptr);
  const TrackId track{slot->track.load()};
  std::uint64_t id = 0;
  std::thread([&] { id = os_thread_id(); }).join();
  slot->os_thread_id = id;
  slot->is_unwatched = true;
  EXPECT_TRUE(test::wait_until([&] { return has_ended(recorded(), track); }));
}

TEST_F(CollectorTest, AYoungerTrackOfTheSameThreadEndsTheOneThatNobodyWatches) {
  { KYMO_SCOPE("alive"); }
  TrackSlot* const older = claim_slot(TrackRole::plain);
  TrackSlot* const younger = claim_slot(TrackRole::plain);
  ASSERT_NE(younger, nullptr);
  const TrackId old_track{older->track.load()};
  const TrackId young_track{younger->track.load()};
  older->is_unwatched = true;
  younger->is_unwatched = true;
  EXPECT_TRUE(test::wait_until([&] { return has_ended(recorded(), old_track); }));
  EXPECT_FALSE(has_ended(recorded(), young_track));
  younger->state.store(SlotState::exited, std::memory_order_release);
}

TEST_F(CollectorTest, AFrameDoesNotSpanTheGapBetweenTwoCaptures) {
  const auto mark = [] {
    for (int n = 0; n < 3; ++n) {
      frame_mark();
    }
  };
  mark();
  EXPECT_EQ(test::values_of(recorded(), "frame_ms").size(), 2U);
  Recorder::instance().remove_sink(handle_);
  sink_ = std::make_shared<MemorySink>();
  handle_ = Recorder::instance().add_sink(sink_);
  mark();
  EXPECT_EQ(test::values_of(recorded(), "frame_ms").size(), 2U);
}

/// What the collector asked of the observer. It asks for more by itself at any time.
class Asked {
 public:
  void clear() {
    const std::lock_guard lock(mutex_);
    all_.clear();
  }
  std::size_t add(Observation extent) {
    const std::lock_guard lock(mutex_);
    all_.push_back(extent);
    return all_.size();
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }
  /// The last time that it asked for what is not asked by itself.
  Observation last_of_a_sink() {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(all_.rbegin(), all_.rend(), [](Observation one) { return one != Observation::more; });
    return found == all_.rend() ? Observation::more : *found;
  }

 private:
  std::mutex mutex_;
  std::vector<Observation> all_;
};

Asked asked;

/// Sees a thread that ran for a moment.
bool observe_a_moment(EventBatch* batch, Observation extent) noexcept {
  const std::size_t count = asked.add(extent);
  if (count == 1) {
    batch->declarations.threads.push_back({ThreadId{7}, ProcessId{1}, 1, 2, "observed"});
  }
  batch->start_ns = batch->end_ns = static_cast<std::int64_t>(count);
  batch->states.push_back({ThreadId{7}, {{batch->start_ns, 0, 0, RunState::running}}});
  return true;
}

std::size_t moments(const MemorySink& sink) {
  std::size_t count = 0;
  for (const EventBatch& batch : sink.batches()) {
    count += batch.states.size();
  }
  return count;
}

bool knows_the_thread(const MemorySink& sink) {
  const std::vector<EventBatch> batches = sink.batches();
  return std::any_of(batches.begin(), batches.end(), [](const EventBatch& batch) {
    return !batch.declarations.threads.empty() && batch.declarations.threads.front().id == ThreadId{7};
  });
}

TEST_F(CollectorTest, WhatThreadsRecordInTurnReachesASinkInOrderOfTime) {
  const auto record_one = [](double value) {
    record_metric("load", value);
    frame_mark("turns");
  };
  record_one(1);
  std::thread([&] { record_one(2); }).join();
  record_one(3);
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::values_of(batches, "load"), (std::vector<double>{1, 2, 3}));
  std::vector<std::int64_t> times_ns;
  for (const EventBatch& batch : batches) {
    for (const FrameMark& mark : batch.frame_marks) {
      times_ns.push_back(mark.time_ns);
    }
  }
  EXPECT_EQ(times_ns.size(), 3U);
  EXPECT_TRUE(std::is_sorted(times_ns.begin(), times_ns.end()));
}

TEST_F(CollectorTest, EachSinkReceivesWhatIsObservedUntilItGoes) {
  Recorder& recorder = Recorder::instance();
  asked.clear();
  recorder.observe_by(observe_a_moment);
  static_cast<void>(recorded());
  const auto later = std::make_shared<MemorySink>();
  const std::uint64_t handle = recorder.add_sink(later);
  static_cast<void>(recorded());
  recorder.observe_by(nullptr);
  recorder.remove_sink(handle);
  EXPECT_EQ(asked.last_of_a_sink(), Observation::summed_up) << "the other sink stays";
  EXPECT_TRUE(knows_the_thread(*later)) << "it was declared before";
  const std::size_t taken = moments(*later);
  EXPECT_GE(taken, 2U);
  recorder.remove_sink(handle_);
  EXPECT_EQ(asked.last_of_a_sink(), Observation::last) << "what has begun goes on to the last sink's end";
  EXPECT_EQ(moments(*later), taken);
  EXPECT_EQ(moments(*sink_), asked.count());

  sink_ = std::make_shared<MemorySink>();
  handle_ = recorder.add_sink(sink_);
  static_cast<void>(recorded());
  EXPECT_FALSE(knows_the_thread(*sink_)) << "it belongs to those who are gone";
  EXPECT_EQ(asked.last_of_a_sink(), Observation::last);
}

TEST_F(CollectorTest, OpenScopesLastUntilTheSinkGoes) {
  KYMO_SCOPE("open");
  static_cast<void>(recorded());
  const auto before_ns = static_cast<std::int64_t>(monotonic_ns());
  Recorder::instance().remove_sink(handle_);
  const EventBatch last = sink_->batches().back();
  EXPECT_GE(last.end_ns, before_ns);
  EXPECT_TRUE(
      std::any_of(last.runs.begin(), last.runs.end(), [](const ScopeRun& run) { return !run.open_at_start.empty(); }));
  sink_ = std::make_shared<MemorySink>();
  handle_ = Recorder::instance().add_sink(sink_);
}

TEST_F(CollectorTest, OpenAsyncSpansLastUntilTheSinkGoes) {
  const AsyncSpan open("lane", "open");
  static_cast<void>(recorded());
  const auto before_ns = static_cast<std::int64_t>(monotonic_ns());
  Recorder::instance().remove_sink(handle_);
  EXPECT_GE(sink_->batches().back().end_ns, before_ns);
  sink_ = std::make_shared<MemorySink>();
  handle_ = Recorder::instance().add_sink(sink_);
}

TEST_F(CollectorTest, EveryBatchNamesTheOpenScopes) {
  Recorder& recorder = Recorder::instance();
  recorder.observe_by(observe_a_moment);
  KYMO_SCOPE("outer");
  KYMO_SCOPE("inner");
  static_cast<void>(recorded());
  const std::size_t first = sink_->batches().size();
  for (int n = 0; n < 3; ++n) {
    KYMO_SCOPE("short");
    static_cast<void>(recorded());
  }
  recorder.observe_by(nullptr);
  const std::vector<EventBatch> batches = recorded();
  ASSERT_GT(batches.size(), first + 3);
  for (std::size_t i = first; i < batches.size(); ++i) {
    const auto& runs = batches[i].runs;
    const auto found =
        std::find_if(runs.begin(), runs.end(), [](const ScopeRun& run) { return run.open_at_start.size() >= 2; });
    EXPECT_TRUE(found != runs.end()) << "batch " << i << " with " << batches[i].states.size() << " states";
  }
}

}  // namespace
}  // namespace kymo::record
