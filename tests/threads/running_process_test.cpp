// What /proc says of a process, as records: of this one, and of text that may be anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include "threads/states/running_process.hpp"

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;

TEST(RunningProcess, HasItsThreadsAndItsCode) {
  std::atomic<bool> ends{false};
  std::atomic<bool> is_named{false};
  std::thread other([&] {
    ::pthread_setname_np(::pthread_self(), "other thread");
    is_named = true;
    while (!ends) {
      std::this_thread::yield();
    }
  });
  while (!is_named) {
    std::this_thread::yield();
  }
  const std::vector<KernelRecord> records = describe_process(::getpid(), 1234);
  // A sanitizer's runtime may have a thread of its own.
  const auto tasks = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  ends = true;
  other.join();
  EXPECT_EQ(std::count_if(records.begin(), records.end(),
                          [](const KernelRecord& record) { return record.kind == Kind::found; }),
            tasks);
  EXPECT_TRUE(std::any_of(records.begin(), records.end(), [](const KernelRecord& record) {
    return record.kind == Kind::found && record.name == "other thread" &&
           record.pid == static_cast<std::uint32_t>(::getpid()) && record.time_ns == 1234;
  }));
  const auto own = reinterpret_cast<std::uint64_t>(&describe_process);
  const auto code = std::find_if(records.begin(), records.end(), [own](const KernelRecord& record) {
    return record.kind == Kind::mapped && own >= record.address && own - record.address < record.size;
  });
  ASSERT_NE(code, records.end());
  EXPECT_NE(code->name.find("threads_test"), std::string::npos);
  EXPECT_NE(code->inode, 0U);
  EXPECT_TRUE(describe_process(-1, 0).empty());
}

TEST(RunningProcess, AMappingHasItsPlaceAndItsPath) {
  const KernelRecord record =
      parse_mapping_line("7f10a000-7f10c000 r-xp 00001000 fe:01 4711      /usr/lib/a name.so (deleted)");
  EXPECT_EQ(record.kind, Kind::mapped);
  EXPECT_EQ(record.address, 0x7f10a000U);
  EXPECT_EQ(record.size, 0x2000U);
  EXPECT_EQ(record.file_offset, 0x1000U);
  EXPECT_EQ(record.inode, 4711U);
  EXPECT_EQ(record.name, "/usr/lib/a name.so");
  EXPECT_EQ(parse_mapping_line("7f10a000-7f10c000 rwxp 00000000 00:00 0 ").name, "//anon");
  EXPECT_EQ(parse_mapping_line("7ffd8000-7ffda000 r-xp 00000000 00:00 0                 [vdso]").name, "[vdso]");
  EXPECT_EQ(parse_mapping_line("7f10a000-7f10c000 rw-p 00001000 fe:01 4711 /data").kind, Kind::other);
}

TEST(RunningProcess, AnyTextIsNoHarm) {
  const std::string whole = "7f10a000-7f10c000 r-xp 00001000 fe:01 4711      /usr/lib/a.so";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    static_cast<void>(parse_mapping_line(whole.substr(0, length)));
  }
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const KernelRecord record = parse_mapping_line(text);
    EXPECT_TRUE(record.kind != Kind::mapped || record.size > 0);
  }
}

}  // namespace
}  // namespace kymo::threads
