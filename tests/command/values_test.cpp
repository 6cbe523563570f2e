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

}  // namespace
}  // namespace kymo::test
