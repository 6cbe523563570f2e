#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "threads/states/run_states.hpp"

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;

KernelRecord make(Kind kind, std::int64_t time_ns, std::uint32_t tid, std::uint32_t cpu = 0) {
  KernelRecord record;
  record.kind = kind;
  record.time_ns = time_ns;
  record.pid = 100;
  record.tid = tid;
  record.cpu = cpu;
  return record;
}

KernelRecord fork_of(std::uint32_t parent, std::int64_t time_ns, std::uint32_t tid) {
  KernelRecord record = make(Kind::forked, time_ns, tid);
  record.parent_tid = parent;
  return record;
}

KernelRecord name_of_thread(std::uint32_t tid, std::int64_t time_ns, const std::string& name, bool is_exec = false) {
  KernelRecord record = make(Kind::named, time_ns, tid);
  record.name = name;
  record.is_exec = is_exec;
  return record;
}

/// "running 10-20" of each thread, by its name or number.
using Described = std::map<std::uint64_t, std::vector<std::string>>;

Described collect(RunStates& states, std::int64_t now_ns, std::int64_t most_open_ns = 0,
                  std::map<ThreadId, std::uint64_t>* tids = nullptr) {
  std::map<ThreadId, std::uint64_t> own;
  std::map<ThreadId, std::uint64_t>& known = tids != nullptr ? *tids : own;
  EventBatch batch;
  states.collect(now_ns, most_open_ns, batch);
  for (const ThreadDeclaration& thread : batch.declarations.threads) {
    known[thread.id] = thread.os_thread_id;
  }
  Described all;
  for (const StateRun& run : batch.states) {
    for (const ThreadState& state : run.states) {
      EXPECT_GE(state.start_ns, batch.start_ns);
      EXPECT_LE(state.end_ns(), batch.end_ns);
      all[known.at(run.thread)].push_back(std::string(name_of(state.state)) + " " + std::to_string(state.start_ns) +
                                          "-" + std::to_string(state.end_ns()) + " on " + std::to_string(state.cpu));
    }
  }
  return all;
}

void take_all(RunStates& states, const std::vector<KernelRecord>& records) {
  for (const KernelRecord& record : records) {
    states.take(record);
  }
}

