// Does to itself all that recording must survive, at once: threads that come and go, signals that interrupt and jump,
// cancellation, forks with and without handlers, modules that are loaded and unloaded, recording that stops and starts.
//
//   storm_program SHEET SEED MILLISECONDS [MODULE]
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.hpp>

#include "storm_tally.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937;
using kymo::test::StormSheet;
using kymo::test::StormTally;

StormSheet* sheet = nullptr;
std::atomic<StormTally*> tally{nullptr};
Clock::time_point deadline;
const char* module_path = nullptr;

/// Odd while recording may be off. A child that is forked then stays so.
std::atomic<unsigned> recording_epoch{0};

void claim_tally() {
  StormTally& mine = sheet->processes[sheet->used.fetch_add(1) % StormSheet::most_processes];
  mine.pid.store(static_cast<std::uint64_t>(::getpid()));
  tally.store(&mine);
}

/// Where a handler may jump to, while it may.
thread_local sigjmp_buf jump;
thread_local volatile std::sig_atomic_t may_jump = 0;
thread_local unsigned signals_met = 0;

/// Runs a body that opens and closes so many scopes.
template <typename Body>
void counted(const Body& body, std::uint64_t scopes = 1) {
  StormTally& mine = *tally.load(std::memory_order_relaxed);
  const unsigned epoch = recording_epoch.load();
  mine.opened.fetch_add(scopes, std::memory_order_relaxed);
  body();
  if (epoch % 2 == 0 && recording_epoch.load() == epoch) {
    mine.closed.fetch_add(scopes, std::memory_order_relaxed);
  }
}

void on_signal(int /*signal*/) {
  sheet->signals.fetch_add(1, std::memory_order_relaxed);
  counted([] { KYMO_SCOPE("storm handler"); });
  if (may_jump != 0 && ++signals_met % 7 == 0) {
    may_jump = 0;
    siglongjmp(jump, 1);
  }
}

/// Interrupts the calling thread 10,000 times a second.
class Signals {
 public:
  Signals() {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = ::gettid();
    const itimerspec period{{0, 100'000}, {0, 100'000}};
    is_on_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0 && ::timer_settime(timer_, 0, &period, nullptr) == 0;
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    if (is_on_) {
      ::timer_delete(timer_);
    }
  }

 private:
  timer_t timer_{};
  bool is_on_ = false;
};

void nest(unsigned depth) {
  counted([depth] {
    KYMO_SCOPE("storm nested", {"depth", depth});
    if (depth > 0) {
      nest(depth - 1);
    }
  });
}

void burst(Random& random) {
  for (int i = 0; i < 200; ++i) {
    nest(static_cast<unsigned>(random() % 8));
  }
  counted([] {
    KYMO_SCOPE("storm texts", {"text", "a text as an argument"});
    KYMO_ARG("later", 0.5);
  });
  kymo::record_metric("storm metric", 1.0);
  kymo::message("storm");
}

void many_names(Random& random) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "storm " + std::to_string(random() % 1'000);
    counted([&name] { KYMO_SCOPE_DYNAMIC(name); });
  }
}

/// Nothing here allocates: a handler may leave it anywhere.
void be_jumped_out_of() {
  if (sigsetjmp(jump, 1) == 0) {
    may_jump = 1;
    for (int i = 0; i < 2'000 && may_jump != 0; ++i) {
      counted([] { KYMO_SCOPE("storm jumped"); });
    }
    may_jump = 0;
  }
}

void short_thread() {
  std::thread([] { nest(3); }).join();
}

void cancelled_thread() {
  pthread_t thread{};
  const auto forever = [](void*) -> void* {
    for (;;) {
      nest(2);
      ::pthread_testcancel();
    }
  };
  if (::pthread_create(&thread, nullptr, forever, nullptr) == 0) {
    ::pthread_cancel(thread);
    ::pthread_join(thread, nullptr);
  }
}

