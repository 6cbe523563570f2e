// When a worker takes its starter's capture for ended: by the file and its lock, not by a writer that lost that.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "capture/write/capture_writer.hpp"
#include "capture/write/destination.hpp"
#include "control/followed_capture.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

namespace fs = std::filesystem;
using control::FollowedCapture;

class FollowedCaptureTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const { return (directory_.path() / name).string(); }

  TemporaryDirectory directory_;
  std::optional<capture::CaptureWriter> writer_{std::in_place, path("run.kymo"), capture::CaptureWriterOptions()};
};

TEST_F(FollowedCaptureTest, ItEndsOnceTheFileIsWholeAndClosedWhereverItIsByThen) {
  FollowedCapture followed(path("run.kymo"));
  EXPECT_FALSE(followed.has_ended());
  writer_->finish();
  EXPECT_FALSE(followed.has_ended()) << "its writer may be about to flush it";
  writer_.reset();
  fs::rename(path("run.kymo"), path("moved.kymo"));
  EXPECT_TRUE(followed.has_ended());
}

TEST_F(FollowedCaptureTest, AnUnfinishedFileHasNotEndedThoughNobodyLocksIt) {
  fs::copy_file(path("run.kymo"), path("unlocked.kymo"));
  EXPECT_FALSE(FollowedCapture(path("unlocked.kymo")).has_ended()) << "its writer may have lost the lock";
}

TEST_F(FollowedCaptureTest, AnotherFileUnderItsNameIsALaterRecordings) {
  const base::FileId id = base::id_of(path("run.kymo"));
  EXPECT_FALSE(FollowedCapture(path("run.kymo"), id).has_ended());
  fs::rename(path("run.kymo"), path("moved.kymo"));
  EXPECT_TRUE(FollowedCapture(path("run.kymo"), id).has_ended());
  const capture::CaptureWriter later(path("run.kymo"), capture::CaptureWriterOptions());
  EXPECT_TRUE(FollowedCapture(path("run.kymo"), id).has_ended());
}

TEST_F(FollowedCaptureTest, TheWriterSeesWhoFollows) {
  const base::FileDescriptor file(::open(path("run.kymo").c_str(), O_RDONLY | O_CLOEXEC));
  const auto is_followed = [&] { return base::is_locked(file.get(), capture::follower_lock_byte); };
  EXPECT_EQ(is_followed(), false);
  FollowedCapture one(path("run.kymo"));
  FollowedCapture other(path("run.kymo"));
  EXPECT_EQ(is_followed(), true);
  one.leave();
  EXPECT_EQ(is_followed(), true);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();  // and has a copy of each descriptor
    ::_exit(0);
  }
  other.leave();
  EXPECT_EQ(is_followed(), false);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(FollowedCaptureTest, WhatIsGoneHasEndedAndWhatIsNoFileHasNot) {
  EXPECT_TRUE(FollowedCapture(path("none.kymo")).has_ended());
  EXPECT_FALSE(FollowedCapture(directory_.path().string()).has_ended());
  FollowedCapture device("/dev/null");
  EXPECT_FALSE(device.has_ended());
  const base::FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(base::is_locked(file.get(), capture::follower_lock_byte), false) << "everybody uses it";
}

}  // namespace
}  // namespace kymo::test
