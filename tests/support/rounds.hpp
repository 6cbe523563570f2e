// How long the long tests run.
#pragma once

#include <algorithm>

namespace kymo::test {

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
