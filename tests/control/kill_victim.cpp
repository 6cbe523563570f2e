// A program to be killed: threads that record scopes as fast as they can and note, in a mapping that outlives them, how
// many they have closed. Every other one records in a fiber.
//
//   kill_victim CAPTURE TALLY THREADS [STEP COUNT]
//
// With a step (decoded, written, released) the process kills itself when the collector reaches it for the COUNTth time.
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kymo/fiber.hpp>
#include <kymo/scope.hpp>

#include "control/capture_sink.hpp"
#include "control/run_facts.hpp"
#include "record/recorder/recorder.hpp"
#include "support/kill_tally.hpp"

namespace {

using kymo::record::CollectorStep;
using kymo::test::KillTally;
using kymo::test::tally_threads;

CollectorStep step_named(std::string_view name) {
  if (name == "decoded") {
    return CollectorStep::decoded;
  }
  return name == "written" ? CollectorStep::written : CollectorStep::released;
}

int number(const char* text) {
  int value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

void record_forever(KillTally& tally) {
  tally.track.store(static_cast<std::uint64_t>(::gettid()), std::memory_order_release);
  for (std::uint64_t n = 1;; ++n) {
    tally.opened.store(n, std::memory_order_release);
    { KYMO_SCOPE("victim", {"n", n}); }
    tally.closed.store(n, std::memory_order_release);
  }
}

/// The same in a fiber that is entered and left all the time.
void record_forever_in_fiber(KillTally& tally, std::uint64_t number) {
  tally.track.store(kymo::test::tally_fiber + number, std::memory_order_release);
  const kymo::Fiber fiber(std::to_string(kymo::test::tally_fiber + number));
  for (std::uint64_t n = 1;; ++n) {
    const kymo::FiberGuard guard(fiber);
    tally.opened.store(n, std::memory_order_release);
    { KYMO_SCOPE("victim", {"n", n}); }
    tally.closed.store(n, std::memory_order_release);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fputs("usage: kill_victim CAPTURE TALLY THREADS [STEP COUNT]\n", stderr);
    return 2;
  }
  const int file = ::open(argv[2], O_RDWR);
  void* const mapping = ::mmap(nullptr, sizeof(KillTally) * tally_threads, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    std::perror("kill_victim: mmap");
    return 1;
  }
  auto* const tallies = static_cast<KillTally*>(mapping);
  kymo::record::RecorderOptions options;
  options.pool.bytes = kymo::record::smallest_pool_bytes;
  if (argc == 6) {
    options.on_step = [wanted = step_named(argv[4]), left = number(argv[5])](CollectorStep step) mutable {
      if (step == wanted && --left == 0) {
        ::kill(::getpid(), SIGKILL);
      }
    };
  }
  kymo::record::Recorder& recorder = kymo::record::Recorder::instance();
  kymo::CaptureOptions capture;
  capture.path = argv[1];
  if (!recorder.start(options) || recorder.add_sink(std::make_shared<kymo::control::CaptureSink>(
                                      recorder, capture, kymo::control::describe_run())) == 0) {
    return 1;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < number(argv[3]) && i < tally_threads; ++i) {
    threads.emplace_back([&tally = tallies[i], i] {
      i % 2 == 0 ? record_forever(tally) : record_forever_in_fiber(tally, static_cast<std::uint64_t>(i));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 0;
}
