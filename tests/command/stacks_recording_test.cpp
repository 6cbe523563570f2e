// How `kymo record --stacks` records: waits, processes that run already, what the kernel refuses, a kill.
#include <chrono>

#include "command/stacks_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

TEST_F(StacksTest, WaitsHaveTheirStacksAndLengths) {
  set_environment({});
  ChildProcess process(shell({ATTACHED_PROGRAM}, ">program.out 2>&1"));
  const std::string pid = std::to_string(std::stoi(wait_for("ready")));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(kymo({"record", "--hz", "0", "-q", "--stacks", "--pid", pid, "--for", "400ms", "-o", "run.kymo"}).status,
            0);
  // A busy machine ends the recording later.
  const double most_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  std::ofstream(file_named("stop")) << "stop";
  EXPECT_EQ(process.wait(), 0);
  if (kymo({"info", "run.kymo"}).out.find("recorded") == std::string::npos) {
    GTEST_SKIP() << "this user does not get the stacks of waits";
  }
  const Json all = Json::parse(kymo({"stats", "--functions", "--json", "--thread", "attached_progra", "run.kymo"}).out);
  const double blocked_ns = all["blocked_ns"];
  EXPECT_LT(blocked_ns, most_ns);
  double slept_ns = 0;
  double in_wait_ns = 0;
  for (const Json& row : all["functions"]) {
    const std::string name = row["name"];
    slept_ns += name == "clock_nanosleep" ? row["total_blocked_ns"].get<double>() : 0;
    in_wait_ns += row["self_blocked_ns"].get<double>();
    EXPECT_TRUE(name.rfind("__schedule", 0) != 0 || row["self_blocked_ns"] == 0) << "all waits end in the scheduler";
  }
  EXPECT_EQ(in_wait_ns, blocked_ns);
  EXPECT_GT(slept_ns, 0) << all;
  EXPECT_LT(slept_ns, blocked_ns) << "it waits for its helpers too: " << all;
}

TEST_F(StacksTest, AThreadThatWaitsOftenHasItsWaitsByLengthWithoutTheStackOfEach) {
  ASSERT_NO_FATAL_FAILURE(record({WAITING_PROGRAM}));
  if (kymo({"info", "run.kymo"}).out.find("recorded") == std::string::npos) {
    GTEST_SKIP() << "this user does not get the stacks of waits";
  }
  const Json all = Json::parse(kymo({"stats", "--functions", "--json", "--thread", "waiting_program", "run.kymo"}).out);
  const double blocked_ns = all["blocked_ns"];
  EXPECT_GT(all["unsampled_blocked_ns"], 0) << "16,000 waits take less than three seconds: " << all;
  double long_ns = 0;
  double short_ns = 0;
  double bound_ns = 0;
  for (const Json& row : all["functions"]) {
    const double total_ns = row["total_blocked_ns"];
    long_ns += row["name"] == "shop::wait_long" ? total_ns : 0;
    short_ns += row["name"] == "shop::wait_shortly" ? total_ns : 0;
    bound_ns += row["name"] == "shop::wait_long" ? row["total_blocked_bound_ns"].get<double>() : 0;
  }
  constexpr double slept_ns = 200 * 2e6;
  // Five standard deviations, and a hundredth for what else lasts as long.
  const double most_off_ns = 2.6 * bound_ns + 0.01 * slept_ns;
  EXPECT_GT(long_ns, slept_ns - most_off_ns) << all;
  EXPECT_LT(long_ns, cpu_ns_["long"] + most_off_ns) << all;
  EXPECT_GT(short_ns, 0) << all;
  EXPECT_LE(long_ns + short_ns, blocked_ns) << all;
  // Collapsed stacks and the report have them, too.
  ASSERT_EQ(kymo({"export", "--to", "collapsed", "--waits", "-o", "waits.txt", "run.kymo"}).status, 0);
  std::ifstream lines(file_named("waits.txt"));
  double collapsed_ns = 0;
  for (std::string line; std::getline(lines, line);) {
    collapsed_ns += line.find(";shop::wait_long;") != std::string::npos ? std::stod(line.substr(line.rfind(' '))) : 0;
  }
  EXPECT_EQ(collapsed_ns, long_ns);
  ASSERT_EQ(kymo({"report", "-o", "page.html", "run.kymo"}).status, 0);
  const std::string page = read_text(file_named("page.html"));
  const std::size_t waits = page.find("Flame graph: the functions of waits");
  const std::size_t bar = page.find("<title>shop::wait_long: ", waits);
  ASSERT_NE(bar, std::string::npos);
  const Json whole = Json::parse(kymo({"stats", "--functions", "--json", "run.kymo"}).out);
  const std::string_view width = R"(width=")";
  EXPECT_NEAR(std::stod(page.substr(page.find(width, bar) + width.size())),
              1160 * long_ns / whole["blocked_ns"].get<double>(), 0.06);
}

