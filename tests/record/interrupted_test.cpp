// Recording in signal handlers, and past jumps out of them and out of scopes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kymo/kymo.hpp>

#include "record/hot/track_writer.hpp"
#include "record/recording_fixture.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#if defined(__GLIBC__) && !defined(KYMO_TEST_SANITIZED)
#define KYMO_TEST_COUNTS_ALLOCATIONS
#endif

#ifdef KYMO_TEST_COUNTS_ALLOCATIONS
namespace {
__thread int allocations = 0;
}

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
extern "C" void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
#endif

namespace kymo::record {
namespace {

using test::SeenScope;

std::vector<SeenScope> named(const std::vector<SeenScope>& scopes, std::string_view name) {
  std::vector<SeenScope> found;
  std::copy_if(scopes.begin(), scopes.end(), std::back_inserter(found),
               [name](const SeenScope& scope) { return scope.name == name; });
  return found;
}

class InterruptedTest : public RecordingTest {};

#ifdef KYMO_TEST_COUNTS_ALLOCATIONS
// Where a signal handler interrupted an allocation, the next one would wait for it.
TEST_F(InterruptedTest, AThreadsFirstEventAllocatesNothing) {
  std::vector<pthread_key_t> keys(40);
  for (pthread_key_t& key : keys) {
    ASSERT_EQ(::pthread_key_create(&key, nullptr), 0);
  }
  int counted = -1;
  std::thread([&counted] {
    allocations = 0;
    {
      KYMO_SCOPE("first", {"number", 1});
      KYMO_ARG("late", 0.5);
    }
    record_metric("first metric", 1);
    counted = allocations;
  }).join();
  for (const pthread_key_t key : keys) {
    ::pthread_key_delete(key);
  }
  EXPECT_EQ(counted, 0);
}
#endif

/// A stack for signal handlers below which nothing can be written.
class SmallStack {
 public:
  explicit SmallStack(std::size_t room) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t least = std::max<std::size_t>(::getauxval(AT_MINSIGSTKSZ), 2048);
    size_ = (least + room + page - 1) / page * page;
    mapping_ =
        static_cast<char*>(::mmap(nullptr, size_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(mapping_, page, PROT_NONE);
    stack_t stack{};
    // What the kernel needs, and `room`: not what the rounding adds.
    stack.ss_sp = mapping_ + page;
    stack.ss_size = least + room;
    ::sigaltstack(&stack, &previous_);
  }
  SmallStack(const SmallStack&) = delete;
  SmallStack& operator=(const SmallStack&) = delete;
  ~SmallStack() { ::sigaltstack(&previous_, nullptr); }  // the mapping stays: a late handler finds it

 private:
  std::size_t size_ = 0;
  char* mapping_ = nullptr;
  stack_t previous_{};
};

/// What docs/recording.md asks for beyond the kernel's own part.
constexpr std::size_t room_for_handlers = 4096;

std::atomic<int> handled{0};

void record_everything(int /*signal*/) {
  {
    KYMO_SCOPE("on a small stack", {"number", 1}, {"text", "some text"});
    KYMO_ARG("late", 2);
    KYMO_SCOPE_DYNAMIC("made on a small stack");
  }
  record_metric_unit("metric of a small stack", 1, "ms");
  frame_mark("frames of a small stack");
  message("a message from a small stack");
  AsyncSpan span("lane of a small stack", "span");
  span.argument({"text", "of a span"});
  span.end();
  emit_span(track("queue of a small stack"), "span", "category", std::chrono::nanoseconds(1),
            std::chrono::nanoseconds(1), {{"number", 1}, {"text", "of a span"}});
  handled = 1;
}

TEST_F(InterruptedTest, FirstEventsOnASmallSignalStackFit) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "what sanitizers and emulators add to frames is not the recorder's";
  }
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = record_everything;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR2, &action, &previous);
  handled = 0;
  std::thread([] {
    const SmallStack stack(room_for_handlers);
    ::raise(SIGUSR2);
  }).join();
  ::sigaction(SIGUSR2, &previous, nullptr);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(named(test::closed_scopes(recorded()), "on a small stack").size(), 1U);
}

/// As a signal handler leaves a thread that it interrupts in a write and then jumps out of.
void abandon_a_write() {
  ASSERT_NE(current_slot(), nullptr);
  detail::make_busy(current_slot()->own());
}

TEST_F(InterruptedTest, AThreadWhoseWriteWasAbandonedGoesOnRecording) {
  std::thread([] {
    { KYMO_SCOPE("before"); }
    abandon_a_write();
    for (int i = 0; i < 10; ++i) {
      KYMO_SCOPE("after");
    }
    abandon_a_write();
    { KYMO_SCOPE("after"); }
  }).join();
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(named(test::closed_scopes(batches), "before").size(), 1U);
  EXPECT_EQ(named(test::closed_scopes(batches), "after").size(), 11U);
  EXPECT_EQ(dropped_scopes(batches), 0U);
}

