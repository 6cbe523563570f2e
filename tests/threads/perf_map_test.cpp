// Names of compiled code, from files that anybody may have written.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <unistd.h>

#include "support/temporary_directory.hpp"
#include "threads/symbols/kernel_symbols.hpp"
#include "threads/symbols/perf_map.hpp"

namespace kymo::threads {
namespace {

class PerfMapTest : public ::testing::Test {
 protected:
  void add(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  [[nodiscard]] std::string path() const { return (directory_.path() / "perf-1.map").string(); }
  [[nodiscard]] static std::string name_of(PerfMap& map, std::uint64_t address) {
    const std::string* const name = map.find(address);
    return name != nullptr ? *name : std::string();
  }

  test::TemporaryDirectory directory_;
};

TEST_F(PerfMapTest, AFunctionHasItsNameAlsoIfItIsWrittenLater) {
  add("1000 20 py::first:/a b.py\n1020 8 py::second\n");
  PerfMap map(path(), ::geteuid());
  EXPECT_EQ(name_of(map, 0x1000), "py::first:/a b.py");
  EXPECT_EQ(name_of(map, 0x101f), "py::first:/a b.py");
  EXPECT_EQ(name_of(map, 0x1027), "py::second");
  EXPECT_EQ(name_of(map, 0x1028), "");
  EXPECT_EQ(name_of(map, 0xfff), "");
  add("2000 10 late");
  EXPECT_EQ(name_of(map, 0x2000), "") << "the line is not whole";
  add("r\n1000 10 again\n");
  EXPECT_EQ(name_of(map, 0x2000), "later");
  EXPECT_EQ(name_of(map, 0x1000), "again") << "the latest is right";
}

TEST_F(PerfMapTest, AFileOfAnotherUserOrALinkHasNoNames) {
  add("1000 20 name\n");
  PerfMap foreign(path(), ::geteuid() + 1);
  EXPECT_EQ(name_of(foreign, 0x1000), "");
  const std::string link = (directory_.path() / "link").string();
  std::filesystem::create_symlink(path(), link);
  PerfMap linked(link, ::geteuid());
  EXPECT_EQ(name_of(linked, 0x1000), "");
  PerfMap folder(directory_.path().string(), ::geteuid());
  EXPECT_EQ(name_of(folder, 0x1000), "");
}

TEST_F(PerfMapTest, AnyBytesAreNoHarm) {
  std::mt19937 random(9);
  std::string text = "ffffffffffffffff 2 over\n10 ffffffffffffffff all\n zz\n10\n20 1 \n30 1 " +
                     std::string(100'000, 'x') + "\n40 1 after\n";
  for (int i = 0; i < 20'000; ++i) {
    text += static_cast<char>(random());
  }
  add(text);
  PerfMap map(path(), ::geteuid());
  EXPECT_EQ(name_of(map, 0x40), "after");
  EXPECT_EQ(name_of(map, 0x30), "") << "the name is too long";
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(map.find(random()));
  }
}

TEST_F(PerfMapTest, TheKernelsFunctionsAreFoundByAddress) {
  add("ffffffff81000000 T _stext\nffffffff81000100 t inner\nffffffff81000180 d data\nffffffffc0000000 t work\t[module]\nzz\n");
  const KernelSymbols symbols(path());
  ASSERT_NE(symbols.find(0xffffffff810001ff), nullptr);
  EXPECT_EQ(symbols.find(0xffffffff810001ff)->second, "inner");
  EXPECT_EQ(symbols.find(0xffffffffc0000010)->second, "work");
  EXPECT_EQ(symbols.find(0xffff), nullptr);
}

}  // namespace
}  // namespace kymo::threads
