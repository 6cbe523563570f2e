// Records sorted by time, in memory and through a file.
#include "exchange/import/record_sorter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/output/output_file.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::exchange {
namespace {

using Entry = std::tuple<std::int64_t, std::int64_t, std::size_t, std::string>;

/// Sorts records of any size with many equal keys, and checks them against a sorted vector.
std::uint64_t sort_and_check(std::size_t count, std::size_t memory) {
  const kymo::test::TemporaryDirectory directory;
  RecordSorter sorter(directory.path().string(), memory);
  std::mt19937 random(5);
  std::vector<Entry> expected;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t time = static_cast<int>(random() % 100) - 50;
    const std::int64_t rank = static_cast<int>(random() % 5) - 2;
    const std::string record(random() % (i % 50 == 0 ? 20'000 : 30), static_cast<char>('a' + random() % 26));
    expected.emplace_back(time, rank, i, record);
    sorter.add({time, rank}, record);
  }
  sorter.finish();
  std::sort(expected.begin(), expected.end());
  std::string_view record;
  for (const Entry& entry : expected) {
    EXPECT_TRUE(sorter.next(record));
    EXPECT_EQ(record, std::get<3>(entry));
  }
  EXPECT_FALSE(sorter.next(record));
  EXPECT_FALSE(sorter.next(record));
  return sorter.bytes_in_file();
}

TEST(RecordSorter, RecordsComeByTimeRankAndTheOrderTheyWereAdded) {
  EXPECT_EQ(sort_and_check(2000, std::size_t{64} << 20U), 0U);
}

TEST(RecordSorter, WhatDoesNotFitIntoMemoryIsSortedThroughAFile) {
  EXPECT_GT(sort_and_check(2000, 20'000), 300'000U);
  EXPECT_GT(sort_and_check(300, 1), 30'000U);
}

TEST(RecordSorter, NothingMakesNothing) {
  EXPECT_EQ(sort_and_check(0, 1000), 0U);
}

TEST(RecordSorter, ADirectoryThatIsNotThereIsAnError) {
  RecordSorter sorter("/nonexistent", 1);
  sorter.add({1, 1}, "a");
  EXPECT_THROW(sorter.add({1, 1}, "b"), base::OutputError);
}

}  // namespace
}  // namespace kymo::exchange
