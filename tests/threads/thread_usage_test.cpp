#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temporary_directory.hpp"
#include "threads/states/thread_usage.hpp"

namespace kymo::threads {
namespace {

class FakeProc {
 public:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void add(int pid, int parent, int tid, const std::string& schedstat) const {
    const std::string folder = std::to_string(pid);
    write(folder + "/stat", folder + " (a ) S 1 name) S " + std::to_string(parent) + " 1 1");
    write(folder + "/task/" + std::to_string(tid) + "/schedstat", schedstat);
    write(folder + "/task/" + std::to_string(tid) + "/comm", "thread" + std::to_string(tid) + "\n");
  }
  [[nodiscard]] std::string path() const { return directory_.path().string(); }

 private:
  test::TemporaryDirectory directory_;
};

TEST(ThreadUsage, EveryThreadOfTheTreeHasItsTimes) {
  const FakeProc proc;
  proc.add(10, 1, 10, "1500000000 250000000 7\n");
  proc.add(10, 1, 11, "500 0 1\n");
  proc.add(20, 10, 20, "7 8 1\n");
  proc.add(30, 1, 30, "9 9 9\n");  // of another tree
  ThreadUsage usage(10, proc.path());
  EventBatch batch;
  usage.read(77, batch);
  ASSERT_EQ(batch.declarations.metrics.size(), 6U);
  EXPECT_EQ(batch.declarations.metrics[0].name, "thread_running_time");
  EXPECT_EQ(batch.declarations.metrics[0].labels[2].second, "thread10");
  ASSERT_EQ(batch.samples.size(), 6U);
  EXPECT_EQ(batch.samples[0].values[0], 1.5);
  EXPECT_EQ(batch.samples[1].values[0], 0.25);
  EXPECT_EQ(batch.samples[0].times_ns[0], 77);
  usage.read(78, batch);
  EXPECT_TRUE(batch.declarations.empty());
  EXPECT_EQ(batch.samples.size(), 6U);
}

TEST(ThreadUsage, WhatCannotBeReadIsMissing) {
  ThreadTimes times;
  for (const char* const text : {"", "1", "1 ", "1 2", "a 2 3", "-1 2 3", "1 -2 3", "99999999999999999999 1 1"}) {
    EXPECT_FALSE(parse_schedstat(text, times)) << text;
  }
  const FakeProc proc;
  proc.add(10, 1, 10, "garbage");
  ThreadUsage usage(10, proc.path());
  EventBatch batch;
  usage.read(1, batch);
  EXPECT_TRUE(batch.samples.empty());
}

}  // namespace
}  // namespace kymo::threads
