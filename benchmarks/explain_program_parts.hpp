// What the programs of explain_program.cpp are made of.
#pragma once

#include <kymo/kymo.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace explained {

using Nanoseconds = std::int64_t;
constexpr Nanoseconds ms = 1'000'000;

inline Nanoseconds read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}
inline Nanoseconds now() {
  return read_clock(CLOCK_MONOTONIC);
}

/// Uses so much CPU time.
inline void compute(Nanoseconds duration) {
  for (const Nanoseconds end = read_clock(CLOCK_THREAD_CPUTIME_ID) + duration;
       read_clock(CLOCK_THREAD_CPUTIME_ID) < end;) {
  }
}

/// A thread that does what it is given, one thing after the other.
class Worker {
 public:
  explicit Worker(const char* name) : thread_([this, name] { work(name); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    give(nullptr);
    thread_.join();
  }
  /// Waits for the one before.
  void give(std::function<void()> job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !has_job_; });
    job_ = std::move(job);
    has_job_ = true;
    changed_.notify_all();
  }

 private:
  void work(const char* name) {
    kymo::set_thread_name(name);
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return has_job_; });
      const std::function<void()> job = job_;
      lock.unlock();
      if (!job) {
        return;
      }
      job();
      lock.lock();
      has_job_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool has_job_ = false;
  std::thread thread_;
};

inline void wait_for(const std::atomic<int>& value, int wanted) {
  while (value.load() < wanted) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

/// Another process that takes the CPU it is pinned to, each time it is asked.
class Hog {
 public:
  explicit Hog(int cpu) {
    if (::pipe(pipe_) != 0) {
      std::abort();
    }
    child_ = ::fork();
    if (child_ == 0) {
      outrank();
      pin(cpu);
      ::prctl(PR_SET_NAME, "hog");
      ::close(pipe_[1]);
      Nanoseconds duration = 0;
      while (::read(pipe_[0], &duration, sizeof duration) == sizeof duration) {
        for (const Nanoseconds end = now() + duration; now() < end;) {
        }
      }
      ::_exit(0);
    }
    ::close(pipe_[0]);
  }
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;
  ~Hog() {
    ::close(pipe_[1]);
    ::waitpid(child_, nullptr, 0);
  }
  void ask(Nanoseconds duration) {
    if (::write(pipe_[1], &duration, sizeof duration) != sizeof duration) {
      std::abort();
    }
  }
  /// Comes before the program, which may run in real time itself.
  static void outrank() {
    sched_param parameter{};
    ::sched_getparam(0, &parameter);
    parameter.sched_priority += 10;
    if (::sched_getscheduler(0) != SCHED_FIFO || ::sched_setscheduler(0, SCHED_FIFO, &parameter) != 0) {
      ::setpriority(PRIO_PROCESS, 0, -20);
    }
  }
  static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t child_ = -1;
};

inline int first_cpu() {
  cpu_set_t set;
  ::sched_getaffinity(0, sizeof set, &set);
  std::size_t cpu = 0;
  while (!CPU_ISSET(cpu, &set)) {
    ++cpu;
  }
  return static_cast<int>(cpu);
}

/// A frame's own part. Gets what the cause shall add and returns what it did add.
using Body = std::function<Nanoseconds(Nanoseconds extra)>;
using Make = Body (*)();

/// Causes in what the frame's own thread does, and in what other threads do.
[[nodiscard]] const std::map<std::string, Make>& own_causes();
[[nodiscard]] const std::map<std::string, Make>& causes_of_others();

inline Nanoseconds timed(const std::function<void()>& what) {
  const Nanoseconds start = now();
  what();
  return now() - start;
}

}  // namespace explained