TEST_F(InterruptedTest, ScopesAroundAnAbandonedWriteEndWhereTheyEnd) {
  std::thread([] {
    {
      KYMO_SCOPE("outermost");
      {
        KYMO_SCOPE("outer");
        abandon_a_write();
        { KYMO_SCOPE("inner"); }
      }
      KYMO_SCOPE("sibling");
      abandon_a_write();
    }
    KYMO_SCOPE("after");
  }).join();
  const std::vector<EventBatch> batches = recorded();
  for (const char* name : {"outermost", "outer", "inner", "sibling", "after"}) {
    const std::vector<SeenScope> scopes = named(test::closed_scopes(batches), name);
    ASSERT_EQ(scopes.size(), 1U) << name;
    EXPECT_FALSE(scopes[0].is_forced) << name;
  }
  EXPECT_EQ(named(test::closed_scopes(batches), "outer")[0].depth, 1U);
  EXPECT_EQ(named(test::closed_scopes(batches), "sibling")[0].depth, 1U);
  EXPECT_EQ(dropped_scopes(batches), 0U);
}

TEST_F(InterruptedTest, AHandlerThatInterruptedAWriteTouchesNothingOfIt) {
  std::thread([] {
    { KYMO_SCOPE("before"); }
    TrackSlot& slot = *current_slot();
    const std::uint64_t key = slot.own().key;
    const std::uint64_t* const cursor = slot.cursor.load();
    abandon_a_write();
    // As in a handler: its signal is blocked.
    sigset_t blocked;
    sigset_t previous;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &previous);
    {
      KYMO_SCOPE("in the handler", {"number", 1});
      KYMO_ARG("late", 2);
    }
    EXPECT_EQ(current_slot(), &slot);
    EXPECT_EQ(slot.cursor.load(), cursor);
    EXPECT_EQ(slot.own().key, key | detail::busy_bit);
    EXPECT_EQ(slot.dropped_scopes.load(), 1U);
    ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    slot.own().key = key;
    { KYMO_SCOPE("after"); }
  }).join();
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::closed_scopes(batches).size(), 2U);
  EXPECT_EQ(dropped_scopes(batches), 1U);
}

sigjmp_buf escape;
std::atomic<bool> may_escape{false};

void escape_from_handler(int /*signal*/) {
  KYMO_SCOPE("handler");
  if (may_escape.exchange(false)) {
    ::siglongjmp(escape, 1);
  }
}

TEST_F(InterruptedTest, JumpsOutOfHandlersMuteNoThread) {
  if (test::has_sanitizer) {
    GTEST_SKIP() << "sanitizers hold signals back";
  }
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = escape_from_handler;
  ::sigaction(SIGUSR2, &action, &previous);
  constexpr auto jumps = test::rounds<int>(50);
  std::atomic<bool> is_done{false};
  std::thread jumping([&is_done] {
    const pthread_t self = ::pthread_self();
    std::atomic<bool> is_over{false};
    std::thread sender([&] {
      while (!is_over) {
        ::pthread_kill(self, SIGUSR2);
        std::this_thread::yield();
      }
    });
    volatile int jumped = 0;
    if (::sigsetjmp(escape, 1) != 0) {
      jumped = jumped + 1;
    }
    if (jumped < jumps) {
      may_escape = true;
      for (;;) {
        KYMO_SCOPE("interrupted", {"number", 1});
      }
    }
    is_over = true;
    sender.join();
    // There may be no room: the loop was fast.
    EXPECT_TRUE(Recorder::instance().flush(std::chrono::seconds(30)));
    for (int i = 0; i < 3; ++i) {
      KYMO_SCOPE("afterwards");
    }
    is_done = true;
  });
  jumping.join();
  ::sigaction(SIGUSR2, &previous, nullptr);
  EXPECT_TRUE(is_done);
  EXPECT_EQ(named(test::closed_scopes(recorded()), "afterwards").size(), 3U);
}

volatile std::sig_atomic_t noted = 0;

void count_signal(int /*signal*/) {
  noted = noted + 1;
}

TEST_F(InterruptedTest, NoHandlerButAFaultsInterruptsTheHolderOfALock) {
  struct sigaction action {};
  struct sigaction on_signal {};
  struct sigaction on_fault {};
  action.sa_handler = count_signal;
  ::sigaction(SIGUSR2, &action, &on_signal);
  ::sigaction(SIGBUS, &action, &on_fault);
  Recorder& recorder = Recorder::instance();
  const auto expect_held = [](auto& locked) {
    noted = 0;
    ASSERT_TRUE(locked.lock());
    ::raise(SIGUSR2);
    EXPECT_EQ(noted, 0) << "it waits";
    ::raise(SIGBUS);
    EXPECT_EQ(noted, 1) << "a fault cannot";
    locked.unlock();
    // A sanitizer may run a handler later than the kernel would.
    EXPECT_TRUE(test::wait_until([] { return noted == 2; }));
  };
  expect_held(recorder.names());
  expect_held(recorder.declarations());
  // As a fork takes both: signals wait for the last.
  noted = 0;
  ASSERT_TRUE(recorder.names().lock() && recorder.declarations().lock());
  ::raise(SIGUSR2);
  recorder.declarations().unlock();
  EXPECT_EQ(noted, 0);
  recorder.names().unlock();
  EXPECT_TRUE(test::wait_until([] { return noted == 1; }));
  ::sigaction(SIGUSR2, &on_signal, nullptr);
  ::sigaction(SIGBUS, &on_fault, nullptr);
}

