// How the collector sleeps and is woken: a waker makes the system call only if the collector sleeps. Templates over the
// atomics, so that a test can run them under every interleaving that the memory model permits.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::record {

/// The collector's side: `wait(wake, seen)` sleeps while `wake` holds `seen`. Work is added by a sequentially
/// consistent change before wake_sleeper(), or under a lock, and has_work() checks it in the same way. So either
/// has_work() sees the work, or wake_sleeper() sees `is_asleep`.
template <typename Word, typename HasWork, typename Wait>
void sleep_unless(Word& wake, Word& is_asleep, const HasWork& has_work, const Wait& wait) {
  const std::uint32_t seen = wake.load(std::memory_order_acquire);
  is_asleep.store(1, std::memory_order_seq_cst);
  if (!has_work()) {
    wait(wake, seen);
  }
  is_asleep.store(0, std::memory_order_relaxed);
}

/// The waker's side, called after adding the work. `wake_all(wake)` wakes the sleepers on the word; of several
/// concurrent wakers, one calls it. Async-signal-safe if `wake_all` is.
template <typename Word, typename WakeAll>
void wake_sleeper(Word& wake, Word& is_asleep, const WakeAll& wake_all) noexcept {
  if (is_asleep.load(std::memory_order_seq_cst) != 0 && is_asleep.exchange(0, std::memory_order_acq_rel) != 0) {
    wake.fetch_add(1, std::memory_order_release);
    wake_all(wake);
  }
}

}  // namespace kymo::record
