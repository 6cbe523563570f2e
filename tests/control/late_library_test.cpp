// The recorder in a program that has used up the keys whose values the C library stores without allocating: nobody
// reports the ends of its threads.
#include "lifecycle_fixture.hpp"

namespace kymo {
namespace {

class LateLibraryTest : public LifecycleTest {};

TEST_F(LateLibraryTest, MemoryIsBoundedByTheThreadsThatLiveAndNoScopeIsDropped) {
  if (test::has_sanitizer || test::is_emulated) {
    GTEST_SKIP() << "the address space and the threads are not the program's own";
  }
  constexpr std::uint64_t threads = 10'000;
  EXPECT_EQ(run({HOOKED_MODULE, std::to_string(threads)}), 0) << output();
  EXPECT_EQ(counts(), (Counts{{"module_function", threads}, {"in it", threads}}));
}

}  // namespace
}  // namespace kymo
