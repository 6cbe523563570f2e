// Words that threads of one process wait on. Async-signal-safe; errno is kept.
#pragma once

#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kymo::record {

/// Waits while the word holds `expected`, at most 5 ms. Spurious returns happen.
inline void private_futex_wait(std::uint32_t* word, std::uint32_t expected) noexcept {
  const int saved_errno = errno;
  const timespec longest{0, 5'000'000};
  ::syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, &longest, nullptr, 0U);
  errno = saved_errno;
}

inline void private_futex_wake_all(std::uint32_t* word) noexcept {
  const int saved_errno = errno;
  ::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr, 0U);
  errno = saved_errno;
}

}  // namespace kymo::record
