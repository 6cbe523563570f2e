// Critical paths: every nanosecond has one owner, whatever threads do to each other.
#include "stats/paths/critical_path.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "stats/made_up_program.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::stats {
namespace {

using test::MadeUpProgram;

/// Time by waits, kind, name and thread.
using Owned = std::map<std::tuple<std::string, std::string, std::string, std::string>, std::int64_t>;

Owned owned_by(const Timeline& timeline, const OwnerTable& owners, const CriticalPath& path) {
  Owned owned;
  for (const auto& [id, part] : path.parts) {
    const Owner& owner = owners.owner(id);
    std::string waits;
    for (ChainId chain = owner.chain; chain != 0; chain = owners.wait(chain).outer) {
      waits = owners.subject(owners.wait(chain).subject).name + "/" + waits;
    }
    if (part.duration_ns != 0) {
      owned[{waits, std::string(name_of(owner.kind)), owners.subject(owner.subject).name,
             name_of(timeline, owner.actor)}] += part.duration_ns;
    }
  }
  return owned;
}

std::int64_t sum_of(const Owned& owned) {
  std::int64_t sum = 0;
  for (const auto& [what, time_ns] : owned) {
    EXPECT_GT(time_ns, 0);
    sum += time_ns;
  }
  return sum;
}

/// A program in a directory of its own.
struct ProgramOfItsOwn {
  test::TemporaryDirectory directory;
  std::string path = directory / "run.kymo";
  MadeUpProgram program;

  explicit ProgramOfItsOwn(bool has_states = false) : program(path, has_states) {}

