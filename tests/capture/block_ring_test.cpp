// The flight recorder's ring in shared memory: what it takes, and what it keeps where it gets no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "capture/format/block.hpp"
#include "capture/write/block_ring.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::capture {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mebibyte = 1 << 20;

/// A complete block of this size; its number tells it from others.
std::vector<std::byte> block_of(std::uint32_t number, std::size_t size) {
  std::vector<std::byte> block(size);
  BlockHeader header;
  header.number = number;
  header.stored_size = static_cast<std::uint32_t>(size - block_header_size);
  header.raw_size = header.stored_size;
  header.end_ns = number;
  encode_header(header, std::span(block).first<block_header_size>());
  return block;
}

std::vector<std::uint32_t> numbers_of(const std::vector<std::vector<std::byte>>& blocks) {
  std::vector<std::uint32_t> numbers;
  for (const auto& block : blocks) {
    const auto header = parse_header(block);
    numbers.push_back(header ? header->number : 0);
  }
  return numbers;
}

std::vector<std::uint32_t> from_to(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> numbers;
  for (; first <= last; ++first) {
    numbers.push_back(first);
  }
  return numbers;
}

class BlockRingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (base::spare_room("/dev/shm") < 128 * mebibyte) {
      GTEST_SKIP() << "/dev/shm has no room";
    }
    directory_ = std::make_unique<test::TemporaryDirectory>("/dev/shm");
  }

  [[nodiscard]] BlockRingOptions options(std::uint64_t capacity) const {
    return {.spool_id = id_, .directory = directory_->path().string(), .capacity_bytes = capacity};
  }
  [[nodiscard]] std::string path() const { return block_ring_path(id_, directory_->path().string()); }
  /// The memory that the file takes.
  [[nodiscard]] std::uint64_t taken() const {
    struct stat status {};
    return ::stat(path().c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
  }
  [[nodiscard]] std::vector<std::uint32_t> kept() const {
    return numbers_of(read_block_ring(id_, directory_->path().string()).blocks);
  }

  std::string id_ = "ring";
  std::unique_ptr<test::TemporaryDirectory> directory_;
};

TEST_F(BlockRingTest, TakesMemoryAsBlocksCome) {
  BlockRing ring(options(64 * mebibyte));
  EXPECT_EQ(ring.capacity_bytes(), 64 * mebibyte);
  EXPECT_LE(taken(), 2 * mebibyte);
  for (std::uint32_t i = 1; i <= 10; ++i) {
    ring.push(block_of(i, mebibyte));
  }
  EXPECT_GE(taken(), 10 * mebibyte);
  EXPECT_LE(taken(), 12 * mebibyte);
  EXPECT_EQ(kept(), from_to(1, 10));
}

TEST_F(BlockRingTest, TellsWhetherBlocksWereReplacedSinceTheyWereLastTaken) {
  const auto take = [](std::span<const std::byte> /*block*/) {};
  const auto follow_lost_ones = [this] { return read_block_ring(id_, directory_->path().string()).follow_lost_ones; };
  BlockRing ring(options(mebibyte));
  for (std::uint32_t i = 1; i <= 4; ++i) {
    ring.push(block_of(i, mebibyte / 4));
  }
  EXPECT_FALSE(ring.has_lost_blocks());
  ring.take_all(take);
  EXPECT_FALSE(ring.has_lost_blocks()) << "taken, not replaced";
  ring.push(block_of(5, mebibyte / 4));
  EXPECT_FALSE(follow_lost_ones());
  for (std::uint32_t i = 6; i <= 9; ++i) {
    ring.push(block_of(i, mebibyte / 4));
  }
  EXPECT_TRUE(ring.has_lost_blocks());
  EXPECT_TRUE(follow_lost_ones());
  EXPECT_EQ(kept(), from_to(6, 9));
  ring.take_all(take);
  EXPECT_FALSE(ring.has_lost_blocks());
}

TEST_F(BlockRingTest, IsNoLargerThanTheMachineCanSpare) {
  const std::uint64_t room = base::spare_room("/dev/shm");
  BlockRing ring(options(std::uint64_t{1} << 50U));
  EXPECT_TRUE(ring.survives_kill());
  EXPECT_LE(ring.capacity_bytes(), room + room / 8) << "others may have left some since";
  EXPECT_LE(taken(), 2 * mebibyte);
}

TEST_F(BlockRingTest, InPrivateMemoryAsWell) {
  const std::uint64_t spare = base::spare_memory();
  const BlockRing ring({.spool_id = "", .directory = "/dev/shm", .capacity_bytes = std::uint64_t{1} << 50U});
  EXPECT_FALSE(ring.survives_kill());
  EXPECT_LE(ring.capacity_bytes(), spare + spare / 8);
}

TEST_F(BlockRingTest, LeavesRoomForThePool) {
  const std::uint64_t spare = base::spare_memory();
  const BlockRing ring(
      {.spool_id = "", .directory = "/dev/shm", .capacity_bytes = std::uint64_t{1} << 50U, .promised_bytes = spare});
  EXPECT_LE(ring.capacity_bytes(), spare / 2 + spare / 8);
}

TEST_F(BlockRingTest, RespectsTheLimitOnTheSizeOfFiles) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 3 * mebibyte;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    BlockRing ring(options(64 * mebibyte));
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(ring.survives_kill());
    EXPECT_LE(ring.capacity_bytes(), 3 * mebibyte);
    for (std::uint32_t i = 1; i <= 20; ++i) {
      ring.push(block_of(i, mebibyte / 2));
    }
    EXPECT_EQ(kept(), from_to(16, 20));
  }
}

TEST_F(BlockRingTest, WhereNoMoreRoomIsGivenItKeepsTheNewestInWhatItHas) {
  BlockRing ring(options(64 * mebibyte));
  ring.push(block_of(1, mebibyte / 4));
  // Neither the descriptor nor the name leads to the file any more.
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (fs::read_symlink(entry.path(), ignored) == path()) {
      ::close(std::atoi(entry.path().filename().c_str()));
      break;
    }
  }
  const std::string elsewhere = directory_->path() / "elsewhere";
  fs::rename(path(), elsewhere);
  for (std::uint32_t i = 2; i <= 20; ++i) {
    ring.push(block_of(i, mebibyte / 4));
  }
  EXPECT_EQ(ring.capacity_bytes(), mebibyte);
  fs::rename(elsewhere, path());
  EXPECT_LE(taken(), 2 * mebibyte);
  EXPECT_EQ(kept(), from_to(17, 20));
}

}  // namespace
}  // namespace kymo::capture
