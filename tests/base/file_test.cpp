#include "base/system/file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
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

// Timers, events and epolls have one inode in common.
TEST(FileTest, AKnownFileIsNotTakenForAnotherOfTheSameInode) {
  for (const bool is_of_one_inode : {true, false}) {
    const auto open_one = [&] {
      return is_of_one_inode ? ::eventfd(0, EFD_CLOEXEC) : ::memfd_create("file", MFD_CLOEXEC);
    };
    KnownFile own{FileDescriptor(open_one())};
    const int number = own.number();
    ASSERT_GE(number, 0);
    EXPECT_EQ(own.get(), number);
    KnownFile moved = std::move(own);
    EXPECT_EQ(moved.get(), number);
    const FileDescriptor others(open_one());
    ASSERT_EQ(::dup2(others.get(), number), number);
    EXPECT_EQ(moved.get(), -1);
    moved.reset();
    EXPECT_NE(::fcntl(number, F_GETFD), -1) << "the program's file stays open";
    ::close(number);
  }
}

TEST(FileTest, AKnownFileThatWasClosedIsOpenedAgainAlsoUnderItsOldNumber) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "file";
  KnownFile file(open_high(path, O_RDWR | O_CREAT, 0600));
  const int number = file.number();
  ASSERT_GE(number, 0);
  ASSERT_EQ(::close(number), 0);
  EXPECT_EQ(file.get(), -1);
  EXPECT_EQ(file.get_or_reopen(path, O_RDWR), number);
  EXPECT_EQ(file.get(), number);
}

TEST(FileTest, AMissingSmallFileIsEmpty) {
  EXPECT_EQ(read_small_file("/proc/self/nowhere"), "");
}

}  // namespace
}  // namespace kymo::base
