// The duration of long tests.
#pragma once

#include <algorithm>

namespace kymo::test {

/// Whether a sanitizer is built in.
#if defined(KYMO_TEST_SANITIZED)
inline constexpr bool has_sanitizer = true;
#else
inline constexpr bool has_sanitizer = false;
#endif

/// Whether AddressSanitizer is built in. Its allocator in GCC 12 and Clang 14 does not support fork: a child may find
/// it locked by a thread that it does not have. Programs that fork therefore have no threads that allocate then.
#if defined(KYMO_TEST_ADDRESS_SANITIZED)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

/// Whether qemu-user runs the test. The kernel, and so everything it reports about the machine, is the host's.
#if defined(KYMO_TEST_EMULATED)
inline constexpr bool is_emulated = true;
#else
inline constexpr bool is_emulated = false;
#endif

/// Why children that record after a fork are skipped there (qemu 7.2).
inline constexpr const char* no_threads_after_fork =
    "qemu-user aborts a forked child of a program with threads when it starts one";

/// Why children of programs whose threads allocate at the fork are skipped under AddressSanitizer.
inline constexpr const char* no_fork_beside_allocations =
    "the sanitizer's allocator does not survive a fork beside a thread that allocates";

/// The number of rounds of a repeated test: all, or a tenth if a sanitizer or an emulator slows each by a factor of
/// ten.
template <typename Count>
constexpr Count rounds(Count all) {
  return has_sanitizer || is_emulated ? std::max<Count>(all / 10, 1) : all;
}

}  // namespace kymo::test
