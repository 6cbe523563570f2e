// Waiting for a word in memory to change: what locks and the collector sleep on.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__EMSCRIPTEN__)
#include "record/futex_emscripten.hpp"
#elif defined(__APPLE__)
#include "record/futex_macos.hpp"
#else
#include "record/futex_linux.hpp"
#endif

namespace kymo::record {

/// Waits on a word in shared memory while it holds `expected`, at most `timeout_ns`. Spurious returns happen.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace kymo::record
