// How long the long tests run.
#pragma once

#include <algorithm>

namespace kymo::test {

/// Whether a sanitizer is built in. The allocators of those of GCC 12 and Clang 14 do not know forks: a child may find
/// them locked by a thread that it does not have. So programs that fork do without sampling threads there.
#if defined(KYMO_TEST_SANITIZED)
inline constexpr bool has_sanitizer = true;
#else
inline constexpr bool has_sanitizer = false;
#endif

/// Whether qemu-user runs the test: the kernel is the host's, and so is what it says of the machine.
#if defined(KYMO_TEST_EMULATED)
inline constexpr bool is_emulated = true;
#else
inline constexpr bool is_emulated = false;
#endif

/// Why children that record after a fork are left out there (qemu 7.2).
inline constexpr const char* no_threads_after_fork =
    "qemu-user aborts a forked child of a program with threads when it starts one";

/// How many rounds of a test that repeats itself: all of them, and a tenth where a sanitizer or an emulator makes each
/// ten times slower.
template <typename Count>
constexpr Count rounds(Count all) {
  return has_sanitizer || is_emulated ? std::max<Count>(all / 10, 1) : all;
}

}  // namespace kymo::test
