#include "base/system/file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "support/temporary_directory.hpp"

namespace kymo::base {
namespace {

TEST(FileTest, WhatIsWrittenIsReadBackAndTheEndIsShort) {
  const test::TemporaryDirectory directory;
  const FileDescriptor file(::open((directory / "file").c_str(), O_RDWR | O_CREAT, 0600));
  const std::array<std::byte, 4> bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  ASSERT_TRUE(write_fully(file.get(), bytes));
  std::array<std::byte, 8> back{};
  EXPECT_EQ(read_fully_at(file.get(), back, 1), 3);
  EXPECT_EQ(back[0], std::byte{2});
  EXPECT_EQ(read_fully_at(file.get(), back, 100), 0);
}

TEST(FileTest, AFailureLeavesErrno) {
  const FileDescriptor file(::open("/dev/null", O_RDONLY));
  const std::array<std::byte, 1> bytes{};
  EXPECT_FALSE(write_fully(file.get(), bytes));
  EXPECT_EQ(errno, EBADF);
}

TEST(FileTest, ADescriptorHasOneOwner) {
  FileDescriptor first(::open("/dev/null", O_RDONLY));
  const int number = first.get();
  FileDescriptor second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is the point
  EXPECT_EQ(second.get(), number);
  second.reset();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(FileTest, AMissingSmallFileIsEmpty) {
  EXPECT_EQ(read_small_file("/proc/self/nowhere"), "");
}

}  // namespace
}  // namespace kymo::base
