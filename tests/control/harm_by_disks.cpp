// Disks that stall, as the first argument says: harm_program.cpp.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "harm_program.hpp"
#include "stalled_disk.hpp"

namespace {

/// The disk of this program's captures.
StalledDisk& disk_of_captures() {
  static auto* const disk = new StalledDisk(std::getenv("KYMO_RECORD"));  // its thread outlives main()
  return *disk;
}

/// What a program may call at any moment: none of it waits for the disk.
void call_what_waits_for_no_disk() {
  kymo::set_info("while", "it stalls");
  static_cast<void>(kymo::capture_path());
  require(kymo::is_recording(), "recording goes on");
  work("meanwhile", 100'000);
  std::thread(work, "in a thread of its own", 1000).join();
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  int status = -1;
  require(::waitpid(child, &status, 0) == child && status == 0, "a fork while the disk stalls");
}

/// One thread waits for the disk in a call of its own; the others go on.
void go_on_beside(void (*waits)()) {
  StalledDisk& disk = disk_of_captures();
  kymo::enable();
  work("before");
  require(kymo::flush(), "flush");
  disk.stall();
  work("stalled", 10);
  std::thread waiting(waits);
  until([&] { return disk.is_holding(); });
  call_what_waits_for_no_disk();
  require(disk.is_holding(), "the disk stalls all the while");
  disk.go_on();
  waiting.join();
}

void go_on_while_a_start_waits() {
  StalledDisk& disk = disk_of_captures();
  const auto sink = std::make_shared<SlowSink>();
  const kymo::SinkGuard guard = kymo::install(sink);
  disk.stall();
  std::atomic<bool> is_started{false};
  std::thread starter([&] { is_started.store(kymo::enable()); });
  until([&] { return disk.is_holding(); });
  call_what_waits_for_no_disk();
  require(disk.is_holding(), "the disk stalls all the while");
  disk.go_on();
  starter.join();
  require(is_started.load(), "a start that waited");
  work("before");
}

void hang_for_good(int awaited = 0) {
  kymo::enable();
  if (awaited != 0) {
    until_handled(awaited);
  }
  StalledDisk& disk = disk_of_captures();
  work("before");
  disk.stall();
  std::thread([] { static_cast<void>(kymo::flush()); }).detach();
  until([&] { return disk.is_holding(); });
}

}  // namespace

Modes disk_modes() {
  return {
      {"disk-answers", [] { static_cast<void>(disk_of_captures()); }},
      {"stalled-flush", [] { go_on_beside([] { require(kymo::flush(), "a flush that waited"); }); }},
      {"stalled-stop", [] { go_on_beside([] { require(kymo::stop_capture(), "a stop that waited"); }); }},
      {"stalled-start", go_on_while_a_start_waits},
      {"hanging-disk", [] { hang_for_good(); }},
      {"hanging-disk-term",
       [] {
         hang_for_good(SIGTERM);
         ::raise(SIGTERM);
       }},
      {"hanging-disk-crash",
       [] {
         hang_for_good();
         ::raise(SIGSEGV);
       }},
  };
}
