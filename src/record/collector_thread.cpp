// The collector's thread, and what it sleeps on.
#include <algorithm>
#include <csignal>
#include <ctime>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <pthread.h>

#include "base/message.hpp"
#include "base/thread_name.hpp"
#include "record/collector_parts.hpp"
#include "record/collector_sleep.hpp"
#include "record/spool_sweep.hpp"

namespace kymo::record {

namespace {

constexpr unsigned quiet_drains_a_step = 8;

std::uint64_t thread_cpu_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

Collector::~Collector() = default;

bool Collector::is_own_thread() const noexcept {
  return std::this_thread::get_id() == thread_id_.load(std::memory_order_relaxed);
}

bool Collector::stop(std::chrono::nanoseconds timeout) noexcept {
  if (is_own_thread()) {
    return false;  // a sink ended the process
  }
  is_stopping_.store(true, std::memory_order_release);
  pool_.header().wake.fetch_add(1, std::memory_order_release);
  futex_wake_all(pool_.header().wake);
  {
    std::unique_lock lock(request_mutex_);
    if (!request_done_.wait_for(lock, timeout, [this] { return is_ended_; })) {
      return false;
    }
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  return is_finished_;
}

void Collector::start(bool is_held) {
  is_held_.store(is_held, std::memory_order_relaxed);
  // Signals are the program's: none is to be handled on this thread.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  try {
    thread_ = std::thread([this] {
      thread_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
      base::name_this_thread("kymo-collector");
      run();
    });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

void Collector::run() {
  // What dead processes left is cleared up a little at a time, so that neither a drain nor a start has to wait for it.
  constexpr std::int64_t most_sweep_ns = 2'000'000;
  try {
    bool is_swept = pool_.spool_directory().empty();
    const auto sweep = [&] {
      is_swept = is_swept || sweep_spools(pool_.spool_directory().c_str(), pool_.spool_path().c_str(), most_sweep_ns);
    };
    while (!is_stopping_.load(std::memory_order_acquire)) {
      wait_for_work();
      work();
      sweep();
      cpu_time_ns_.store(thread_cpu_time_ns(), std::memory_order_relaxed);
    }
    finish();
    sweep();
  } catch (const std::exception& failure) {
    fail(failure.what());
  } catch (...) {
    fail("an unknown failure");
  }
  end();
}

/// Nothing of this may end the program. What was not handed on stays in the spool, from which recovery takes it.
void Collector::fail(const char* what) noexcept {
  static base::SayOnce say_failed;
  try {
    say_failed(std::string("recording stops: ") + what);
    sinks_.clear();
    note_sinks(false);
  } catch (...) {
    // No memory for a word about it.
  }
}

/// Whoever waits is let go.
void Collector::end() noexcept {
  {
    const std::lock_guard lock(request_mutex_);
    is_ended_ = true;
    requests_.clear();
  }
  request_done_.notify_all();
}

void Collector::wait_for_work() {
  SpoolHeader& header = pool_.header();
  const auto has_work = [&] {
    if (header.taken.load(std::memory_order_seq_cst) >= header.wake_threshold.load(std::memory_order_relaxed) ||
        header.trigger_requests.load() != header.trigger_done.load() ||
        header.crash_requests.load() != header.crash_done.load() || is_stopping_.load()) {
      return true;
    }
    const std::lock_guard lock(request_mutex_);
    return !requests_.empty();
  };
  sleep_unless(header.wake, header.is_asleep, has_work, [this](std::atomic<std::uint32_t>& wake, std::uint32_t seen) {
    constexpr std::int64_t idle_period_ns = 1'000'000'000;
    // Where nothing happens in any thread there is nothing to hand on soon.
    const std::int64_t period_ns = options_.period.count() << std::min(quiet_drains_ / quiet_drains_a_step, 2U);
    futex_wait(wake, seen, sinks_.empty() ? idle_period_ns : period_ns);
  });
}

}  // namespace kymo::record
