// Words that threads of one process wait on. Async-signal-safe; errno is kept.
//
// The calls are those that macOS's and LLVM's C++ libraries wait with; the SDK has no header for them.
#pragma once

#include <cstdint>

extern "C" {
int __ulock_wait(std::uint32_t operation, void* address, std::uint64_t value, std::uint32_t timeout_us);
int __ulock_wake(std::uint32_t operation, void* address, std::uint64_t value);
}

namespace kymo::record {

inline constexpr std::uint32_t ulock_compare_and_wait = 1;
inline constexpr std::uint32_t ulock_wake_all = 0x100;
inline constexpr std::uint32_t ulock_no_errno = 0x1000000;

/// Waits while the word holds `expected`. Spurious returns happen.
inline void private_futex_wait(std::uint32_t* word, std::uint32_t expected) noexcept {
  ::__ulock_wait(ulock_compare_and_wait | ulock_no_errno, word, expected, 5'000);
}

inline void private_futex_wake_all(std::uint32_t* word) noexcept {
  ::__ulock_wake(ulock_compare_and_wait | ulock_wake_all | ulock_no_errno, word, 0);
}

}  // namespace kymo::record
