// Computes, sleeps, waits for a lock and shares its CPU in scopes, and prints each one's CPU time by the thread's own
// clock and how often it got a CPU.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kymo/kymo.hpp>
#include <kymo/lockable.hpp>

namespace {

std::int64_t cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void compute(std::int64_t ns) {
  const std::int64_t until_ns = cpu_ns() + ns;
  while (cpu_ns() < until_ns) {
  }
}

void sleep_for(std::int64_t ns) {
  timespec time{0, ns};
  while (::nanosleep(&time, &time) != 0) {
  }
}

std::int64_t switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

/// "name CPU-time switches".
void print(const char* name, std::int64_t ns, std::int64_t switched) {
  std::printf("%s %lld %lld\n", name, static_cast<long long>(ns), static_cast<long long>(switched));
}

kymo::Lockable<std::mutex> shared_lock("shared");

void wait_for_the_lock() {
  std::thread holder;
  {
    const std::lock_guard<kymo::Lockable<std::mutex>> held(shared_lock);
    std::atomic<bool> begins{false};
    holder = std::thread([&begins] {
      begins = true;
      const std::lock_guard<kymo::Lockable<std::mutex>> waited(shared_lock);
    });
    while (!begins) {
      std::this_thread::yield();
    }
    sleep_for(30'000'000);
  }
  holder.join();
}

void share_a_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  const pid_t rival = ::fork();
  if (rival == 0) {
    compute(80'000'000);
    ::_exit(0);
  }
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
  const std::int64_t before = switches();
  {
    KYMO_SCOPE("share");
    before_ns = cpu_ns();
    compute(80'000'000);
    after_ns = cpu_ns();
  }
  print("share", after_ns - before_ns, switches() - before);
  ::waitpid(rival, nullptr, 0);
}

/// A program that records itself knows its states from the moment when the kernel has answered: its thread for them
/// then waits for records. Where it is refused there is no such thread.
void wait_for_states() {
  for (int absent = 0, waits = 0; absent < 50 && waits < 30'000; ++waits) {
    bool is_there = false;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(task.path() / "stat");
      std::string line;
      std::getline(file, line);
      if (line.find("(kymo-states) S") != std::string::npos) {
        return;
      }
      is_there = is_there || line.find("(kymo-states)") != std::string::npos;
    }
    absent += is_there ? 0 : 1;
    sleep_for(1'000'000);
  }
}

}  // namespace

int main() {
  kymo::enable();
  wait_for_states();
  std::int64_t computed_ns = 0;
  std::int64_t slept_ns = 0;
  const std::int64_t before = switches();
  for (int i = 0; i < 10; ++i) {
    std::int64_t before_ns = cpu_ns();
    {
      KYMO_SCOPE("compute");
      compute(5'000'000);
    }
    computed_ns += cpu_ns() - before_ns;
    before_ns = cpu_ns();
    {
      KYMO_SCOPE("sleep");
      sleep_for(3'000'000);
    }
    slept_ns += cpu_ns() - before_ns;
  }
  // Those of both: a few that belong to the other.
  print("compute", computed_ns, switches() - before);
  print("sleep", slept_ns, switches() - before);
  wait_for_the_lock();
  share_a_cpu();
  return 0;
}
