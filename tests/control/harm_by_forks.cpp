// Forks at bad moments, as the first argument says: harm_program.cpp.
#include "harm_program.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/// A sandbox: no more threads in this process. False where the kernel has no such filter.
bool forbid_threads() {
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): what the kernel takes
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{static_cast<unsigned short>(std::size(instructions)), static_cast<sock_filter*>(instructions)};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Their recorders cannot start; the first call goes on to declare a name.
void record_in_children_without_threads() {
  kymo::enable();
  work("parent");
  for (int i = 0; i < 5; ++i) {
    require(holds_in_child([] {
              if (!forbid_threads()) {
                ::_exit(77);
              }
              kymo::AsyncSpan("requests", "GET /").end();
              work("child");
              require(!kymo::enable() || !kymo::is_recording(), "nothing is recorded without a thread");
            }),
            "a child that may start no thread");
  }
}

std::atomic<bool> records_allocations{false};

/// The child's first scope stands in the allocator, within kymo's own fork handlers and the start of its recorder.
void record_in_the_allocator() {
  kymo::enable();
  work("parent");
  records_allocations.store(true);
  require(holds_in_child([] { work("child"); }), "a child whose allocator records scopes");
  records_allocations.store(false);
}

std::atomic<bool> holds_forks{false};
std::atomic<bool> is_forking{false};
std::atomic<bool> is_ending{false};

/// Runs after kymo's own handler has taken its locks: a fork that is under way for as long as the program needs to
/// begin to end.
void hold_fork() {
  if (holds_forks.load()) {
    is_forking.store(true);
    until([] { return is_ending.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the library's handlers would go now
  }
}

/// Before any library's constructor: handlers registered first run last.
__attribute__((section(".preinit_array"), used)) void (*const watch_first)() = [] {
  ::pthread_atfork(hold_fork, nullptr, nullptr);
};

void end_beside_a_fork() {
  kymo::enable();
  work("parent");
  std::atexit([] { is_ending.store(true); });
  holds_forks.store(true);
  std::thread([] {
    if (::fork() == 0) {
      ::_exit(0);
    }
    for (;;) {
      ::pause();
    }
  }).detach();
  until([] { return is_forking.load(); });
}

/// Signals that end a process that shares the recorder's memory without being its process.
void end_children_without_handlers() {
  kymo::enable();
  work("before");
  until_handled(SIGTERM);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGABRT}) {
    const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
      ::kill(static_cast<pid_t>(::syscall(SYS_getpid)), signal);
      ::_exit(0);
    }
    int status = 0;
    require(::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == signal,
            "the signal ends the child");
  }
  require(kymo::is_recording(), "the parent still records");
  work("after");
}

/// The kernel delivers a signal to the first process of a container only where that handles it.
void be_the_first_process() {
  if (::unshare(CLONE_NEWPID) != 0) {
    ::_exit(77);
  }
  require(holds_in_child([] {
            require(::getpid() == 1, "the first process");
            kymo::enable();
            work("before");
            std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // other processes handle it by then
            ::kill(1, SIGTERM);
            require(kymo::is_recording(), "what ends nothing ends no recording");
            work("after");
          }),
          "the first process of a container");
}

}  // namespace

// Sanitizers have allocators of their own.
#if defined(__has_feature)
#define HAS_OWN_ALLOCATOR (!__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_ALLOCATOR 0
#else
#define HAS_OWN_ALLOCATOR 1
#endif
#if HAS_OWN_ALLOCATOR
// NOLINTNEXTLINE(cert-dcl54-cpp): the sized forms come here
void* operator new(std::size_t size) {
  std::optional<kymo::detail::ScopeGuard> scope;
  static kymo_site site{0, 0, "allocation", "", "", 1, KYMO_SITE_SCOPE};
  if (records_allocations.load(std::memory_order_relaxed)) {
    scope.emplace(site);
  }
  if (void* const memory = std::malloc(size)) {  // NOLINT(cppcoreguidelines-no-malloc)
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}
#endif

Modes fork_modes() {
  return {
      {"no-threads-in-child", record_in_children_without_threads},
      {"allocator", record_in_the_allocator},
      {"fork-beside-end", end_beside_a_fork},
      {"end-without-handlers", end_children_without_handlers},
      {"first-process", be_the_first_process},
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