TEST_F(StacksTest, AProcessThatRunsIsRecordedWithItsThreadsAndGoesOn) {
  set_environment({});
  ChildProcess process(shell({ATTACHED_PROGRAM}, ">program.out 2>&1"));
  const std::string pid = std::to_string(std::stoi(wait_for("ready")));
  const auto start = std::chrono::steady_clock::now();
  const CommandResult recorded =
      kymo({"record", "--hz", "0", "-q", "--stacks", "--pid", pid, "--for", "500ms", "-o", "run.kymo"});
  const double most_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(recorded.err, "");
  const std::map<std::string, Json> all = functions();
  for (const std::string name : {"shop::weigh", "shop::count", "shop::help"}) {
    EXPECT_GT(self_of(all, name), 5) << Json(all);
  }
  const std::map<std::string, Json> weigher = functions({"--thread", "weigher"});
  EXPECT_GT(total_of(weigher, "shop::weigh"), 0.9 * samples_) << Json(weigher);
  EXPECT_EQ(self_of(weigher, "shop::count"), 0);
  EXPECT_LT(samples_, 1.1 * 999 * most_s + 20) << "no thread is sampled twice";
  EXPECT_NE(kymo({"info", "run.kymo"}).out.find("attached_program"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_named("ended"))) << "the process goes on";
  std::ofstream(file_named("stop")) << "stop";
  EXPECT_EQ(process.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(file_named("ended")));
}

TEST_F(StacksTest, ARecordingOfAProcessEndsWithItOrWithASignal) {
  set_environment({});
  ChildProcess process(shell({ATTACHED_PROGRAM}, ">program.out 2>&1"));
  const std::string pid = std::to_string(std::stoi(wait_for("ready")));
  ChildProcess stopped(
      kymo_words({"record", "--hz", "0", "-q", "--stacks", "--pid", pid, "-o", file_named("one.kymo")}));
  ASSERT_TRUE(wait_until([this] { return !part_of("one.kymo").empty(); }));
  stopped.signal(SIGINT);
  EXPECT_EQ(stopped.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(file_named("one.kymo")));
  ChildProcess followed(kymo_words({"record", "--hz", "0", "-q", "--pid", pid, "-o", file_named("two.kymo")}));
  ASSERT_TRUE(wait_until([this] { return !part_of("two.kymo").empty(); }));
  std::ofstream(file_named("stop")) << "stop";
  EXPECT_EQ(followed.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(file_named("two.kymo")));
  EXPECT_EQ(process.wait(), 0);
  const CommandResult gone = kymo({"record", "--pid", pid, "-o", "gone.kymo"});
  EXPECT_NE(gone.status, 0);
  EXPECT_NE(gone.err.find("No such process"), std::string::npos) << gone.err;
}

TEST_F(StacksTest, WhereTheKernelRefusesItIsSaidAndTheRestIsRecorded) {
  if (is_emulated) {
    GTEST_SKIP() << "an emulator has no filter of system calls";
  }
  std::vector<std::string> words{WITHOUT_PERF_EVENTS};
  const std::vector<std::string> command =
      kymo_words({"record", "--hz", "0", "--stacks", "-o", "run.kymo", "--", STACKS_PROGRAM_SCOPES, "10"});
  words.insert(words.end(), command.begin(), command.end());
  const CommandResult recorded = run_any(words);
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_NE(recorded.err.find("no stacks are recorded: perf_event_open"), std::string::npos) << recorded.err;
  EXPECT_NE(recorded.err.find("seccomp"), std::string::npos) << recorded.err;
  EXPECT_NE(kymo({"stats", "run.kymo"}).out.find("weighing"), std::string::npos);
  const CommandResult shown = kymo({"stats", "--functions", "run.kymo"});
  EXPECT_NE(shown.status, 0);
  EXPECT_NE(shown.err.find("no stacks were recorded"), std::string::npos) << shown.err;
}

TEST_F(StacksTest, ABadRateIsRefused) {
  for (const std::string rate : {"0", "fast", "100001", "-5", ""}) {
    const CommandResult refused = kymo({"record", "--stacks=" + rate, "--", "/bin/true"});
    EXPECT_EQ(refused.status, 2) << rate;
    EXPECT_NE(refused.err.find(rate.empty() ? "--stacks=: needs a value" : "needs a rate from 1 to 100000"),
              std::string::npos)
        << refused.err;
  }
}

TEST_F(StacksTest, AKillOfKymoLeavesTheStacksBeforeIt) {
  set_environment({});
  // The program outlives its recorder, and says something at its end.
  ChildProcess process(shell(kymo_words({"record", "-q", "--hz", "0", "--stacks", "-o", "run.kymo", "--", "/bin/sh",
                                         "-c", std::string(STACKS_PROGRAM) + " 200; exec sleep 10"}),
                             ">program.out 2>&1"));
  ASSERT_TRUE(wait_until([this] {
    const std::string part = part_of("run.kymo");
    const CommandResult read = part.empty() ? CommandResult() : kymo({"stats", "--functions", "--json", part});
    // Where nothing is in it yet, that is said in words.
    return read.out.rfind('{', 0) == 0 && Json::parse(read.out)["samples"] > 100;
  }));
  process.signal(SIGKILL);
  process.wait();
  ASSERT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  const std::map<std::string, Json> rows = functions();
  EXPECT_GT(self_of(rows, "shop::weigh"), 30) << Json(rows);
}

}  // namespace
}  // namespace kymo::test
