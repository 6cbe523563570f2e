// The collector's thread and its sleep.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "base/system/clock.hpp"
#include "base/system/futex.hpp"
#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "record/collector/parts.hpp"
#include "record/pool/collector_sleep.hpp"
#include "record/pool/spool_sweep.hpp"

namespace kymo::record {

namespace {

constexpr unsigned quiet_drains_a_step = 8;

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
  base::futex_wake_all(pool_.header().wake);
  if (!wait_for_answer(timeout, [this] { return is_ended_; })) {
    return false;
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  return is_finished_;
}

void Collector::start(bool is_held) {
  is_held_.store(is_held, std::memory_order_relaxed);
  thread_ = base::OwnThread([this] {
    thread_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    base::name_this_thread("kymo-collector");
    run();
  });
}

void Collector::run() {
  // Leftovers of dead processes are removed a little at a time, so that neither a drain nor a start is delayed.
  constexpr std::int64_t most_sweep_ns = 2'000'000;
  try {
    SpoolSweep sweep(pool_.spool_directory(), pool_.spool_path());
    bool is_swept = pool_.spool_directory().empty();
    while (!is_stopping_.load(std::memory_order_acquire)) {
      wait_for_work();
      work();
      is_swept = is_swept || sweep.step(most_sweep_ns);
      end_with_program();
      if (options_.on_look != nullptr) {
        options_.on_look();
      }
      cpu_time_ns_.store(static_cast<std::uint64_t>(base::thread_cpu_ns()), std::memory_order_relaxed);
    }
    finish();
    if (!is_swept) {
      sweep.step(most_sweep_ns);
    }
  } catch (const std::exception& failure) {
    fail(failure.what());
  } catch (...) {
    fail("an unknown failure");
  }
  end();
}

/// The last thread of a program whose main thread called pthread_exit() ends the process. It would wait for ours.
void Collector::end_with_program() {
  constexpr std::uint64_t period_ns = 500'000'000;
  const std::uint64_t now_ns = monotonic_ns();
  if (now_ns < next_end_look_ns_ || is_stopping_.load(std::memory_order_acquire)) {
    return;
  }
  next_end_look_ns_ = now_ns + period_ns;
  try {
    if (base::are_other_threads_gone()) {
      std::thread([] { std::exit(0); }).detach();  // NOLINT(concurrency-mt-unsafe): as the C library does
      next_end_look_ns_ = ~std::uint64_t{0};
    }
  } catch (...) {
    // No memory or no thread; later perhaps.
  }
}

/// Failures must not end the program. Events not handed on stay in the spool, and recovery reads them from there.
void Collector::fail(const char* what) noexcept {
  static base::SayOnce say_failed;
  try {
    say_failed(std::string("recording stops: ") + what);
    sinks_.clear();
    note_sinks(false);
  } catch (...) {
    // Not enough memory for the message.
  }
}

/// Wakes every waiter.
void Collector::end() noexcept {
  {
    const std::lock_guard lock(request_mutex_);
    is_ended_ = true;
    requests_.clear();
  }
  tell_answer();
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
    // If all threads are idle, there is nothing to hand on soon.
    const std::int64_t period_ns = options_.period.count() << std::min(quiet_drains_ / quiet_drains_a_step, 2U);
    base::futex_wait(wake, seen, sinks_.empty() ? idle_period_ns : period_ns);
  });
}

}  // namespace kymo::record
