#include "sense/common/source_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <cerrno>
#include <cmath>

#include "sense/common/parse.hpp"
#include "sense/machine_tree.hpp"

namespace kymo::sense {
namespace {

TEST(SourceFile, SeesWhatIsWrittenAfterItWasOpened) {
  test::MachineTree tree;
  tree.write("/sys/value", "41\n");
  SourceFile file(tree.at("/sys/value"));
  EXPECT_EQ(file.read_number(), 41);
  tree.write("/sys/value", "-7.5\n");
  EXPECT_EQ(file.read_number(), -7.5);
}

TEST(SourceFile, AFileThatVanishesIsMissingUntilItIsThereAgain) {
  test::MachineTree tree;
  tree.write("/sys/value", "1");
  SourceFile file(tree.at("/sys/value"));
  EXPECT_EQ(file.read(), "1");
  tree.write("/sys/value", "");
  EXPECT_EQ(file.read(), "");
  EXPECT_EQ(file.error(), ENODATA);
  tree.remove("/sys/value");
  EXPECT_EQ(file.read(), "");
  EXPECT_EQ(file.error(), ENOENT);
  EXPECT_EQ(file.describe_error(), "No such file or directory: " + tree.at("/sys/value").string());
  tree.write("/sys/value", "2");
  EXPECT_EQ(file.read(), "2");
  EXPECT_EQ(file.error(), 0);
}

TEST(SourceFile, GarbageIsNoNumber) {
  test::MachineTree tree;
  SourceFile file(tree.at("/sys/value"));
  for (const char* garbage : {"x", "12x", "1 2", "--1", "nan", "inf", "0x10", " \n", "1e400"}) {
    tree.write("/sys/value", garbage);
    EXPECT_TRUE(std::isnan(file.read_number())) << garbage;
    EXPECT_EQ(file.error(), EBADMSG) << garbage;
  }
}

TEST(SourceFile, TakesNoMoreThanItWasToldTo) {
  test::MachineTree tree;
  tree.write("/proc/large", std::string(100, 'a'));
  EXPECT_EQ(SourceFile(tree.at("/proc/large"), 10).read(), std::string(10, 'a'));
}

TEST(SourceFile, ATableIsReadToItsEndAndNoFurtherThanItWasToldTo) {
  test::MachineTree tree;
  const std::string lines(100'000, 'x');
  tree.write("/proc/table", lines);
  EXPECT_EQ(SourceFile::of_table(tree.at("/proc/table")).read(), lines);
  EXPECT_EQ(SourceFile::of_table(tree.at("/proc/table"), 50'000).read(), lines.substr(0, 50'000));
  SourceFile file = SourceFile::of_table(tree.at("/proc/table"));
  EXPECT_EQ(file.read().size(), lines.size());
  tree.write("/proc/table", "short");
  EXPECT_EQ(file.read(), "short");
}

TEST(SourceFile, ATableOfTheKernelComesWholeThoughInPieces) {
  for (const std::size_t longest_line : {0U, 1024U}) {
    SourceFile file = SourceFile::of_table("/proc/kallsyms", 1024 * 1024, longest_line);
    const std::string_view text = file.read();
    if (text.empty()) {
      GTEST_SKIP() << file.describe_error();
    }
    EXPECT_GT(text.size(), 100'000U) << "one read gives a page or so";
  }
}

TEST(SourceFile, ATableIsReadAsFarAsIsEnough) {
  test::MachineTree tree;
  const std::string lines(100'000, 'x');
  tree.write("/proc/table", lines);
  SourceFile file = SourceFile::of_counters(tree.at("/proc/table"));
  EXPECT_EQ(file.read(10), lines.substr(0, 10));
  EXPECT_EQ(file.read(50'000), lines.substr(0, 50'000));
  EXPECT_EQ(file.read(), lines);
}

TEST(TextCursor, StopsAtWhatIsNoNumber) {
  TextCursor cursor("  12 18446744073709551615 18446744073709551616");
  EXPECT_EQ(cursor.number(), 12U);
  EXPECT_EQ(cursor.number(), 18446744073709551615U);
  EXPECT_EQ(cursor.number(), std::nullopt);
  EXPECT_EQ(cursor.word(), "18446744073709551616");
  EXPECT_EQ(cursor.number(), std::nullopt);
  EXPECT_TRUE(cursor.at_end());
}

}  // namespace
}  // namespace kymo::sense
