// kymo setup-jetson, on boards made of files.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <filesystem>
#include <string>

#include "command_fixture.hpp"
#include "sense/jetson_tree.hpp"

namespace kymo::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* debugfs = "/sys/kernel/debug";
constexpr const char* busy = "/sys/kernel/debug/cactmon/mc_all";
constexpr const char* period = "/sys/kernel/debug/cactmon/sample_period_usec";
constexpr const char* clock_rate = "/sys/kernel/debug/clk/emc/clk_rate";
constexpr const char* unit = "/etc/systemd/system/kymo-jetson.service";
constexpr const char* link_of_unit = "/etc/systemd/system/multi-user.target.wants/kymo-jetson.service";
constexpr const char* record = "/run/kymo-setup-jetson";

class SetupJetson : public CommandTest {
 protected:
  SetupJetson() {
    // As kernels have it.
    set_mode(busy, 0400);
    set_mode(period, 0644);
    set_mode(clock_rate, 0400);
    set_mode("/sys/kernel/debug/clk/emc", 0755);
    set_mode(debugfs, 0700);
  }
  [[nodiscard]] CommandResult setup(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"setup-jetson", "--root", tree_.root()});
    return kymo(arguments);
  }
  void set_mode(const char* path, mode_t mode) const { ::chmod(tree_.at(path).c_str(), mode); }
  [[nodiscard]] mode_t mode(const char* path) const {
    struct stat status {};
    return ::stat(tree_.at(path).c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  JetsonTree tree_{orin_nx_model()};
};

TEST_F(SetupJetson, OpensTheFilesAndTheWayToThemAndNothingMore) {
  tree_.write("/sys/kernel/debug/other", "secret");
  set_mode("/sys/kernel/debug/other", 0600);
  const CommandResult result = setup();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(mode(debugfs), 0711U);
  EXPECT_EQ(mode(busy), 0444U);
  EXPECT_EQ(mode(period), 0644U);
  EXPECT_EQ(mode(clock_rate), 0444U);
  EXPECT_EQ(mode("/sys/kernel/debug/other"), 0600U);
  // Each change is said.
  EXPECT_NE(result.out.find(tree_.root() + debugfs + ": 0700 -> 0711"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(tree_.root() + busy + ": 0400 -> 0444"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(tree_.root() + period + ": 0644 already"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(tree_.at(unit)));
}

TEST_F(SetupJetson, UndoRestoresModesEvenAfterItWasDoneTwice) {
  EXPECT_EQ(setup().status, 0);
  EXPECT_EQ(setup({"--persist"}).status, 0);
  EXPECT_TRUE(fs::exists(tree_.at(unit)));
  const CommandResult undone = setup({"--undo"});
  EXPECT_EQ(undone.status, 0) << undone.err;
  EXPECT_EQ(mode(debugfs), 0700U);
  EXPECT_EQ(mode(busy), 0400U);
  EXPECT_EQ(mode(period), 0644U);
  EXPECT_EQ(mode(clock_rate), 0400U);
  EXPECT_NE(undone.out.find(tree_.root() + busy + ": 0444 -> 0400"), std::string::npos) << undone.out;
  for (const char* const path : {unit, link_of_unit, record}) {
    EXPECT_FALSE(fs::is_symlink(tree_.at(path)) || fs::exists(tree_.at(path))) << path;
  }
  const CommandResult again = setup({"--undo"});
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out, "there is nothing to take back\n");
}

TEST_F(SetupJetson, PersistWritesAUnitThatRunsOnlyTheSystemsChmod) {
  const CommandResult result = setup({"--persist"});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string text = read_text(tree_.at(unit).string());
  EXPECT_NE(text.find("ExecStart=/bin/chmod a+x /sys/kernel/debug /sys/kernel/debug/cactmon /sys/kernel/debug/clk "
                      "/sys/kernel/debug/clk/emc\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(std::string("ExecStart=/bin/chmod a+r ") + busy + " " + period + " " + clock_rate + "\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find(tree_.root()), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(tree_.at(link_of_unit)));
  EXPECT_TRUE(fs::equivalent(tree_.at(link_of_unit), tree_.at(unit)));
}

TEST_F(SetupJetson, AfterARestartUndoShutsTheDoorThatTheUnitOpened) {
  EXPECT_EQ(setup({"--persist"}).status, 0);
  fs::remove(tree_.at(record));
  EXPECT_EQ(setup({"--undo"}).status, 0);
  EXPECT_EQ(mode(debugfs), 0700U);
  EXPECT_FALSE(fs::exists(tree_.at(unit)));
}

TEST_F(SetupJetson, ALinkInTheWayIsNotFollowed) {
  const std::string secret = file_named("secret");
  std::ofstream(secret) << "secret";
  ::chmod(secret.c_str(), 0600);
  tree_.remove(busy);
  tree_.link(busy, secret);
  const CommandResult result = setup();
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find(busy), std::string::npos) << result.err;
  struct stat status {};
  ASSERT_EQ(::stat(secret.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  // Nothing was done by halves.
  EXPECT_EQ(mode(debugfs), 0700U);
}

TEST_F(SetupJetson, WhatIsMissingIsNamedWithWhatToDo) {
  tree_.remove("/sys/kernel/debug/cactmon");
  const CommandResult result = setup();
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("there is no " + tree_.root() + "/sys/kernel/debug/cactmon"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("mount -t debugfs"), std::string::npos) << result.err;
  EXPECT_EQ(mode(debugfs), 0700U);
}

TEST_F(SetupJetson, OtherBoardsAreRefused) {
  tree_.write("/proc/device-tree/compatible", compatible_of({"acme,rocket"}));
  CommandResult result = setup();
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("acme,rocket"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("orin_nano"), std::string::npos) << result.err;
  tree_.remove("/proc/device-tree");
  result = setup();
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("no Jetson board"), std::string::npos) << result.err;
  EXPECT_EQ(mode(debugfs), 0700U);
}

}  // namespace
}  // namespace kymo::test
