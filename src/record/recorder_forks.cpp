// What becomes of the recorder where one process becomes two.
#include <csignal>
#include <ctime>
#include <mutex>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/message.hpp"
#include "record/fiber.hpp"
#include "record/recorder.hpp"
#include "record/track_writer.hpp"

namespace kymo::record {

namespace {

base::SayOnce say_without_handlers;

/// Of the thread that forked, in the child. A signal handler runs with more signals blocked than that.
sigset_t mask_at_fork;
pthread_t forked_thread;

/// Whether this may be a handler that interrupted its thread anywhere, in malloc() too.
bool may_be_in_handler() noexcept {
  if (::pthread_equal(::pthread_self(), forked_thread) == 0) {
    return false;  // its beginning is this process's own: it is not a handler of the thread that forked
  }
  sigset_t mask;
  sigemptyset(&mask);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&mask, signal) == 1 && sigismember(&mask_at_fork, signal) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// Before threads are there: a fork that is under way while handlers are registered runs half of them.
__attribute__((constructor(101))) void watch_forks() {
  ::pthread_atfork(Recorder::before_fork, Recorder::after_fork_in_parent, Recorder::after_fork_in_child);
}

void Recorder::mark_process() noexcept {
#if defined(MADV_WIPEONFORK)
  constexpr std::size_t bytes = 4096;
  if (process_mark_ == nullptr) {
    void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || ::madvise(page, bytes, MADV_WIPEONFORK) != 0) {
      return;
    }
    process_mark_ = static_cast<std::uint32_t*>(page);
  }
  *process_mark_ = 1;
#endif
}

void Recorder::leave_parent() noexcept {
  // Locks may be held by threads that are not here, for ever: nothing is recorded in this process.
  is_child_pending_.store(false, std::memory_order_relaxed);
  is_on_.store(false, std::memory_order_seq_cst);
  kymo_scopes_on_v1.store(0, std::memory_order_seq_cst);
  forget_slots_in_child();
  collector_.store(nullptr, std::memory_order_relaxed);
  if (Pool* const inherited = pool_.exchange(nullptr, std::memory_order_relaxed)) {
    inherited->abandon_in_child();
  }
  *process_mark_ = 1;
  say_without_handlers("a process that _Fork() or clone() made records nothing: fork() has it recorded");
}

void Recorder::start_in_child(bool is_certain) noexcept {
  if (!is_certain && may_be_in_handler()) {
    return;
  }
  bool is_started = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_child_pending_.load(std::memory_order_relaxed)) {
      return;
    }
    is_started = start_locked(true);
    is_child_pending_.store(false, std::memory_order_release);
  }
  if (!is_started) {
    is_on_.store(false, std::memory_order_seq_cst);
    update_gate();
    return;
  }
  // Other threads record meanwhile. The collector keeps what they record until the sinks are there.
  try {
    if (options_->on_child) {
      options_->on_child();
    }
  } catch (...) {
    base::say("a forked child could not go on with its parent's capture");
  }
  Collector& started = *collector();
  started.release();
  if (!started.has_sinks()) {
    is_on_.store(false, std::memory_order_seq_cst);
  }
  update_gate();
}

void Recorder::before_fork() noexcept {
  Recorder& self = instance();
  self.mutex_.lock();
  // The order in which threads take these: names, then the log; the collector takes what is known last.
  // A handler that forks may have interrupted its own thread with one of them.
  self.has_names_lock_ = self.names_.lock();
  self.has_log_lock_ = self.declarations_.lock();
  if (Collector* const collector = self.collector()) {
    collector->lock_known();
  }
}

void Recorder::unlock_after_fork() noexcept {
  if (has_log_lock_) {
    declarations_.unlock();
  }
  if (has_names_lock_) {
    names_.unlock();
  }
  mutex_.unlock();
}

void Recorder::after_fork_in_parent() noexcept {
  Recorder& self = instance();
  if (Collector* const collector = self.collector()) {
    collector->unlock_known();
  }
  self.unlock_after_fork();
}

void Recorder::after_fork_in_child() noexcept {
  Recorder& self = instance();
  forked_thread = ::pthread_self();
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask_at_fork);
  if (Collector* const collector = self.collector()) {
    // The collector's thread does not exist here, and the object cannot be destroyed without it. What it knows is read
    // when this process starts a collector of its own.
    self.known_before_fork_ = &collector->known();
    collector->unlock_known();
    self.collector_.store(nullptr, std::memory_order_relaxed);
    self.is_child_pending_.store(self.is_on(), std::memory_order_relaxed);
  }
  if (self.process_mark_ != nullptr) {
    *self.process_mark_ = 1;
  }
  forget_slots_in_child();
  self.claim_.reset();
  if (Pool* const inherited = self.pool_.exchange(nullptr, std::memory_order_relaxed)) {
    inherited->abandon_in_child();
  }
  self.frames_.store(0, std::memory_order_relaxed);
  self.dropped_without_pool_.store(0, std::memory_order_relaxed);
  self.declarations_.detach();
  self.unlock_after_fork();
}

}  // namespace kymo::record