void load_module() {
  if (module_path == nullptr) {
    return;
  }
  if (void* const module = ::dlopen(module_path, RTLD_NOW | RTLD_LOCAL)) {
    if (const auto work = reinterpret_cast<void (*)()>(::dlsym(module, "module_work"))) {
      counted(work, 1'000);
    }
    ::dlclose(module);
  }
}

void wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    std::fputs("storm_program: a child hung\n", stderr);
    ::_exit(3);
  }
}

/// A child that records, and ends in one of many ways.
void fork_child(Random& random, int generations) {
  const auto end = static_cast<unsigned>(random() % 5);
  const pid_t child = ::fork();
  if (child != 0) {
    wait_for(child);
    return;
  }
  ::alarm(60);
  const Signals signals;
  for (int i = 0; i < static_cast<int>(end) + 1; ++i) {
    burst(random);
    many_names(random);
  }
  if (generations > 0 && random() % 2 == 0) {
    fork_child(random, generations - 1);
  }
  switch (end) {
    case 0:
      recording_epoch.fetch_or(1);
      kymo::disable();
      ::_exit(0);
    case 1:
      ::execl("/bin/true", "true", static_cast<char*>(nullptr));
      ::_exit(0);
    case 2:
      recording_epoch.fetch_or(1);  // the capture is closed before the signal ends the process
      ::raise(SIGTERM);
      ::_exit(0);
    case 3:
      ::raise(SIGKILL);
      ::_exit(0);
    default:
      ::_exit(0);
  }
}

void fork_without_handlers(Random& random) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  // Its parent has recorded this site before, so that nothing leads the child to a slow path.
  const auto stray = [] { KYMO_SCOPE("storm stray"); };
  counted(stray);
  const pid_t child = ::_Fork();
  if (child == 0) {
    ::alarm(60);
    for (int i = 0; i < 20'000; ++i) {
      stray();
    }
    ::_exit(0);
  }
  burst(random);
  wait_for(child);
#endif
}

void restart_recording() {
  recording_epoch.fetch_add(1);
  kymo::disable();
  kymo::enable();
  recording_epoch.fetch_add(1);
  sheet->restarts.fetch_add(1, std::memory_order_relaxed);
}

enum class Also { nothing, forks, restarts };

void rage(unsigned seed, Also also) {
  const Signals signals;
  Random random(seed);
  // Once at least: on a busy machine the storm may be over before a thread of it begins.
  unsigned turn = 0;
  do {
    if (also == Also::restarts && turn++ % 16 == 0) {
      restart_recording();
    }
    switch (random() % (also == Also::forks ? 10 : 7)) {
      case 0:
      case 1:
        burst(random);
        break;
      case 2:
        many_names(random);
        break;
      case 3:
        be_jumped_out_of();
        break;
      case 4:
        short_thread();
        break;
      case 5:
        cancelled_thread();
        break;
      case 6:
        load_module();
        break;
      case 7:
      case 8:
        fork_child(random, 1);
        break;
      default:
        fork_without_handlers(random);
    }
  } while (Clock::now() < deadline);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: storm_program SHEET SEED MILLISECONDS [MODULE]\n", stderr);
    return 2;
  }
  const int file = ::open(argv[1], O_RDWR | O_CLOEXEC);
  void* const mapping = ::mmap(nullptr, sizeof(StormSheet), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    return 2;
  }
  sheet = static_cast<StormSheet*>(mapping);
  const auto seed = static_cast<unsigned>(std::atoi(argv[2]));
  deadline = Clock::now() + std::chrono::milliseconds(std::atoi(argv[3]));
  module_path = argc > 4 ? argv[4] : nullptr;
  claim_tally();
  ::pthread_atfork(nullptr, nullptr, claim_tally);
  ::alarm(120);
  if (!kymo::enable()) {
    return 2;
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGVTALRM, &action, nullptr);
  std::vector<std::thread> threads;
  for (const Also also : {Also::nothing, Also::nothing, Also::restarts}) {
    threads.emplace_back(rage, seed + static_cast<unsigned>(threads.size()) + 1, also);
  }
  rage(seed, Also::forks);
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 0;
}