/// A scope that its thread leaves without its end, as by longjmp.
void leave_a_scope() {
  static kymo_site site = {0, 0, "left", "", "", 0, KYMO_SITE_SCOPE};
  static_cast<void>(detail::open_scope(site));
}

TEST_F(InterruptedTest, ScopesThatAreLeftForEverStopNoThread) {
  constexpr int left = 60'000;
  std::thread([this] {
    KYMO_SCOPE("main");
    for (int i = 0; i < left; ++i) {
      leave_a_scope();
      if (i % 5'000 == 0) {
        static_cast<void>(recorded());
      }
    }
    { KYMO_SCOPE("after"); }
  }).join();
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(named(test::closed_scopes(batches), "left").size(), std::size_t{left});
  const std::vector<SeenScope> after = named(test::closed_scopes(batches), "after");
  ASSERT_EQ(after.size(), 1U);
  EXPECT_FALSE(after[0].is_forced);
  const std::vector<SeenScope> main = named(test::closed_scopes(batches), "main");
  ASSERT_EQ(main.size(), 1U);
  EXPECT_FALSE(main[0].is_forced);
  EXPECT_EQ(dropped_scopes(batches), 0U);
}

// NOLINTNEXTLINE(misc-no-recursion): that is what is tested
[[gnu::noinline]] int recurse(int levels) {
  KYMO_SCOPE("level");
  asm volatile("" ::: "memory");
  return levels > 1 ? recurse(levels - 1) + 1 : 1;
}

/// As those of coroutines, and of runtimes that have stacks of their own.
TEST_F(InterruptedTest, ThousandsOfScopesThatAreNotOnTheStackEndWhereTheyEnd) {
  static kymo_site site = {0, 0, "elsewhere", "", "", 0, KYMO_SITE_SCOPE};
  std::vector<detail::ScopeToken> tokens;
  for (int i = 0; i < 5'000; ++i) {
    tokens.push_back(detail::open_scope(site));
    for (int k = 0; k < 3; ++k) {
      KYMO_SCOPE("on the stack");
    }
  }
  for (; !tokens.empty(); tokens.pop_back()) {
    detail::close_scope(tokens.back());
  }
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  EXPECT_EQ(scopes.size(), 20'000U);
  EXPECT_TRUE(std::none_of(scopes.begin(), scopes.end(), [](const SeenScope& scope) { return scope.is_forced; }));
}

TEST_F(InterruptedTest, DeepRecursionIsNotTakenForScopesThatWereLeft) {
  constexpr int levels = 7'000;
  std::thread([] {
    for (int i = 0; i < 3; ++i) {
      recurse(levels);
      recurse(2'000);
    }
  }).join();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = named(test::closed_scopes(batches), "level");
  EXPECT_EQ(scopes.size(), 3U * (levels + 2'000U));
  EXPECT_EQ(dropped_scopes(batches), 0U);
  EXPECT_TRUE(std::none_of(scopes.begin(), scopes.end(), [](const SeenScope& scope) { return scope.is_forced; }));
}

TEST_F(InterruptedTest, WhatIsDeeperThanAChunkIsDroppedAndCountedAndTheRestIsWhole) {
  constexpr std::uint64_t levels = 12'000;
  std::thread([] {
    recurse(levels);
    recurse(100);
  }).join();
  const std::vector<EventBatch> batches = recorded();
  const std::vector<SeenScope> scopes = named(test::closed_scopes(batches), "level");
  EXPECT_GT(scopes.size(), 7'000U);
  EXPECT_EQ(scopes.size() + dropped_scopes(batches), levels + 100);
  EXPECT_TRUE(std::none_of(scopes.begin(), scopes.end(), [](const SeenScope& scope) { return scope.is_forced; }));
}

TEST_F(InterruptedTest, ADroppedScopeThatWasLeftMutesItsParentNoLonger) {
  std::thread([] {
    {
      KYMO_SCOPE("outer");
      { KYMO_SCOPE("inner"); }
      // Its name cannot be told apart: it is dropped, and left.
      static_cast<void>(detail::drop_scope());
      KYMO_ARG("lost", 1);
    }
    KYMO_SCOPE("outer");
    KYMO_SCOPE("inner");
    KYMO_ARG("kept", 1);
  }).join();
  std::vector<std::string> names;
  const std::vector<EventBatch> batches = recorded();
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      for (const ScopeArgument& argument : run.arguments) {
        names.push_back(test::text_name(batches, argument.value.name));
      }
    }
  }
  EXPECT_EQ(names, std::vector<std::string>{"kept"});
}

}  // namespace
}  // namespace kymo::record
