// The memory that control groups leave to a process, read from trees of files that are made up.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "base/system/system.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::base {
namespace {

namespace fs = std::filesystem;

class MemoryRoomTest : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& content) const {
    const fs::path path = directory_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content << '\n';
  }
  [[nodiscard]] std::uint64_t room() const {
    return control_group_room(directory_ / "membership", directory_.path().string());
  }

  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  test::TemporaryDirectory directory_;
};

TEST_F(MemoryRoomTest, WithoutALimitThereIsNone) {
  EXPECT_EQ(room(), unlimited) << "without control groups";
  put("membership", "0::/service");
  put("service/memory.max", "max");
  put("service/memory.current", "1000");
  EXPECT_EQ(room(), unlimited);
}

TEST_F(MemoryRoomTest, TheTightestOfTheGroupsAroundAProcessCounts) {
  put("membership", "0::/service/worker");
  put("service/worker/memory.max", "5000");
  put("service/worker/memory.current", "1000");
  put("service/memory.max", "6000");
  put("service/memory.current", "5500");
  EXPECT_EQ(room(), 500U);
}

TEST_F(MemoryRoomTest, PagesThatTheKernelTakesBackAreRoom) {
  put("membership", "0::/");
  put("memory.max", "5000");
  put("memory.current", "4500");
  put("memory.stat", "anon 100\nactive_inactive_file 7\ninactive_file 1500");
  EXPECT_EQ(room(), 2000U);
}

TEST_F(MemoryRoomTest, GroupsOfTheFirstVersionAreReadToo) {
  put("membership", "5:cpu,cpuacct:/other\n4:memory:/docker/abc\n0::/unified");
  put("memory/memory.limit_in_bytes", "8000");
  put("memory/memory.usage_in_bytes", "7000");
  put("memory/memory.stat", "inactive_file 1\ntotal_inactive_file 500");
  EXPECT_EQ(room(), 1500U) << "the container's own group is on top; the path is that of its host";
}

TEST_F(MemoryRoomTest, AGroupThatUsesMoreThanItsLimitLeavesNoRoom) {
  put("membership", "not a line\n0::/");
  put("memory.max", "5000");
  put("memory.current", "6000");
  EXPECT_EQ(room(), 0U);
}

TEST_F(MemoryRoomTest, HalfOfTheRoomMayBeTaken) {
  EXPECT_LE(spare_memory(), unlimited / 2) << "Linux tells what is available";
  EXPECT_GT(spare_memory(), 0U);
}

}  // namespace
}  // namespace kymo::base
