// Values of options that are empty, no number, or beyond what makes sense.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "command_fixture.hpp"

namespace kymo::test {
namespace {

class Values : public CommandTest {
 protected:
  /// Expects a usage error that begins so.
  void expect_refused(const std::vector<std::string>& words, const std::string& said) const {
    const CommandResult result = kymo(words);
    EXPECT_EQ(result.status, 2) << ::testing::PrintToString(words) << result.err;
    EXPECT_EQ(result.out, "") << ::testing::PrintToString(words);
    EXPECT_EQ(result.err.rfind(said, 0), 0U) << ::testing::PrintToString(words) << "\n" << result.err;
  }
};

TEST_F(Values, AnEmptyOneIsRefusedForEveryOption) {
  const std::string capture = make_capture("a.kymo");
  const std::vector<std::vector<std::string>> commands{
      {"compare", "--fail-on-regression", "", "a.kymo", "a.kymo"},
      {"compare", "--top", "", "a.kymo", "a.kymo"},
      {"compare", "--html", "", "a.kymo", "a.kymo"},
      {"stats", "--phase", "", "a.kymo"},
      {"stats", "--top", "", "a.kymo"},
      {"stats", "--site", "", "a.kymo"},
      {"explain", "--frame", "", "a.kymo"},
      {"explain", "--base", "", "a.kymo"},
      {"export", "--process", "", "--to", "pprof", "-o", "x", "a.kymo"},
      {"export", "--to", "chrome", "-o", "", "a.kymo"},
      {"report", "-o", "", "a.kymo"},
      {"recover", "-o", "", "a.kymo"},
      {"top", "-n", "", "--once", "a.kymo"},
      {"record", "--hz", "", "--", "true"},
      {"record", "--price", "", "--report-energy", "--", "true"},
      {"bench", "run", "plan.json", "-o", ""},
      {"info", ""}};
  for (const std::vector<std::string>& words : commands) {
    const CommandResult result = kymo(words);
    EXPECT_EQ(result.status, 2) << ::testing::PrintToString(words) << result.err;
    EXPECT_NE(result.err.find("needs a value, and the one that is given is empty"), std::string::npos) << result.err;
  }
  EXPECT_EQ(kymo({"record", "-q", "-o", "b.kymo", "--", "/bin/test", "-z", ""}).status, 0) << "the command's own word";
}

TEST_F(Values, ANumberIsFiniteAndWithinItsRange) {
  const std::string capture = make_capture("a.kymo");
  for (const std::string value : {"nan", "-nan", "NAN", "inf", "-inf", "1e999", "0x", "5000"}) {
    expect_refused({"top", "-i", value, "--once", "a.kymo"},
                   "kymo top: --interval: " + value + " is no number from 0.05 to 3600\n");
    expect_refused({"stats", "--tree", "--min-share", value, "a.kymo"},
                   "kymo stats: --min-share: " + value + " is no number from 0 to 100\n");
    expect_refused({"trigger", "--timeout", value, "1"},
                   "kymo trigger: --timeout: " + value + " is no number from 0 to 3600\n");
  }
  for (const std::string value : {"nan", "inf", "-1"}) {
    expect_refused({"stats", "--energy", "--idle-watts", value, "a.kymo"},
                   "kymo stats: --idle-watts: " + value + " is no number from 0\n");
  }
  for (const std::string value : {"nan", "inf", "-inf"}) {
    EXPECT_EQ(kymo({"record", "-o", "b.kymo", "--hz", value, "--", "true"}).status, 125) << value;
    EXPECT_EQ(kymo({"record", "-o", "b.kymo", "--sensor-hz", "cpu=" + value, "--", "true"}).status, 125) << value;
    EXPECT_EQ(kymo({"compare", "--fail-on-regression", value, "a.kymo", "a.kymo"}).status, 2) << value;
    EXPECT_EQ(kymo({"explain", "--over", value + "ms", "a.kymo"}).status, 2) << value;
    EXPECT_EQ(kymo({"record", "--pid", "1", "--for", value + "s"}).status, 2) << value;
  }
  expect_refused({"trigger", "4294967297"}, "kymo trigger: PID: 4294967297 is no whole number from 1 to 2147483647\n");
  expect_refused({"record", "--pid", "4294967297"},
                 "kymo record: --pid: 4294967297 is no whole number from 1 to 2147483647\n");
  expect_refused({"merge", "--level", "1.5", "-o", "x.kymo", "a.kymo"},
                 "kymo merge: --level: 1.5 is no whole number from 1 to 19\n");
}

TEST_F(Values, WholeNumbersDoNotWrapAround) {
  const std::string capture = make_capture("a.kymo");
  const auto expect_whole_from = [this](const std::string& least, const std::string& option,
                                        std::vector<std::string> words, const std::vector<std::string>& others) {
    std::vector<std::string> values{"-1", "18446744073709551616", "1.5", "many", "+1", "1 ", "0x10"};
    if (least == "1") {
      values.emplace_back("0");
    }
    words.insert(words.end(), {option, ""});
    for (const std::string& value : values) {
      words.back() = value;
      std::vector<std::string> all = words;
      all.insert(all.end(), others.begin(), others.end());
      expect_refused(all, "kymo " + words.front() + ": " + option + ": " + value + " is no whole number from " + least);
    }
  };
  expect_whole_from("0", "--phase", {"stats"}, {"a.kymo"});
  expect_whole_from("0", "--seed", {"explain"}, {"a.kymo"});
  expect_whole_from("0", "--seed", {"compare"}, {"a.kymo", "a.kymo"});
  expect_whole_from("0", "--slowest-frames", {"report", "-o", "x.html"}, {"a.kymo"});
  expect_whole_from("1", "--finding", {"explain", "--evidence"}, {"a.kymo"});
  expect_whole_from("1", "--frame", {"explain"}, {"a.kymo"});
  expect_whole_from("1", "--top", {"compare"}, {"a.kymo", "a.kymo"});
  expect_whole_from("1", "--count", {"top", "--once"}, {"a.kymo"});
  expect_whole_from("1", "--process", {"export", "--to", "pprof", "-o", "x"}, {"a.kymo"});
}

}  // namespace
}  // namespace kymo::test
