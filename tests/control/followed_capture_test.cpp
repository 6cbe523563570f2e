// When a worker takes its starter's capture for ended: by the file and its lock, not by a writer that lost that.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include <unistd.h>

#include "capture/write/capture_writer.hpp"
#include "control/followed_capture.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

namespace fs = std::filesystem;
using control::FollowedCapture;

class FollowedCaptureTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const { return (directory_.path() / name).string(); }

  const std::uint64_t self_ = static_cast<std::uint64_t>(::getpid());
  TemporaryDirectory directory_;
  std::optional<capture::CaptureWriter> writer_{std::in_place, path("run.kymo"), capture::CaptureWriterOptions()};
};

TEST_F(FollowedCaptureTest, ItEndsOnceTheFileIsWholeAndClosedWhereverItIsByThen) {
  FollowedCapture followed(path("run.kymo"), self_);
  EXPECT_FALSE(followed.has_ended());
  writer_->finish();
  EXPECT_FALSE(followed.has_ended()) << "its writer may be about to flush it";
  writer_.reset();
  fs::rename(path("run.kymo"), path("moved.kymo"));
  EXPECT_TRUE(followed.has_ended());
}

TEST_F(FollowedCaptureTest, WithoutALockAnUnfinishedFileEndsWithItsWriter) {
  fs::copy_file(path("run.kymo"), path("unlocked.kymo"));
  EXPECT_FALSE(FollowedCapture(path("unlocked.kymo"), self_).has_ended());
  ChildProcess ended({"/bin/true"});
  ended.wait();
  EXPECT_TRUE(FollowedCapture(path("unlocked.kymo"), static_cast<std::uint64_t>(ended.pid())).has_ended());
}

TEST_F(FollowedCaptureTest, WhatIsGoneHasEndedAndWhatIsNoFileHasNot) {
  EXPECT_TRUE(FollowedCapture(path("none.kymo"), self_).has_ended());
  EXPECT_FALSE(FollowedCapture(directory_.path().string(), self_).has_ended());
  EXPECT_FALSE(FollowedCapture("/dev/null", self_).has_ended());
}

}  // namespace
}  // namespace kymo::test
