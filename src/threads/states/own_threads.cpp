#include "threads/states/own_threads.hpp"

#include <cerrno>
#include <exception>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/system/clock.hpp"
#include "base/system/message.hpp"
#include "base/system/system.hpp"

namespace kymo::threads {
namespace {

constexpr int own_read_period_ms = 100;
/// States that last are cut after this time, as a reader of a growing capture sees them then.
constexpr std::int64_t own_open_ns = 1'000'000'000;

void add_fact(EventBatch& batch, const char* key, std::string value) {
  batch.declarations.infos.push_back({ProcessId{1}, key, std::move(value)});
}

}  // namespace

OwnThreads::OwnThreads() {
  wake_ = base::KnownFile(base::move_high(base::FileDescriptor(::eventfd(0, EFD_CLOEXEC))));
  try {
    thread_ = base::OwnThread([this, caller = RunningThread::calling()] { run(caller); });
  } catch (const std::exception& failure) {
    refusal_ = {EAGAIN, failure.what(), {}};
    has_answer_.store(true, std::memory_order_release);
  }
}

void OwnThreads::run(const RunningThread& caller) {
  base::name_this_thread("kymo-states");
  try {
    refusal_ = events_.attach_own(caller);
  } catch (const std::exception& failure) {
    events_.clear();
    refusal_ = {ENOMEM, failure.what(), {}};
  }
  is_settled_.store(true, std::memory_order_release);
  has_answer_.store(true, std::memory_order_release);
  if (refusal_.error != 0) {
    return;
  }
  while (!is_stopping_.load(std::memory_order_acquire)) {
    std::vector<pollfd> polled;
    int timeout_ms = own_read_period_ms;
    {
      const std::lock_guard lock(mutex_);
      polled = events_.polled();
      timeout_ms = events_.most_wait_ms(timeout_ms);
    }
    polled.push_back({wake_.get(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), timeout_ms);
    {
      const std::lock_guard lock(mutex_);
      events_.note_polled(polled);
    }
    read();
  }
  read();  // a reading hands over what came before the start of the one before
}

void OwnThreads::read() {
  const std::lock_guard lock(mutex_);
  try {
    if (!events_.is_whole()) {
      give_up({EBADF, "the program closed descriptors of kymo", {}});
      return;
    }
    events_.read(states_);
    if (states_.waiting() > most_waiting) {
      drop_waiting();
    }
  } catch (const std::exception& failure) {
    give_up({ENOMEM, failure.what(), {}});
  }
  cpu_ns_ = static_cast<std::uint64_t>(base::thread_cpu_ns());
}

/// What threads did since the last reading is not known.
void OwnThreads::give_up(Refusal refusal) {
  is_settled_.store(false, std::memory_order_release);
  const std::int64_t since_ns = events_.complete_until_ns();
  events_.clear();
  states_.lose(since_ns, base::monotonic_now_ns());
  refusal_ = std::move(refusal);
  is_stopping_.store(true, std::memory_order_release);
}

/// Nobody took them for long.
void OwnThreads::drop_waiting() {
  left_out_ += states_.waiting();
  EventBatch dropped;
  states_.collect(events_.complete_until_ns(), own_open_ns, dropped);
  states_.declare_again();
}

bool OwnThreads::take(EventBatch& batch) {
  if (!has_answer()) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return collect(own_open_ns, batch);
}

bool OwnThreads::take_summed_up(EventBatch& batch) {
  if (!has_answer()) {
    return false;
  }
  // A reading hands over what came before the start of the one before.
  read();
  read();
  const std::lock_guard lock(mutex_);
  return sum_up(batch);
}

bool OwnThreads::take_last(EventBatch& batch) {
  stop();
  return sum_up(batch);
}

bool OwnThreads::sum_up(EventBatch& batch) {
  static_cast<void>(collect(0, batch));
  add_fact(batch, "record.threads_switches", std::to_string(states_.switches()));
  add_fact(batch, "record.threads_lost_records",
           std::to_string(events_.lost_records() + states_.unfollowed() + left_out_));
  add_fact(batch, "record.threads_overruns", std::to_string(events_.overruns()));
  add_fact(batch, "record.threads_cpu_ns", std::to_string(cpu_ns_));
  return true;
}

bool OwnThreads::collect(std::int64_t open_ns, EventBatch& batch) {
  // Where the kernel refuses, there is no such time, and what the batch says is of now.
  const std::int64_t until_ns = events_.complete_until_ns();
  states_.collect(until_ns != 0 ? until_ns : base::monotonic_now_ns(), open_ns, batch);
  if (!std::exchange(is_described_, true)) {
    add_fact(batch, "threads.source", refusal_.error == 0 ? "perf_event_open" : "thread_cpu_time (coarse)");
  }
  if (told_ != refusal_.reason) {
    told_ = refusal_.reason;
    add_fact(batch, "threads.refused", told_);
  }
  return !batch.states.empty() || !batch.wakes.empty() || !batch.declarations.empty();
}

void OwnThreads::stop() noexcept {
  is_stopping_.store(true, std::memory_order_release);
  if (const int wake = wake_.get(); wake >= 0) {
    static_cast<void>(::eventfd_write(wake, 1));
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void OwnThreads::forget() noexcept {
  // A fork in the midst of a change leaves the descriptors open, since their list may be torn.
  if (is_settled_.load(std::memory_order_acquire)) {
    events_.forget();
  }
  wake_.reset();
}

}  // namespace kymo::threads
