// Which processes there are, by their ids.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <string>

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace kymo::base {
namespace {

TEST(ProcessTest, OneThatHasEndedIsNoneAlsoBeforeItsParentNotices) {
  EXPECT_TRUE(is_process(static_cast<std::uint64_t>(::getpid())));
  EXPECT_FALSE(is_process(0));
  EXPECT_FALSE(is_process(std::uint64_t{1} << 40U));
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(::kill(child, 0), 0);
  EXPECT_FALSE(is_process(static_cast<std::uint64_t>(child)));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_process(static_cast<std::uint64_t>(child)));
}

TEST(ProcessTest, OneGoesOnWithoutItsFirstThread) {
  if (test::is_emulated || test::has_sanitizer) {
    GTEST_SKIP() << "a forked child has no threads there";
  }
  const pid_t child = ::fork();
  if (child == 0) {
    pthread_t other{};
    ::pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          for (;;) {
            ::pause();
          }
        },
        nullptr);
    ::syscall(SYS_exit, 0);
  }
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  EXPECT_TRUE(test::wait_until([&] { return read_small_file(stat).find(") Z") != std::string::npos; }));
  EXPECT_TRUE(is_process(static_cast<std::uint64_t>(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace kymo::base