/// Wakes as "woken by waker at time", by the numbers of the threads.
std::vector<std::string> wakes_of(RunStates& states) {
  EventBatch batch;
  states.collect(1'000'000'000, 0, batch);
  std::map<ThreadId, std::uint64_t> tids;
  for (const ThreadDeclaration& thread : batch.declarations.threads) {
    tids[thread.id] = thread.os_thread_id;
  }
  std::vector<std::string> wakes;
  for (const ThreadWake& wake : batch.wakes) {
    wakes.push_back(std::to_string(tids.at(wake.thread)) + " by " + std::to_string(tids.at(wake.waker)) + " at " +
                    std::to_string(wake.time_ns));
  }
  return wakes;
}

/// Process 200, a child of 100, begins at 10 and ends at 50 000 while 100 waits from 20 on, and goes on at a time.
std::vector<KernelRecord> end_of_a_child(std::int64_t goes_on_ns) {
  KernelRecord begins = fork_of(100, 10, 200);
  begins.pid = 200;
  KernelRecord runs = make(Kind::switched_in, 15, 200);
  runs.pid = 200;
  KernelRecord ends = make(Kind::exited, 50'000, 200);
  ends.pid = 200;
  ends.parent_pid = 100;
  return {make(Kind::switched_in, 5, 100), begins, runs,
          make(Kind::blocked, 20, 100),    ends,   make(Kind::switched_in, goes_on_ns, 100)};
}

TEST(RunStates, TheEndOfAProcessEndsTheWaitOfItsParent) {
  RunStates states;
  take_all(states, end_of_a_child(60'000));
  EXPECT_EQ(wakes_of(states), std::vector<std::string>{"100 by 200 at 50000"});
}

TEST(RunStates, AParentThatGoesOnLaterWasWokenBySomethingElse) {
  RunStates states;
  take_all(states, end_of_a_child(50'050'001));
  EXPECT_EQ(wakes_of(states), std::vector<std::string>());
}

/// The end of the child, where the wait's stack tells what the parent waits for.
std::vector<std::string> wakes_of_a_parent_that_waits_for(WaitEnd end, std::int64_t goes_on_ns) {
  RunStates states;
  states.set_read_wait([end](std::span<const std::uint64_t> chain) {
    EXPECT_EQ(std::vector(chain.begin(), chain.end()), std::vector<std::uint64_t>{7});
    return end;
  });
  std::vector<KernelRecord> records = end_of_a_child(goes_on_ns);
  KernelRecord leaves = make(Kind::leaving, 20, 100);
  leaves.kernel_chain = {7};
  records.insert(records.begin() + 3, leaves);
  take_all(states, records);
  return wakes_of(states);
}

TEST(RunStates, AParentThatWaitsForChildrenHasASecondToGoOn) {
  EXPECT_EQ(wakes_of_a_parent_that_waits_for(WaitEnd::child, 900'000'000).size(), 1U);
  EXPECT_EQ(wakes_of_a_parent_that_waits_for(WaitEnd::child, 1'000'050'001).size(), 0U);
}

TEST(RunStates, WhoSleepsIsNotWokenByTheEndOfAChild) {
  EXPECT_EQ(wakes_of_a_parent_that_waits_for(WaitEnd::unknown, 60'000).size(), 1U);
  EXPECT_EQ(wakes_of_a_parent_that_waits_for(WaitEnd::timer, 60'000).size(), 0U);
}

TEST(RunStates, AThreadThatDidNotStartTheChildIsNotWokenByItsEnd) {
  RunStates states;
  std::vector<KernelRecord> records = end_of_a_child(70'000);
  records.insert(records.begin() + 1,
                 {fork_of(100, 6, 101), make(Kind::switched_in, 7, 101), make(Kind::blocked, 8, 101)});
  records.insert(records.end() - 1, make(Kind::switched_in, 60'000, 101));
  take_all(states, records);
  EXPECT_EQ(wakes_of(states), std::vector<std::string>{"100 by 200 at 50000"});
}

TEST(RunStates, AWaitThatIsHandedOverInPartsIsEndedByTheEndOfAProcessAllTheSame) {
  RunStates states;
  std::vector<KernelRecord> records = end_of_a_child(45'000'000);
  const KernelRecord goes_on = records.back();
  records.pop_back();
  take_all(states, records);
  std::map<ThreadId, std::uint64_t> tids;
  collect(states, 30'000'000, 1'000, &tids);
  states.take(goes_on);
  EventBatch batch;
  states.collect(800'000'000, 1'000, batch);
  ASSERT_EQ(batch.wakes.size(), 1U);
  EXPECT_EQ(tids.at(batch.wakes.front().thread), 100U);
  EXPECT_EQ(batch.wakes.front().time_ns, 50'000);
}

TEST(RunStates, TheEndOfAProcessEndsOneWaitOnly) {
  RunStates states;
  take_all(states, end_of_a_child(60'000));
  take_all(states, {make(Kind::blocked, 70'000, 100), make(Kind::switched_in, 80'000, 100)});
  EXPECT_EQ(wakes_of(states).size(), 1U);
}

TEST(RunStates, AWaitThatBeganAfterTheEndIsNotEndedByIt) {
  RunStates states;
  std::vector<KernelRecord> records = end_of_a_child(60'000);
  records[3].time_ns = 50'500;
  std::swap(records[3], records[4]);
  take_all(states, records);
  EXPECT_EQ(wakes_of(states), std::vector<std::string>());
}

/// The main thread waits from 20 on, and goes on at a time. Thread 101 runs, and ends at another time.
std::vector<KernelRecord> end_of_a_thread(std::int64_t ends_ns, std::int64_t goes_on_ns, std::int64_t runs_ns = 15) {
  std::vector<KernelRecord> records{make(Kind::switched_in, 5, 100),       fork_of(100, 10, 101),
                                    make(Kind::switched_in, runs_ns, 101), make(Kind::blocked, 20, 100),
                                    make(Kind::exited, ends_ns, 101),      make(Kind::switched_in, goes_on_ns, 100)};
  std::stable_sort(records.begin(), records.end(),
                   [](const KernelRecord& a, const KernelRecord& b) { return a.time_ns < b.time_ns; });
  return records;
}

TEST(RunStates, TheEndOfAThreadEndsTheWaitOfOneThatGoesOnSoonAfter) {
  RunStates states;
  take_all(states, end_of_a_thread(50'000, 100'000));
  EXPECT_EQ(wakes_of(states), std::vector<std::string>{"100 by 101 at 50000"});
}

TEST(RunStates, AThreadThatGoesOnLongAfterTheEndOfAnotherWasWokenBySomethingElse) {
  RunStates states;
  take_all(states, end_of_a_thread(50'000, 550'001));
  EXPECT_EQ(wakes_of(states), std::vector<std::string>());
}

TEST(RunStates, TheEndOfAThreadMayBeRecordedShortlyAfterTheWaitThatItEnds) {
  RunStates states;
  take_all(states, end_of_a_thread(300'000, 100'000));
  EXPECT_EQ(wakes_of(states), std::vector<std::string>{"100 by 101 at 100000"});
  RunStates later;
  take_all(later, end_of_a_thread(300'001, 100'000));
  EXPECT_EQ(wakes_of(later), std::vector<std::string>());
}

TEST(RunStates, AThreadThatDidNotRunYetEndedNoWait) {
  RunStates states;
  take_all(states, end_of_a_thread(200'000, 100'000, 150'000));
  EXPECT_EQ(wakes_of(states), std::vector<std::string>());
}

TEST(RunStates, TheEndOfAThreadOfAnotherProcessEndsNoWait) {
  RunStates states;
  std::vector<KernelRecord> records = end_of_a_thread(50'000, 100'000);
  for (KernelRecord& record : records) {
    record.pid = record.tid == 101 ? 300 : record.pid;
  }
  take_all(states, records);
  EXPECT_EQ(wakes_of(states), std::vector<std::string>());
}

TEST(RunStates, TheThreadThatEndsItsProcessEndsTheWaitsOfAllOthers) {
  RunStates states;
  take_all(states, {make(Kind::switched_in, 1, 100), fork_of(100, 2, 101), fork_of(100, 3, 102),
                    make(Kind::switched_in, 4, 101), make(Kind::switched_in, 5, 102), make(Kind::blocked, 6, 101),
                    make(Kind::blocked, 7, 100), make(Kind::exited, 1'000'000, 102),
                    make(Kind::switched_in, 1'030'000, 101), make(Kind::exited, 1'040'000, 101),
                    make(Kind::switched_in, 1'050'000, 100), make(Kind::exited, 1'060'000, 100)});
  EXPECT_EQ(wakes_of(states), (std::vector<std::string>{"101 by 102 at 1000000", "100 by 102 at 1000000"}));
}

TEST(RunStates, OfThreadsThatEndOneAfterTheOtherTheFirstInAWaitEndedIt) {
  RunStates states;
  take_all(states, {make(Kind::switched_in, 1, 100), fork_of(100, 2, 101), fork_of(100, 3, 102),
                    make(Kind::switched_in, 4, 101), make(Kind::switched_in, 5, 102), make(Kind::blocked, 6, 101),
                    make(Kind::exited, 1'000'000, 102), make(Kind::switched_in, 1'030'000, 101),
                    make(Kind::blocked, 1'050'000, 100), make(Kind::exited, 1'200'000, 101),
                    make(Kind::switched_in, 1'230'000, 100)});
  EXPECT_EQ(wakes_of(states), (std::vector<std::string>{"101 by 102 at 1000000", "100 by 101 at 1200000"}));
}

TEST(RunStates, TheKernelsWordAboutAWakeIsPreferred) {
  RunStates states;
  std::vector<KernelRecord> records = end_of_a_child(60'000);
  KernelRecord wake = make(Kind::waking, 30'000, 101);
  wake.woken_tid = 100;
  records.insert(records.begin() + 4, wake);
  records.insert(records.begin(), make(Kind::switched_in, 1, 101));
  take_all(states, records);
  EXPECT_EQ(wakes_of(states), std::vector<std::string>{"100 by 101 at 30000"});
}

TEST(RunStates, AWakeIsKeptIfItEndedAWait) {
  const auto wake = [](std::int64_t time_ns, std::uint32_t waker, std::uint32_t woken) {
    KernelRecord record = make(Kind::waking, time_ns, waker);
    record.woken_tid = woken;
    return record;
  };
  RunStates states;
  take_all(states, {make(Kind::switched_in, 10, 100), make(Kind::switched_in, 10, 101), wake(15, 100, 101),
                    make(Kind::blocked, 20, 101), wake(30, 999, 101), wake(31, 100, 998), wake(32, 100, 101),
                    make(Kind::switched_in, 40, 101), make(Kind::pushed_off, 50, 101), wake(60, 100, 101)});
  EventBatch batch;
  states.collect(200, 0, batch);
  std::map<ThreadId, std::uint64_t> tids;
  for (const ThreadDeclaration& thread : batch.declarations.threads) {
    tids[thread.id] = thread.os_thread_id;
  }
  ASSERT_EQ(batch.wakes.size(), 1U);
  EXPECT_EQ(tids[batch.wakes[0].thread], 101U);
  EXPECT_EQ(tids[batch.wakes[0].waker], 100U);
  EXPECT_EQ(batch.wakes[0].time_ns, 32);
  states.collect(200, 0, batch);
  EXPECT_TRUE(batch.wakes.empty());
}

TEST(RunStates, FollowAThreadFromItsForkToItsEnd) {
  RunStates states;
  take_all(states,
           {make(Kind::switched_in, 10, 100, 1), fork_of(100, 15, 101), make(Kind::switched_in, 20, 101, 1),
            make(Kind::pushed_off, 30, 101, 1), make(Kind::switched_in, 45, 101, 0), make(Kind::blocked, 50, 101, 0),
            make(Kind::switched_in, 80, 101, 0), make(Kind::exited, 90, 101, 0)});
  const Described expected{{100, {"running 10-200 on 1"}},
                           {101,
                            {"runnable 15-20 on 0", "running 20-30 on 1", "runnable 30-45 on 1", "running 45-50 on 0",
                             "blocked 50-80 on 0", "running 80-90 on 0"}}};
  EXPECT_EQ(collect(states, 200), expected);
  EXPECT_EQ(states.switches(), 6U);
}

TEST(RunStates, WhatLastsIsCutAndGoesOn) {
  RunStates states;
  std::map<ThreadId, std::uint64_t> tids;
  take_all(states, {make(Kind::switched_in, 10, 100), make(Kind::blocked, 20, 100)});
  EXPECT_EQ(collect(states, 30, 100, &tids), (Described{{100, {"running 10-20 on 0"}}}));
  EXPECT_EQ(collect(states, 150, 100, &tids), (Described{{100, {"blocked 20-150 on 0"}}}));
  states.take(make(Kind::switched_in, 160, 100));
  EXPECT_EQ(collect(states, 170, 100, &tids), (Described{{100, {"blocked 150-160 on 0"}}}));
}

TEST(RunStates, ALossLeavesAGapInEveryThread) {
  RunStates states;
  take_all(states, {make(Kind::switched_in, 10, 100), make(Kind::switched_in, 12, 101, 1)});
  states.lose(50, 70);
  // Within the loss another switch may have followed each of these.
  take_all(states, {make(Kind::blocked, 60, 100), make(Kind::switched_in, 80, 100), make(Kind::pushed_off, 90, 100),
                    make(Kind::blocked, 95, 101, 1)});
  const Described expected{{100, {"running 10-50 on 0", "running 80-90 on 0", "runnable 90-100 on 0"}},
                           {101, {"running 12-50 on 1", "blocked 95-100 on 1"}}};
  EXPECT_EQ(collect(states, 100), expected);
}

TEST(RunStates, ARecordOfBeforeALossThatComesBehindItOverlapsNothing) {
  RunStates states;
  states.take(make(Kind::switched_in, 10, 100));
  states.lose(50, 55);
  take_all(states, {make(Kind::blocked, 30, 100), make(Kind::switched_in, 60, 100)});
  EXPECT_EQ(collect(states, 70), (Described{{100, {"running 10-50 on 0", "running 60-70 on 0"}}}));
}

TEST(RunStates, AStretchWhoseEndsDisagreeIsNotKnown) {
  RunStates states;
  take_all(states, {make(Kind::switched_in, 10, 100), make(Kind::switched_in, 30, 100), make(Kind::blocked, 40, 100),
                    make(Kind::blocked, 50, 100), make(Kind::switched_in, 60, 100)});
  EXPECT_EQ(collect(states, 70),
            (Described{{100, {"running 30-40 on 0", "blocked 50-60 on 0", "running 60-70 on 0"}}}));
}

TEST(RunStates, ARecordThatComesTooLateMakesNothingUp) {
  RunStates states;
  take_all(states, {make(Kind::switched_in, 50, 100), make(Kind::blocked, 40, 100), make(Kind::switched_in, 60, 100)});
  EXPECT_EQ(collect(states, 70), (Described{{100, {"running 60-70 on 0"}}}));
}

TEST(RunStates, AnExecEndsTheOtherThreadsOfItsProcess) {
  RunStates states;
  // Thread 101 calls execve and goes on as 100.
  take_all(states, {make(Kind::switched_in, 10, 101), make(Kind::blocked, 12, 100),
                    name_of_thread(100, 20, "new", true), make(Kind::blocked, 30, 100)});
  const Described found = collect(states, 1000);
  EXPECT_EQ(found.count(101), 0U);
  EXPECT_EQ(found.at(100), (std::vector<std::string>{"blocked 30-1000 on 0"}));
}

TEST(RunStates, ANumberThatTheKernelUsesAgainIsAnotherThread) {
  RunStates states;
  take_all(states, {fork_of(100, 10, 101), make(Kind::switched_in, 11, 101), make(Kind::exited, 20, 101),
                    fork_of(100, 30, 101), make(Kind::switched_in, 31, 101)});
  EventBatch batch;
  states.collect(40, 0, batch);
  ASSERT_EQ(batch.declarations.threads.size(), 2U);
  EXPECT_EQ(batch.declarations.threads[0].os_thread_id, batch.declarations.threads[1].os_thread_id);
  EXPECT_NE(batch.declarations.threads[0].id, batch.declarations.threads[1].id);
}

TEST(RunStates, AThreadHasItsCreatorsNameUntilItGetsItsOwn) {
  RunStates states;
  take_all(states, {name_of_thread(100, 5, "program"), fork_of(100, 10, 101)});
  EventBatch batch;
  states.collect(20, 0, batch);
  for (const ThreadDeclaration& thread : batch.declarations.threads) {
    EXPECT_EQ(thread.name, "program");
  }
  states.take(name_of_thread(101, 25, "worker"));
  states.collect(30, 0, batch);
  ASSERT_EQ(batch.declarations.threads.size(), 1U);
  EXPECT_EQ(batch.declarations.threads[0].name, "worker");
}

}  // namespace
}  // namespace kymo::threads
