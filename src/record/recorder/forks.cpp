// The recorder across fork.
#include <mutex>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/message.hpp"
#include "record/platform/platform.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::record {

namespace {

base::SayOnce say_without_handlers;

__thread bool child_waits KYMO_STATIC_TLS = false;

/// Signal mask of the forking thread, in the child. In a signal handler more signals are blocked.
std::uint64_t mask_at_fork = 0;
pthread_t forked_thread;

/// Whether this may be a handler, which can interrupt its thread anywhere, even in malloc().
bool may_be_in_handler() noexcept {
  if (::pthread_equal(::pthread_self(), forked_thread) == 0) {
    return false;  // the thread started in this process, so this is not a handler of the forking thread
  }
  return (blocked_signals() & ~mask_at_fork) != 0;
}

}  // namespace

Recorder::ChildWaits::ChildWaits() noexcept {
  child_waits = true;
}

Recorder::ChildWaits::~ChildWaits() {
  child_waits = false;
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
  // Threads that do not exist in this process may hold locks for ever, so it records nothing.
  is_child_pending_.store(false, std::memory_order_relaxed);
  is_on_.store(false, std::memory_order_seq_cst);
  kymo_scopes_on_v1.store(0, std::memory_order_seq_cst);
  collector_.store(nullptr, std::memory_order_relaxed);
  if (Pool* const inherited = pool_.exchange(nullptr, std::memory_order_relaxed)) {
    inherited->abandon_in_child();
  }
  *process_mark_ = 1;
  say_without_handlers("a process that _Fork() or clone() made records nothing: fork() has it recorded");
}

void Recorder::start_in_child(bool is_certain) noexcept {
  if (child_waits || (!is_certain && may_be_in_handler())) {
    return;
  }
  bool is_started = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_child_pending_.load(std::memory_order_relaxed)) {
      return;
    }
    const ChildWaits waits;
    is_started = start_locked(true);
    is_child_pending_.store(false, std::memory_order_release);
  }
  if (!is_started) {
    is_on_.store(false, std::memory_order_seq_cst);
    update_gate();
    return;
  }
  // Other threads already record. The collector keeps their events until the sinks exist.
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
  mutex_.lock();
  // Signals are held back under each of these locks, so this thread, which may be in a handler, holds none of them, and
  // who holds one goes on and gives it back. No thread takes two of them but this one.
  has_names_lock_ = names_.lock();
  has_log_lock_ = declarations_.lock();
  if (Collector* const current = collector()) {
    current->lock_known();
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
  if (Collector* const current = collector()) {
    current->unlock_known();
  }
  unlock_after_fork();
}

void Recorder::after_fork_in_child() noexcept {
  forked_thread = ::pthread_self();
  mask_at_fork = blocked_signals();
  if (Collector* const current = collector()) {
    // The collector's thread does not exist in the child, and the object cannot be destroyed without it. Its known
    // declarations are read when the child starts its own collector.
    known_before_fork_ = &current->known();
    current->unlock_known();
    collector_.store(nullptr, std::memory_order_relaxed);
    is_child_pending_.store(is_on(), std::memory_order_relaxed);
  }
  if (process_mark_ != nullptr) {
    *process_mark_ = 1;
  }
  claim_.reset();
  if (Pool* const inherited = pool_.exchange(nullptr, std::memory_order_relaxed)) {
    inherited->abandon_in_child();
  }
  is_finishing_.store(false, std::memory_order_relaxed);
  frames_.store(0, std::memory_order_relaxed);
  dropped_without_pool_.store({});
  declarations_.detach();
  unlock_after_fork();
}

}  // namespace kymo::record
