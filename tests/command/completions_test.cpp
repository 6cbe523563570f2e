// What shells and man pages know of the command: all that its help lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command_fixture.hpp"

namespace kymo::test {
namespace {

class Completions : public CommandTest {
 protected:
  /// The long options in the help of a command, which is another view of the same table.
  std::vector<std::string> options_of(const std::string& command) const {
    std::vector<std::string> options;
    std::istringstream help(kymo({command, "--help"}).out);
    for (std::string line; std::getline(help, line);) {
      const std::size_t at = line.find("--");
      if (line.rfind("  -", 0) == 0 && at != std::string::npos) {
        options.push_back(line.substr(at, line.find_first_of(" ,{", at) - at));
      }
    }
    return options;
  }

  /// The options that bash's completion has for a command.
  static std::string line_of(const std::string& completion, const std::string& command) {
    const std::size_t begin = completion.find("\n    " + command + ") ");
    return begin == std::string::npos ? "" : completion.substr(begin + 1, completion.find('\n', begin + 1) - begin);
  }

  /// What bash offers for the last word of a command line.
  std::string bash_offers(const std::string& words, std::size_t last) const {
    const CommandResult result =
        run_any({"/bin/bash", "-c",
                 ". ./kymo.bash; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(last) +
                     "; _kymo; echo \" ${COMPREPLY[*]} \""});
    EXPECT_EQ(result.err, "");
    return result.out;
  }
};

TEST_F(Completions, ShellsAndManPagesKnowEveryOption) {
  ASSERT_EQ(kymo({"completions", "--install", "share"}).status, 0);
  const std::string bash = read_text(file_named("share/bash-completion/completions/kymo"));
  const std::string zsh = read_text(file_named("share/zsh/site-functions/_kymo"));
  const std::string fish = read_text(file_named("share/fish/vendor_completions.d/kymo.fish"));
  EXPECT_EQ(bash, kymo({"completions", "bash"}).out);
  for (const std::string command : {"record", "stats", "export", "compare", "completions"}) {
    std::string page = read_text(file_named("share/man/man1/kymo-" + command + ".1"));
    page.erase(std::remove(page.begin(), page.end(), '\\'), page.end());
    const std::vector<std::string> options = options_of(command);
    EXPECT_GT(options.size(), 1U) << command;
    for (const std::string& option : options) {
      EXPECT_NE(line_of(bash, command).find(option), std::string::npos) << command << option;
      EXPECT_NE(zsh.find("*" + option + "["), std::string::npos) << command << option;
      EXPECT_NE(fish.find(" -l " + option.substr(2) + " "), std::string::npos) << command << option;
      EXPECT_NE(page.find(option), std::string::npos) << command << option;
    }
  }
}

TEST_F(Completions, BashCompletesCommandsOptionsAndFiles) {
  std::ofstream(file_named("kymo.bash")) << kymo({"completions", "bash"}).out;
  std::ofstream(file_named("run.kymo")).flush();
  EXPECT_NE(bash_offers("kymo sta", 1).find(" stats "), std::string::npos);
  EXPECT_EQ(bash_offers("kymo sta", 1).find(" record "), std::string::npos);
  EXPECT_NE(bash_offers("kymo stats --so", 2).find(" --sort "), std::string::npos);
  EXPECT_EQ(bash_offers("kymo info --so", 2).find(" --sort "), std::string::npos);
  EXPECT_NE(bash_offers("kymo info ru", 2).find(" run.kymo "), std::string::npos);
}

TEST_F(Completions, ManPagesAreWellFormed) {
  if (!std::filesystem::exists("/usr/bin/groff")) {
    GTEST_SKIP() << "groff is not installed";
  }
  ASSERT_EQ(kymo({"completions", "--install", "share"}).status, 0);
  for (const auto& entry : std::filesystem::directory_iterator(file_named("share/man/man1"))) {
    const CommandResult shown = run_any({"/usr/bin/groff", "-man", "-Tascii", "-ww", "-P-cbou", entry.path()});
    EXPECT_EQ(shown.status, 0) << entry.path();
    EXPECT_EQ(shown.err, "") << entry.path();
    EXPECT_NE(shown.out.find("NAME"), std::string::npos) << entry.path();
  }
}

TEST_F(Completions, WithoutAShellItSaysWhichThereAre) {
  EXPECT_EQ(kymo({"completions"}).status, 2);
  const CommandResult result = kymo({"completions", "tcsh"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("There are: bash, zsh, fish"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace kymo::test
