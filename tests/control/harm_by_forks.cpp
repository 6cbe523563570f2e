// Forks at bad moments, as the first argument says: harm_program.cpp.
#include "harm_program.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/lockable.hpp>

namespace {

/// Whether a child ended with 0.
bool ended_well(pid_t child) {
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

template <typename Call>
bool holds_in_child(const Call& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    call();
    kymo::disable();
    ::_exit(0);
  }
  return ended_well(child);
}

void tell_a_fact_in_a_child() {
  kymo::enable();
  work("parent");
  require(holds_in_child([] {
            kymo::set_info("who", "child");
            work("child");
          }),
          "a child whose first call is set_info()");
}

void start_a_capture_in_a_child() {
  const auto sink = std::make_shared<SlowSink>();
  const kymo::SinkGuard guard = kymo::install(sink);
  work("parent");
  const std::string path = std::string(std::getenv("KYMO_RECORD")) + "child.kymo";
  require(holds_in_child([&] {
            kymo::CaptureOptions options;
            options.path = path;
            require(kymo::start_capture(options), "the child's capture");
            work("child");
          }),
          "a child that starts a capture of its own");
}

void become_a_daemon() {
  require(::chdir(std::getenv("KYMO_RECORD")) == 0, "chdir()");
  ::setenv("KYMO_RECORD", "run.kymo", 1);
  kymo::enable();
  work("parent");
  require(holds_in_child([] {
            require(::chdir("/proc") == 0, "chdir()");
            work("child");
          }),
          "a child that goes elsewhere before its first scope");
}

void fork_beside_start_and_stop() {
  std::atomic<bool> is_over{false};
  std::thread starter([&] {
    while (!is_over.load()) {
      kymo::enable();
      work("started", 10);
      kymo::disable();
    }
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      kymo::flush();
      work("child", 10);
      kymo::disable();
      ::_exit(0);
    }
    require(ended_well(child), "a child of a program that starts and stops");
  }
  is_over.store(true);
  starter.join();
}

void go_on_while_a_sink_stalls() {
  const auto sink = std::make_shared<SlowSink>();
  kymo::enable();
  const kymo::SinkGuard guard = kymo::install(sink);
  sink->shut();
  work("stalled", 10);
  std::thread waits([] { kymo::flush(); });
  until([&] { return sink->is_stalling(); });
  kymo::set_info("while", "it stalls");
  require(!kymo::capture_path().empty(), "the capture's path");
  require(holds_in_child([] { work("child"); }), "a fork while a sink stalls");
  sink->open();
  waits.join();
}

/// Events of every kind, on what may be another process's track.
void record_all_kinds(const char* what, int rounds) {
  static kymo::Lockable<std::mutex> lock("lock");
  for (int i = 0; i < rounds; ++i) {
    KYMO_SCOPE_DYNAMIC(what);
    KYMO_ARG("number", i);
    const std::lock_guard guard(lock);
    KYMO_SCOPE("inner", {"text", "some text"});
    kymo::record_metric("metric", i);
    kymo::message(what);
  }
}

/// A site that its parent knows leads a child to no slow path.
void record_known_site(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    KYMO_SCOPE("known");
    KYMO_ARG("number", i);
  }
}

/// Neither fork handlers nor anything else tells the child that it is one.
/// Beside its children the parent records in the chunk that they were forked in, at each kind of moment.
void fork_without_handlers() {
  kymo::enable();
  work("parent", 10);
  record_known_site(100);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  for (int round = 0; round < 50; ++round) {
    KYMO_SCOPE("parent");
    const pid_t child = ::_Fork();
    if (child == 0) {
      ::alarm(60);
      if (round % 2 == 0) {
        record_known_site(500);
      }
      if (round % 4 == 1) {
        KYMO_ARG("of the child", round);
      } else if (round % 4 == 3) {
        kymo::set_thread_name("child");
      }
      record_all_kinds("child", 500);
      ::_exit(0);
    }
    record_known_site(500);
    record_all_kinds("beside", 500);
    require(ended_well(child), "a child without fork handlers");
  }
#endif
  work("parent", 10);
}

void record_in_handler(int /*signal*/) {
  KYMO_SCOPE("in the handler");
}

/// Its first event stands in a handler that may have interrupted anything.
void begin_in_a_handler() {
  kymo::enable();
  work("parent");
  require(holds_in_child([] {
            ::signal(SIGUSR1, record_in_handler);
            ::raise(SIGUSR1);
            work("child");
          }),
          "a child whose first event stands in a handler");
}

constexpr int most_interruptions = 100;
volatile std::sig_atomic_t is_forked_in_handler = 0;
std::atomic<int> interruptions{0};

void fork_in_handler(int /*signal*/) {
  const int saved_errno = errno;
  if (is_forked_in_handler == 0 && interruptions.fetch_add(1) < most_interruptions) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      is_forked_in_handler = 1;
    } else {
      require(child > 0 && ended_well(child), "a child that was forked in a handler");
    }
  }
  errno = saved_errno;
}

/// Declares and writes all the time, and allocates nothing: fork() has locks of its own that a handler must not meet.
void declare_until_interrupted_enough(char thread) {
  for (int i = 0; is_forked_in_handler == 0 && interruptions.load() < most_interruptions; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "%c %d", thread, i);
    if (constexpr int most_names = 20'000; i < most_names) {
      KYMO_SCOPE_DYNAMIC(name);
    }
    kymo::set_thread_name(name);
    kymo::set_info("at", name);
    kymo::message(name);
  }
  if (is_forked_in_handler != 0) {
    // Back from the handler, in the middle of anything.
    work("child", 100);
    kymo::disable();
    ::_exit(0);
  }
}

/// Two threads, whose handlers interrupt both where they hold locks, and fork.
void fork_in_handlers_beside_declarations() {
  kymo::enable();
  ::signal(SIGUSR1, fork_in_handler);
  std::vector<std::thread> threads;
  for (const char name : {'a', 'b'}) {
    threads.emplace_back(declare_until_interrupted_enough, name);
  }
  for (unsigned turn = 0; interruptions.load() < most_interruptions; ++turn) {
    ::pthread_kill(threads[turn % 2].native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(turn * 37 % 300));
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  work("parent", 100);
}

}  // namespace

Modes fork_modes() {
  return {
      {"child-info", tell_a_fact_in_a_child},
      {"child-capture", start_a_capture_in_a_child},
      {"daemon", become_a_daemon},
      {"fork-beside-start", fork_beside_start_and_stop},
      {"stalled-sink", go_on_while_a_sink_stalls},
      {"without-handlers", fork_without_handlers},
      {"handler-in-child", begin_in_a_handler},
      {"fork-in-handlers", fork_in_handlers_beside_declarations},
  };
}
