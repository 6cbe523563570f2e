// How long the long tests run.
#pragma once

#include <algorithm>

namespace kymo::test {

/// Whether a sanitizer is built in. The allocators of those of GCC 12 and Clang 14 do not know forks: a child may find
/// them locked by a thread that it does not have. So programs that fork do without sampling threads there.
#if defined(KYMO_TEST_FEWER_ROUNDS)
inline constexpr bool has_sanitizer = true;
#else
inline constexpr bool has_sanitizer = false;
#endif

/// How many rounds of a test that repeats itself: all of them, and a tenth where a sanitizer makes each ten times
/// slower.
template <typename Count>
constexpr Count rounds(Count all) {
#if defined(KYMO_TEST_FEWER_ROUNDS)
  return std::max<Count>(all / 10, 1);
#else
  return all;
#endif
}

}  // namespace kymo::test
