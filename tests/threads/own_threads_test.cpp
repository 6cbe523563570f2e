// The run states of this process's own threads.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/system/clock.hpp"
#include "support/wait_until.hpp"
#include "threads/states/entry.hpp"
#include "threads/states/own_threads.hpp"

namespace kymo::threads {
namespace {

class OwnThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const Refusal refusal = check_switch_events(); refusal.error != 0) {
      GTEST_SKIP() << refusal.reason;
    }
  }
};

std::set<std::string> perf_descriptors() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error).string().find("perf_event") != std::string::npos) {
      found.insert(entry.path().filename().string());
    }
  }
  return found;
}

std::uint32_t own_tid() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

/// The time that the batch gives the thread in a state.
std::int64_t time_in(const EventBatch& batch, std::uint32_t tid, RunState state) {
  std::int64_t sum_ns = 0;
  for (const ThreadDeclaration& thread : batch.declarations.threads) {
    for (const StateRun& run : batch.states) {
      for (const ThreadState& part : run.states) {
        sum_ns += thread.os_thread_id == tid && run.thread == thread.id && part.state == state ? part.duration_ns : 0;
      }
    }
  }
  return sum_ns;
}

bool wait_for_answer(const OwnThreads& threads) {
  return test::wait_until([&threads] { return threads.has_answer(); });
}

/// The same of what kymo_begin_states_v1() began, by what it says first.
bool wait_for_answer() {
  return test::wait_until([] {
    EventBatch batch;
    return kymo_take_states_v2(&batch, record::Observation::more);
  });
}

void sleep_30ms() {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

TEST_F(OwnThreadsTest, AThreadThatBeganBeforeAndOneThatBeganLaterAreBothKnown) {
  OwnThreads threads;
  ASSERT_TRUE(wait_for_answer(threads));
  std::uint32_t tid = 0;
  std::thread([&tid] {
    tid = own_tid();
    sleep_30ms();
  }).join();
  sleep_30ms();
  EventBatch batch;
  ASSERT_TRUE(threads.take_last(batch));
  EXPECT_GE(time_in(batch, tid, RunState::blocked), 29'000'000);
  const auto& infos = batch.declarations.infos;
  const auto switches =
      std::find_if(infos.begin(), infos.end(), [](const auto& info) { return info.key == "record.threads_switches"; });
  ASSERT_NE(switches, infos.end()) << "what a comparison of configurations leaves out";
  EXPECT_GE(std::stoull(switches->value), 2U);
  EXPECT_GE(time_in(batch, own_tid(), RunState::blocked), 29'000'000);
}

TEST_F(OwnThreadsTest, TheThreadThatBeganItIsKnownToRunFromThenOnUnlessItLeftItsCpu) {
  bool has_stayed = false;
  for (int round = 0; round < 50 && !has_stayed; ++round) {
    const RunningThread before = RunningThread::calling();
    OwnThreads threads;
    const std::int64_t begun_ns = base::monotonic_now_ns();
    while (!threads.has_answer()) {
      // The kernel makes the other thread wait, not this one.
    }
    const RunningThread asked = RunningThread::calling();
    has_stayed = asked.switches == before.switches;
    EventBatch batch;
    ASSERT_TRUE(threads.take_last(batch));
    const std::int64_t known_ns = time_in(batch, own_tid(), RunState::running);
    if (has_stayed) {
      EXPECT_GE(known_ns, asked.time_ns - begun_ns);
    }
  }
  if (!has_stayed) {
    GTEST_SKIP() << "this thread never kept its CPU for so long";
  }
}

TEST_F(OwnThreadsTest, AForkedChildClosesWhatItInheritedAndObservesItself) {
  ASSERT_TRUE(kymo_begin_states_v1(true));
  ASSERT_TRUE(wait_for_answer());
  ASSERT_FALSE(perf_descriptors().empty());
  const pid_t child = ::fork();
  if (child == 0) {
    kymo_forget_states_v1();
    bool is_right = perf_descriptors().empty() && kymo_begin_states_v1(true) && wait_for_answer();
    sleep_30ms();
    EventBatch batch;
    is_right = kymo_take_states_v2(&batch, record::Observation::last) && is_right;
    is_right = is_right && time_in(batch, own_tid(), RunState::blocked) >= 29'000'000;
    ::_exit(is_right ? 0 : 1);
  }
  sleep_30ms();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EventBatch batch;
  ASSERT_TRUE(kymo_take_states_v2(&batch, record::Observation::last));
  EXPECT_GE(time_in(batch, own_tid(), RunState::blocked), 29'000'000) << "the parent's go on";
  for (const ThreadDeclaration& thread : batch.declarations.threads) {
    EXPECT_EQ(thread.pid, static_cast<std::uint64_t>(::getpid())) << "another process's threads are its own affair";
  }
  EXPECT_TRUE(perf_descriptors().empty());
}

TEST_F(OwnThreadsTest, AProgramThatClosesAllDescriptorsHasUnknownStatesThenNotWrongOnes) {
  OwnThreads threads;
  ASSERT_TRUE(wait_for_answer(threads));
  for (const std::string& number : perf_descriptors()) {
    ::close(std::stoi(number));
  }
  const std::int64_t closed_ns = base::monotonic_now_ns();
  sleep_30ms();
  EventBatch batch;
  ASSERT_TRUE(threads.take_last(batch));
  for (const StateRun& run : batch.states) {
    EXPECT_LE(run.states.back().end_ns(), closed_ns);
  }
  const auto& infos = batch.declarations.infos;
  EXPECT_TRUE(std::any_of(infos.begin(), infos.end(), [](const auto& info) { return info.key == "threads.refused"; }));
}

TEST_F(OwnThreadsTest, ItLeavesTheProgramItsDescriptors) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit few = limit;
  few.rlim_cur = 7;
  const auto before = perf_descriptors();
  std::promise<void> end;
  std::thread other([done = end.get_future()] { done.wait(); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  SwitchEvents events;
  const Refusal refusal = events.attach_own(RunningThread::calling());
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &few), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  end.set_value();
  other.join();
  EXPECT_EQ(few.rlim_cur, 7U) << "the limit is the program's";
  EXPECT_EQ(refusal.error, EMFILE);
  EXPECT_EQ(perf_descriptors(), before);
}

}  // namespace
}  // namespace kymo::threads
