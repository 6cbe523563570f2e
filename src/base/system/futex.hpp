// Waits until a word in memory changes. Locks, the collector and the sampler sleep on these calls.
//
// Every wait may return early without a reason. A WebAssembly program has a single thread, so there no wait blocks.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__EMSCRIPTEN_PTHREADS__)
#error "kymo records WebAssembly programs of one thread: build without -pthread"
#endif

namespace kymo::base {

/// Waits on a word shared between processes while it holds `expected`, at most `timeout_ns`.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

/// Waits on a word of this process while it holds `expected`, at most 5 ms. Async-signal-safe; keeps errno.
void private_futex_wait(std::uint32_t* word, std::uint32_t expected) noexcept;
/// The same, until monotonic_now_ns() reaches `deadline_ns`.
void private_futex_wait_until(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept;
/// Async-signal-safe; keeps errno.
void private_futex_wake_all(std::uint32_t* word) noexcept;

}  // namespace kymo::base