  /// Finishes the program: who owns the time of each frame.
  std::vector<Owned> owned_by_frame() {
    program.finish();
    const Timeline timeline(path);
    OwnerTable owners(timeline);
    std::vector<Owned> owned;
    for (const CriticalPath& found :
         find_critical_paths(timeline, frames_of_main_streams(timeline).all, owners).paths) {
      owned.push_back(owned_by(timeline, owners, found));
    }
    return owned;
  }
};

/// Threads that do anything at any time: scopes in scopes, waits for locks that are held or not, flows between all.
class RandomProgram {
 public:
  RandomProgram(const std::string& path, std::uint32_t seed, bool has_states)
      : random_(seed), program_(path, has_states) {
    for (const char* name : {"main", "a", "b", "c"}) {
      threads_.push_back(program_.thread(name));
      depths_.push_back(0);
    }
    const TrackId queue = program_.queue("queue");
    for (int frame = 0; frame < 100; ++frame) {
      program_.frame(threads_[0]);
      for (std::size_t i = 0; i < threads_.size(); ++i) {
        const int steps = static_cast<int>(below(20));
        for (int step = 0; step < steps; ++step) {
          act(i);
        }
      }
      const std::int64_t start_ns = program_.now(threads_[below(4)]);
      program_.work(queue, "pass", start_ns, start_ns + static_cast<std::int64_t>(below(80'000)));
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      for (; depths_[i] != 0; --depths_[i]) {
        program_.close(threads_[i]);
      }
    }
    program_.finish();
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void act(std::size_t i) {
    const TrackId thread = threads_[i];
    switch (below(7)) {
      case 0:
        program_.open(thread, "site " + std::to_string(below(6)));
        ++depths_[i];
        break;
      case 1:
        if (depths_[i] != 0) {
          program_.close(thread);
          --depths_[i];
        }
        break;
      case 2:
        program_.wait_for_lock(thread, below(2) == 0 ? "x" : "y", below(2) == 0 ? "a" : "somewhere",
                               program_.now(thread) + time());
        break;
      case 3:
        program_.hold(below(2) == 0 ? "x" : "y", below(2) == 0 ? "b" : "c", program_.now(thread),
                      program_.now(thread) + time());
        break;
      case 4:
        program_.flow(thread, 1 + below(5), below(2) == 0 ? FlowPhase::begin : FlowPhase::end);
        break;
      case 5:
        program_.block(thread, time());
        break;
      default:
        program_.run(thread, time());
        program_.push_off(thread, time() / 4);
    }
  }

  std::int64_t time() { return static_cast<std::int64_t>(below(30'000)); }

  std::mt19937 random_;
  MadeUpProgram program_;
  std::vector<TrackId> threads_;
  std::vector<int> depths_;
};

TEST(CriticalPath, PartsOfAnyFrameOfAnyProgramAddUpToItExactly) {
  const test::TemporaryDirectory directory;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const std::string path = directory / ("run" + std::to_string(seed) + ".kymo");
    const RandomProgram program(path, seed, seed % 2 == 0);
    const Timeline timeline(path);
    const Instances frames = frames_of_main_streams(timeline);
    ASSERT_GT(frames.all.size(), 90U);
    OwnerTable owners(timeline);
    const CriticalPaths found = find_critical_paths(timeline, frames.all, owners);
    std::size_t followed = 0;
    for (std::size_t i = 0; i < frames.all.size(); ++i) {
      const Owned owned = owned_by(timeline, owners, found.paths[i]);
      EXPECT_EQ(sum_of(owned), frames.all[i].duration_ns) << "seed " << seed << ", frame " << i;
      for (const auto& [what, time_ns] : owned) {
        followed += std::get<0>(what).empty() ? 0U : 1U;
      }
    }
    EXPECT_GT(followed, 20U);
  }
}

TEST(CriticalPath, AFrameHasTheSameOwnersAloneAsAmongAll) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const RandomProgram program(path, 7, true);
  const Timeline timeline(path);
  const Instances frames = frames_of_main_streams(timeline);
  OwnerTable owners(timeline);
  const CriticalPaths all = find_critical_paths(timeline, frames.all, owners);
  for (std::size_t i = 0; i < frames.all.size(); ++i) {
    OwnerTable own(timeline);
    const CriticalPaths alone = find_critical_paths(timeline, {frames.all[i]}, own);
    EXPECT_EQ(owned_by(timeline, own, alone.paths.front()), owned_by(timeline, owners, all.paths[i])) << "frame " << i;
  }
}

TEST(CriticalPath, WithoutWaitsEachScopeOwnsItsSelfTime) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  std::mt19937 random(3);
  MadeUpProgram program(path);
  const TrackId main = program.thread("main");
  program.frame(main);
  for (int frame = 0; frame < 40; ++frame) {
    int depth = 0;
    for (int step = 0; step < 30; ++step) {
      if (random() % 2 == 0) {
        program.open(main, "site " + std::to_string(random() % 5));
        ++depth;
      } else if (depth != 0) {
        program.close(main);
        --depth;
      }
      program.run(main, static_cast<std::int64_t>(random() % 1000));
    }
    for (; depth != 0; --depth) {
      program.close(main);
    }
    program.frame(main);
  }
  program.finish();
  const Timeline timeline(path);
  const Instances frames = frames_of_main_streams(timeline);
  OwnerTable owners(timeline);
  const CriticalPaths found = find_critical_paths(timeline, frames.all, owners);
  for (std::size_t i = 0; i < frames.all.size(); ++i) {
    Owned expected;
    std::int64_t outside_ns = frames.all[i].duration_ns;
    for (const Span& span : timeline.spans(main, {frames.all[i].start_ns, frames.all[i].end_ns()}).spans) {
      expected[{"", "computing", std::string(timeline.name_of(span)), "main"}] += span.self_ns;
      outside_ns -= span.self_ns;
    }
    expected[{"", "computing", "", "main"}] += outside_ns;
    for (auto part = expected.begin(); part != expected.end();) {
      part = part->second == 0 ? expected.erase(part) : std::next(part);
    }
    EXPECT_EQ(owned_by(timeline, owners, found.paths[i]), expected) << "frame " << i;
  }
}

TEST(CriticalPath, AWaitBelongsToWhatTheHoldersDidMeanwhile) {
  ProgramOfItsOwn run(true);
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId first = program.thread("first");
  const TrackId second = program.thread("second");
  program.frame(main);
  program.open(first, "write");
  program.run(first, 300);
  program.block(first, 200);
  program.close(first);
  program.hold("file", "first", 50, 500);
  program.idle_until(second, 510);
  program.scope(second, "read", 90);
  program.hold("file", "second", 510, 600);
  program.run(main, 100);
  program.wait_for_lock(main, "file", "first", 620);
  program.run(main, 30);
  program.frame(main);
  const Owned expected{{{"", "computing", "", "main"}, 130},
                       {{"wait for file/", "computing", "write", "first"}, 200},
                       {{"wait for file/", "blocked", "write", "first"}, 200},
                       {{"wait for file/", "computing", "read", "second"}, 90},
                       {{"wait for file/", "waking", "wait for file", "main"}, 30}};
  EXPECT_EQ(run.owned_by_frame().front(), expected);
}

TEST(CriticalPath, AFlowThatHadComeBeforeIsNoWait) {
  ProgramOfItsOwn run;
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId worker = program.thread("worker");
  program.frame(main);
  program.scope(worker, "work", 100);
  program.flow(worker, 1, FlowPhase::begin);
  program.run(worker, 300);
  program.flow(worker, 2, FlowPhase::begin);
  program.run(main, 200);
  program.open(main, "take");
  program.run(main, 50);
  program.flow(main, 1, FlowPhase::end);
  program.run(main, 170);
  program.flow(main, 2, FlowPhase::end);
  program.run(main, 10);
  program.close(main);
  program.frame(main);
  const Owned expected{{{"", "computing", "", "main"}, 200},
                       {{"", "computing", "take", "main"}, 10},
                       {{"take/", "computing", "", "worker"}, 200},
                       {{"take/", "waking", "take", "main"}, 20}};
  EXPECT_EQ(run.owned_by_frame().front(), expected);
}

TEST(CriticalPath, AJoinWaitsForTheLastToSendWhicheverItTakesFirst) {
  ProgramOfItsOwn run;
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId early = program.thread("early");
  const TrackId late = program.thread("late");
  program.frame(main);
  program.scope(early, "part", 100);
  program.flow(early, 1, FlowPhase::begin);
  program.scope(late, "part", 900);
  program.flow(late, 2, FlowPhase::begin);
  program.open(main, "join");
  program.run(main, 930);
  program.flow(main, 1, FlowPhase::end);
  program.run(main, 5);
  program.flow(main, 2, FlowPhase::end);
  program.run(main, 5);
  program.close(main);
  program.frame(main);
  const Owned expected{{{"", "computing", "join", "main"}, 10},
                       {{"join/", "computing", "part", "late"}, 900},
                       {{"join/", "waking", "join", "main"}, 30}};
  EXPECT_EQ(run.owned_by_frame().front(), expected);
}

TEST(CriticalPath, AWaitThatAThreadEndedBelongsToWhatThatThreadDidMeanwhile) {
  ProgramOfItsOwn run(true);
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId worker = program.thread("worker");
  const TrackId reader = program.thread("reader");
  program.frame(main);
  program.open(reader, "read");
  program.run(reader, 350);
  program.close(reader);
  program.wake(worker, program.thread_of(reader), 350);
  program.scope(worker, "prepare", 200);
  program.open(worker, "await data");
  program.block(worker, 160);
  program.close(worker);
  program.scope(worker, "decode", 140);
  program.wake(main, program.thread_of(worker), 500);
  program.run(main, 100);
  program.open(main, "join");
  program.block(main, 430);
  program.close(main);
  program.run(main, 20);
  program.frame(main);
  const Owned expected{{{"", "computing", "", "main"}, 120},
                       {{"join/", "computing", "prepare", "worker"}, 100},
                       {{"join/await data/", "computing", "read", "reader"}, 150},
                       {{"join/await data/", "waking", "await data", "worker"}, 10},
                       {{"join/", "computing", "decode", "worker"}, 140},
                       {{"join/", "waking", "join", "main"}, 30}};
  EXPECT_EQ(run.owned_by_frame().front(), expected);
}

/// Neither who woke it before, nor what an interrupt ended, says what a wait was for.
TEST(CriticalPath, AWaitThatAThreadWithoutScopesEndedBelongsToIt) {
  ProgramOfItsOwn run(true);
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const ThreadId pool = program.observed("pool", 1);
  program.frame(main);
  program.wake(main, pool, 40);
  program.run(main, 100);
  program.open(main, "join");
  program.block(main, 200);
  program.close(main);
  program.wake(main, pool, 290);
  program.open(main, "sleep");
  program.block(main, 50);
  program.close(main);
  program.run(main, 10);
  program.frame(main);
  const Owned expected{{{"", "computing", "", "main"}, 110},
                       {{"join/", "held", "thread pool", "main"}, 190},
                       {{"join/", "waking", "join", "main"}, 10},
                       {{"", "blocked", "sleep", "main"}, 50}};
  EXPECT_EQ(run.owned_by_frame().front(), expected);
}

TEST(CriticalPath, AThreadWithoutScopesIsFollowedByItsRunStates) {
  ProgramOfItsOwn run(true);
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId reader = program.thread("reader");
  const TrackId pool = program.thread_without_scopes("pool");
  const TrackId disk = program.thread_without_scopes("disk");
  program.frame(main);
  program.block(pool, 80);
  program.run(pool, 120);
  program.push_off(pool, 50);
  program.block(pool, 130);
  program.scope(reader, "read", 370);
  program.wake(pool, program.thread_of(reader), 370);
  program.run(pool, 20);
  program.block(pool, 60);
  program.run(disk, 450);
  program.wake(pool, program.thread_of(disk), 450);
  program.run(pool, 40);
  program.wake(main, program.thread_of(pool), 490);
  program.run(main, 100);
  program.open(main, "join");
  program.block(main, 400);
  program.close(main);
  program.frame(main);
  const Owned expected{{{"", "computing", "", "main"}, 100},
                       {{"join/", "computing", "thread pool", "pool"}, 100 + 20 + 30},
                       {{"join/", "pushed_off", "thread pool", "pool"}, 50},
                       {{"join/thread pool/", "computing", "read", "reader"}, 120},
                       {{"join/thread pool/", "waking", "thread pool", "pool"}, 10 + 10},
                       {{"join/thread pool/", "computing", "thread disk", "disk"}, 50},
                       {{"join/", "waking", "join", "main"}, 10}};
  EXPECT_EQ(run.owned_by_frame().front(), expected);
}

TEST(OwnerTable, AThreadWithoutScopesIsSpokenOfAsItsProcessOrAnotherSees) {
  ProgramOfItsOwn run(true);
  // Numbers of threads follow each other from 101 on.
  const ThreadId main = run.program.observed("java", 101);
  const ThreadId unnamed = run.program.observed("java", 101);
  const ThreadId reader = run.program.observed("reader", 101);
  const ThreadId alike = run.program.observed("java", 104);
  const ThreadId gzip = run.program.observed("gzip", 105);
  const ThreadId worker = run.program.observed("gzip", 105);
  const ThreadId writer = run.program.observed("writer", 105);
  const ThreadId stranger = run.program.observed("sleep", 999);
  run.program.finish();
  const Timeline timeline(run.path);
  OwnerTable owners(timeline);
  const auto words = [&](ThreadId thread) { return owners.subject(owners.subject_of(thread, 101)).name; };
  EXPECT_EQ(words(main), "the main thread");
  EXPECT_EQ(words(unnamed), "another thread");
  EXPECT_EQ(words(reader), "thread reader");
  EXPECT_EQ(words(alike), "another java");
  EXPECT_EQ(words(gzip), "gzip");
  EXPECT_EQ(words(worker), "a thread of gzip");
  EXPECT_EQ(words(writer), "thread writer of gzip");
  EXPECT_EQ(words(stranger), "thread sleep") << "its process is not known";
  EXPECT_EQ(owners.subject(owners.subject_of(main, 105)).name, "java");
}

/// Eight waits end with the pass, and one 900 us after it. A thread that only sleeps meanwhile waited for nothing.
TEST(CriticalPath, AWaitForAQueueThatGoesOnLateIsStillOneForTheQueue) {
  ProgramOfItsOwn run(true);
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId queue = program.queue("GPU 0");
  constexpr std::int64_t us = 1'000;
  program.frame(main);
  for (int frame = 0; frame < 9; ++frame) {
    const bool is_late = frame == 5;
    const std::int64_t start_ns = program.now(main);
    program.work(queue, "pass", start_ns, start_ns + 2'000 * us);
    program.open(main, "present");
    program.block(main, (is_late ? 2'900 : 2'010) * us);
    program.close(main);
    program.open(main, "sleep");
    program.work(queue, "copy", program.now(main), program.now(main) + 100 * us);
    program.block(main, 3'000 * us);
    program.close(main);
    program.frame(main);
  }
  const std::vector<Owned> owned = run.owned_by_frame();
  for (int frame = 0; frame < 9; ++frame) {
    const Owned expected{{{"present/", "queue", "pass", "GPU 0"}, 2'000 * us},
                         {{"present/", "waking", "present", "main"}, (frame == 5 ? 900 : 10) * us},
                         {{"", "blocked", "sleep", "main"}, 3'000 * us}};
    EXPECT_EQ(owned.at(static_cast<std::size_t>(frame)), expected) << "frame " << frame;
  }
}

/// Eight times the thread polls until the pass is done. A scope that once ends with it computed.
TEST(CriticalPath, AThreadThatRunsUntilWorkIsDoneThatItHandedInBeforeWaitsForTheQueue) {
  ProgramOfItsOwn run(true);
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId queue = program.queue("GPU 0");
  constexpr std::int64_t us = 1'000;
  program.frame(main);
  for (int frame = 0; frame < 8; ++frame) {
    program.open(main, "submit");
    const std::int64_t start_ns = program.now(main) + 100 * us;
    program.hand_in(main, queue, "pass", start_ns, start_ns + 3'000 * us);
    program.run(main, 100 * us);
    program.close(main);
    program.scope(main, "update", frame == 5 ? 990 * us : 1'000 * us);
    program.open(main, "synchronize");
    program.run(main, 500 * us);
    program.push_off(main, 10 * us);
    program.run(main, start_ns + 3'010 * us - program.now(main));
    program.close(main);
    const std::int64_t copy_ns = program.now(main);
    program.hand_in(main, queue, "copy", copy_ns, copy_ns + 400 * us);
    program.scope(main, "update", frame == 3 ? 410 * us : 1'000 * us);
    program.frame(main);
  }
  const std::vector<Owned> owned = run.owned_by_frame();
  for (int frame = 0; frame < 8; ++frame) {
    const std::int64_t before_us = frame == 5 ? 990 : 1'000;
    const std::int64_t after_us = frame == 3 ? 410 : 1'000;
    const Owned expected{{{"", "computing", "submit", "main"}, 100 * us},
                         {{"", "computing", "update", "main"}, (before_us + after_us) * us},
                         {{"", "pushed_off", "synchronize", "main"}, 10 * us},
                         {{"synchronize/", "queue", "pass", "GPU 0"}, (3'000 - before_us - 10) * us},
                         {{"", "computing", "synchronize", "main"}, 10 * us}};
    EXPECT_EQ(owned.at(static_cast<std::size_t>(frame)), expected) << "frame " << frame;
  }
}

/// The queue waits for the thread: its work begins and ends with the scope that hands it in.
TEST(CriticalPath, AThreadThatHandsWorkInAsQuicklyAsItIsDoneComputes) {
  for (const bool has_states : {false, true}) {
    ProgramOfItsOwn run(has_states);
    MadeUpProgram& program = run.program;
    const TrackId main = program.thread("main");
    const TrackId queue = program.queue("GPU 0");
    constexpr std::int64_t us = 1'000;
    program.frame(main);
    for (int frame = 0; frame < 8; ++frame) {
      program.open(main, "submit");
      const std::int64_t start_ns = program.now(main);
      program.hand_in(main, queue, "pass", start_ns + 5 * us, start_ns + 490 * us);
      program.run(main, 500 * us);
      program.close(main);
      program.frame(main);
    }
    const Owned expected{{{"", "computing", "submit", "main"}, 500 * us}};
    for (const Owned& owned : run.owned_by_frame()) {
      EXPECT_EQ(owned, expected);
    }
  }
}

TEST(CriticalPath, ThreadsThatWaitForEachOtherEnd) {
  ProgramOfItsOwn run;
  MadeUpProgram& program = run.program;
  const TrackId main = program.thread("main");
  const TrackId other = program.thread("other");
  program.frame(main);
  program.hold("x", "other", 0, 1'000);
  program.hold("y", "main", 0, 1'000);
  program.wait_for_lock(main, "x", "other", 1'000);
  program.wait_for_lock(other, "y", "main", 1'000);
  program.frame(main);
  EXPECT_EQ(sum_of(run.owned_by_frame().front()), 1'000);
}

}  // namespace
}  // namespace kymo::stats
