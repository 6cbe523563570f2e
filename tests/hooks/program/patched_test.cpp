// Functions that are patched when they are recorded. The compiler that cannot prepare them hooks them, and the same is
// recorded.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "patchable_functions.hpp"
#include "recorded_scopes.hpp"

namespace {

using Lines = std::vector<std::string>;
using Code = std::array<unsigned char, 11>;  // as many as a patch changes

template <typename Function>
Code code_of(Function* function) {
  Code code;
  std::memcpy(code.data(), reinterpret_cast<const void*>(function), code.size());
  return code;
}

const Code loaded_outer = code_of(&patchable::outer);
const Code loaded_excluded = code_of(&patchable::excluded);

TEST(Patched, NestedCallsAreNestedScopes) {
  Recording recording;
  EXPECT_EQ(patchable::outer(1), 4);
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"patchable::outer", "  patchable::leaf", "  patchable::leaf"}));
  EXPECT_EQ(recording.scopes()[0].site.kind, kymo::SiteKind::hooked);
  EXPECT_EQ(recording.scopes()[0].site.function, "patchable::outer(int)");
}

TEST(Patched, OnlyTheCodeOfRecordedFunctionsIsChanged) {
  Recording recording;
  patchable::outer(1);
  patchable::excluded(1);
  patchable::skipped(1);
  recording.stop();
  EXPECT_EQ(recording.scopes().size(), 3U);
  EXPECT_EQ(code_of(&patchable::excluded), loaded_excluded);
#ifdef TEST_PATCHES
  constexpr unsigned char short_jump = 0xEB;
  EXPECT_EQ(loaded_outer[0], short_jump) << "what it costs while nothing is recorded";
  EXPECT_EQ(loaded_excluded[0], short_jump);
  EXPECT_NE(code_of(&patchable::outer), loaded_outer);
#else
  EXPECT_EQ(code_of(&patchable::outer), loaded_outer);
#endif
}

/// Chosen once a process, so in one of its own.
TEST(Patched, PatternsOfTheEnvironmentChooseWhatIsChanged) {
#ifdef KYMO_TEST_EMULATED
  GTEST_SKIP() << "it starts itself, which takes the emulator";
#endif
  constexpr const char* variable = "KYMO_SITES";
  constexpr const char* pattern = "-*outer";
  if (const char* const chosen = std::getenv(variable); chosen == nullptr || chosen != std::string(pattern)) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    EXPECT_EQ(std::system((std::string(variable) + "='" + pattern + "' " + self + " --gtest_filter=*." + name).c_str()),
              0);
    return;
  }
  Recording recording;
  patchable::outer(1);
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"patchable::leaf", "patchable::leaf"}));
  EXPECT_EQ(code_of(&patchable::outer), loaded_outer);
}

TEST(Patched, NothingIsRecordedWhileRecordingIsOff) {
  patchable::outer(1);
  Recording recording;
  recording.stop();
  patchable::outer(1);
  EXPECT_EQ(recording.scopes().size(), 0U);
  Recording again;
  patchable::leaf(1);
  again.stop();
  EXPECT_EQ(again.outline(), Lines{"patchable::leaf"});
}

TEST(Patched, ExceptionsEndTheScopesThatTheySkip) {
  Recording recording;
  EXPECT_EQ(patchable::catches_from(1), 2);
  patchable::leaf(1);
  recording.stop();
  // Clang leaves out the exits of functions that end by an exception; the exit around them closes them.
#ifdef __clang__
  const Lines expected{"patchable::catches_from", "  patchable::throws_from!", "    patchable::throws_from!",
                       "      patchable::leaf", "patchable::leaf"};
#else
  const Lines expected{"patchable::catches_from", "  patchable::throws_from", "    patchable::throws_from",
                       "  patchable::leaf", "patchable::leaf"};
#endif
  EXPECT_EQ(recording.outline(), expected);
}

#ifdef TEST_PATCHES
TEST(Patched, AFunctionThatEndsInACallEndsBeforeIt) {
  Recording recording;
  EXPECT_EQ(patchable::calls_last(1), 2);
  recording.stop();
  EXPECT_EQ(recording.outline(), (Lines{"patchable::calls_last", "patchable::leaf"}));
}
#endif

// Clang's hooks are in those as well.
#if !defined(__clang__) || defined(TEST_PATCHES)
TEST(Patched, FunctionsOfTheCppLibraryAreNotRecorded) {
  Recording recording;
  EXPECT_EQ(patchable::uses_library(100), 7);
  recording.stop();
  EXPECT_EQ(recording.outline(), Lines{"patchable::uses_library"});
}
#endif

TEST(Patched, EachThreadsCallsAreItsOwnAndNoneIsMissing) {
  constexpr int threads = 8;
  constexpr int calls = 1'000;
  Recording recording;
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([] {
      for (int call = 0; call < calls; ++call) {
        patchable::outer(call);
      }
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  recording.stop();
  EXPECT_EQ(recording.count("patchable::outer"), static_cast<std::size_t>(threads * calls));
  EXPECT_EQ(recording.count("patchable::leaf"), static_cast<std::size_t>(2 * threads * calls));
  for (const RecordedScope& scope : recording.scopes()) {
    ASSERT_TRUE(scope.is_closed);
    ASSERT_EQ(scope.depth, scope.site.name == "patchable::leaf" ? 1U : 0U);
  }
}

}  // namespace
