// Ends and jumps at bad moments, as the first argument says: harm_program.cpp.
#include "harm_program.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace {

std::atomic<bool> is_interrupted{false};
sigjmp_buf back;

void jump(int /*signal*/) {
  is_interrupted.store(true);
  siglongjmp(back, 1);
}

void leave(int /*signal*/) {
  is_interrupted.store(true);
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): what programs do
}

/// Calls `waiting`, which waits for the collector, has `handler` interrupt it there, and lets the collector go on then.
template <typename Call>
void interrupt(const Call& waiting, void (*handler)(int)) {
  static const auto sink = std::make_shared<SlowSink>();
  static const kymo::SinkGuard guard = kymo::install(sink);
  ::signal(SIGUSR1, handler);
  static const pthread_t self = ::pthread_self();
  work("before");
  sink->shut();
  std::thread([] {
    until([] { return sink->is_stalling(); });
    // It waits in a call by then, or is about to.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::pthread_kill(self, SIGUSR1);
    until([] { return is_interrupted.load(); });
    sink->open();
  }).detach();
  if (sigsetjmp(back, 1) == 0) {
    work("meanwhile");
    waiting();
  }
}

/// Records to a pipe alone, whose reader leaves.
void lose_the_reader_of_a_trace() {
  std::printf("%ld\n", static_cast<long>(::getpid()));
  ::unsetenv("KYMO_RECORD");  // NOLINT(concurrency-mt-unsafe): there is one thread
  const int reader =
      ::open(std::getenv("KYMO_TRACE"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // NOLINT(concurrency-mt-unsafe)
  kymo::enable();
  ::close(reader);
  work("unread", 100'000);
}

void flush() {
  require(kymo::flush(), "flush()");
}

void stop() {
  kymo::stop_capture();
}

/// The program goes on in a thread, and ends with that.
[[noreturn]] void end_the_main_thread() {
  kymo::enable();
  static const pthread_t main_thread = ::pthread_self();
  std::thread([] {
    ::pthread_join(main_thread, nullptr);
    work("afterwards");
  }).detach();
  work("before");
  ::pthread_exit(nullptr);
}

/// The capture is not where it was, and the program has closed all descriptors.
void lose_the_capture() {
  kymo::enable();
  work("before");
  require(kymo::flush(), "flush()");
  const std::filesystem::path folder = std::getenv("KYMO_RECORD");
  const auto capture = std::filesystem::directory_iterator(folder)->path();
  for (int file = 3; file < 1024; ++file) {
    ::close(file);
  }
  std::filesystem::rename(capture, folder / "moved.kymo");
  work("after");
}

}  // namespace

Modes end_modes() {
  return {
      {"jump-out-of-flush", [] { interrupt(flush, jump); }},
      {"exit-in-flush",
       [] {
         kymo::enable();
         interrupt(flush, leave);
       }},
      {"exit-in-stop",
       [] {
         kymo::enable();
         interrupt(stop, leave);
       }},
      {"left-trace", lose_the_reader_of_a_trace},
      {"lost-capture", lose_the_capture},
      {"main-thread-ends", end_the_main_thread},
  };
}
