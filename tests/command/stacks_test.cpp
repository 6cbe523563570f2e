// Sampled stacks from the kernel to `kymo stats --functions`, beside what the recorded program says of itself.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "command/command_fixture.hpp"
#include "stats/made_up_program.hpp"
#include "support/wait_until.hpp"
#include "threads/stacks/call_frames.hpp"
#include "threads/states/source.hpp"
#include "threads/symbols/kernel_symbols.hpp"

namespace kymo::test {
namespace {

using Json = nlohmann::json;

class StacksTest : public CommandTest {
 protected:
  void SetUp() override {
    if (const threads::Refusal refusal = threads::check_switch_events(); refusal.error != 0) {
      GTEST_SKIP() << refusal.reason;
    }
  }

  void record(const std::vector<std::string>& command, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{"record", "--hz", "0", "-q", "--stacks", "-o", "run.kymo"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    const CommandResult recorded = kymo(words);
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    EXPECT_EQ(recorded.err, "");
    std::istringstream lines(recorded.out);
    std::string name;
    for (double ns = 0; lines >> name >> ns;) {
      cpu_ns_[name] = ns;
    }
  }

  /// The rows of `kymo stats --functions` by name; several of a name are added up.
  std::map<std::string, Json> functions(const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{"stats", "--functions", "--json", "run.kymo"};
    words.insert(words.end(), options.begin(), options.end());
    const CommandResult result = kymo(words);
    EXPECT_EQ(result.status, 0) << result.err;
    const Json all = Json::parse(result.out);
    samples_ = all["samples"];
    lost_ = 0;
    for (const std::string warning : all["warnings"]) {
      const std::string before = "the kernel lost the stacks of ";
      if (warning.rfind(before, 0) == 0) {
        std::string number = warning.substr(before.size());
        number.erase(std::remove(number.begin(), number.end(), ','), number.end());
        lost_ = std::stod(number);
      }
    }
    std::map<std::string, Json> rows;
    for (const Json& row : all["functions"]) {
      rows.emplace(row["name"], row);
    }
    return rows;
  }

  [[nodiscard]] static double self_of(const std::map<std::string, Json>& rows, const std::string& name) {
    const auto row = rows.find(name);
    return row == rows.end() ? 0 : row->second["self"].get<double>();
  }

  /// A line of stacks_program.cpp, without its indentation.
  [[nodiscard]] static std::string line_of_source(int number) {
    std::ifstream source(STACKS_PROGRAM_SOURCE);
    std::string line;
    for (int i = 0; i < number; ++i) {
      std::getline(source, line);
    }
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
  }

  /// With what the kernel did on its behalf, which is much where many threads share a CPU.
  [[nodiscard]] static double total_of(const std::map<std::string, Json>& rows, const std::string& name) {
    const auto row = rows.find(name);
    return row == rows.end() ? 0 : row->second["total"].get<double>();
  }

  /// Whether the samples of the two functions share as the program's own clock says, within what chance allows five
  /// times in ten million and a hundredth for the clock's own calls.
  void expect_shares(const std::string& weigh, const std::string& count) {
    const std::map<std::string, Json> rows = functions();
    const double weighed = self_of(rows, weigh);
    const double both = weighed + self_of(rows, count);
    const double expected = cpu_ns_["shop::weigh"] / (cpu_ns_["shop::weigh"] + cpu_ns_["shop::count"]);
    ASSERT_GT(both, 100) << Json(rows);
    EXPECT_NEAR(weighed / both, expected, 5 * std::sqrt(expected * (1 - expected) / both) + 0.01) << Json(rows);
    EXPECT_GT(total_of(rows, weigh) + total_of(rows, count), 0.8 * samples_)
        << "the program does little else: " << Json(rows);
  }

  /// The capture of threads that a recording into this file has begun; empty before.
  [[nodiscard]] std::string part_of(const std::string& name) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(file_named("."))) {
      if (entry.path().string().find(name + ".parts-") != std::string::npos &&
          entry.path().filename() == "~threads.kymo") {
        return entry.path();
      }
    }
    return {};
  }

  std::map<std::string, double> cpu_ns_;
  double samples_ = 0;
  double lost_ = 0;
};

TEST_F(StacksTest, FunctionsHaveTheSharesOfTheProgramsOwnClock) {
  record({STACKS_PROGRAM});
  expect_shares("shop::weigh", "shop::count");
  const std::map<std::string, Json> rows = functions();
  for (const std::string name : {"main", "shop::Cart::fill"}) {
    EXPECT_GT(rows.at(name)["total"].get<double>(), 0.9 * samples_) << name << " calls all of it";
    EXPECT_LT(self_of(rows, name), 0.1 * samples_) << name;
  }
  const Json& weigh = rows.at("shop::weigh");
  EXPECT_LT(weigh["self_share_95"][0], weigh["self_share"]);
  EXPECT_GT(weigh["self_share_95"][1], weigh["self_share"]);
  const double cpu_s = (cpu_ns_["shop::weigh"] + cpu_ns_["shop::count"]) / 1e9;
  // A virtual machine that is held up gets fewer of its timer's interrupts than its clocks count.
  EXPECT_LT(samples_ + lost_, 1.1 * 999 * cpu_s + 20) << "a sample each millisecond of CPU time";
  EXPECT_GT(samples_ + lost_, 0.5 * 999 * cpu_s);
}

#ifdef STACKS_PROGRAM_STATIC
TEST_F(StacksTest, AProgramWithoutRelocationAndLibrariesHasItsNames) {
  record({STACKS_PROGRAM_STATIC});
  expect_shares("shop::weigh", "shop::count");
}
#endif

TEST_F(StacksTest, FunctionsOfRustHaveTheNamesOfTheirSource) {
#ifdef STACKS_PROGRAM_RUST
  for (const std::string version : {"", "_v0"}) {
    record({STACKS_PROGRAM_RUST + version});
    expect_shares("<stacks_program::shop::Cart<f64> as stacks_program::shop::Weigh>::weigh",
                  "stacks_program::shop::count");
    std::filesystem::remove(file_named("run.kymo"));
  }
#else
  GTEST_SKIP() << "rustc is not here, or kymo was built without libiberty";
#endif
}

class UnwindingTest : public StacksTest {
 protected:
  void SetUp() override {
    StacksTest::SetUp();
    if (!threads::has_call_frames()) {
      GTEST_SKIP() << "libdw is not here, or kymo was built without its headers";
    }
  }
};

class UnwoundTest : public UnwindingTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(UnwoundTest, StacksAreWholeThroughSignalsExceptionsAndFramesOfAnySize) {
  record({GetParam()});
  EXPECT_NE(kymo({"info", "run.kymo"}).out.find("call frame information"), std::string::npos);
  const Json source = Json::parse(kymo({"doctor", "--json", "--sensors", "memory"}).out)["thread_states"];
  EXPECT_EQ(source["callers"], "call frame information");
  ASSERT_EQ(kymo({"export", "--to", "collapsed", "-o", "out.txt", "run.kymo"}).status, 0);
  std::istringstream lines(read_text(file_named("out.txt")));
  double all = 0;
  std::map<std::string, double> behind;
  for (std::string line; std::getline(lines, line);) {
    const double count = std::stod(line.substr(line.rfind(' ')));
    if (line.find(";maze::burn") == std::string::npos) {
      continue;
    }
    all += count;
    for (const std::string caller : {"interrupt", "attempt", "stretch"}) {
      behind[caller] += line.find(";main;maze::" + caller + ";") != std::string::npos ? count : 0;
    }
    EXPECT_TRUE(line.find("maze::handle") == std::string::npos || line.find("maze::interrupt") != std::string::npos)
        << line;
  }
  ASSERT_GT(all, 100);
  for (const auto& [caller, count] : behind) {
    EXPECT_NEAR(count / all, 1.0 / 3, 5 * std::sqrt(2.0 / 9 / all) + 0.02) << caller << ": a third of the work each";
  }
  EXPECT_GE(behind["interrupt"] + behind["attempt"] + behind["stretch"], 0.99 * all) << "all have their callers";
}

std::vector<std::string> unwound_programs() {
  return {
      UNWOUND_PROGRAM,
#ifdef UNWOUND_PROGRAM_STATIC
      UNWOUND_PROGRAM_STATIC,
#endif
#ifdef UNWOUND_PROGRAM_CLANG
      UNWOUND_PROGRAM_CLANG,
#endif
  };
}

INSTANTIATE_TEST_SUITE_P(Programs, UnwoundTest, ::testing::ValuesIn(unwound_programs()));

TEST_F(StacksTest, WithoutSymbolsAFunctionIsItsFileAndItsPlaceThere) {
  record({STACKS_PROGRAM_STRIPPED});
  const std::map<std::string, Json> rows = functions();
  std::vector<Json> nameless;
  for (const auto& [name, row] : rows) {
    if (name.rfind("stacks_program_stripped+0x", 0) == 0) {
      nameless.push_back(row);
    }
    EXPECT_EQ(name.find("shop"), std::string::npos);
  }
  std::sort(nameless.begin(), nameless.end(), [](const Json& a, const Json& b) { return a["self"] > b["self"]; });
  ASSERT_GE(nameless.size(), 2U) << Json(rows);
  EXPECT_NE(nameless[0]["module"].get<std::string>().find("/stacks_program_stripped"), std::string::npos);
  expect_shares(nameless[0]["name"], nameless[1]["name"]);
}

TEST_F(StacksTest, AStrippedProgramHasTheNamesOfItsDebugFile) {
  record({STACKS_PROGRAM_SPLIT});
  expect_shares("shop::weigh", "shop::count");
}

TEST_F(UnwindingTest, InlinedFunctionsHaveTheirSharesAndAreBehindTheirCaller) {
  for (const std::string program :
       {STACKS_PROGRAM_INLINED, STACKS_PROGRAM_INLINED_SPLIT, STACKS_PROGRAM_INLINED_NAMED}) {
    record({program, "60"});
    const std::string weigh = "shop::weigh (inlined)";
    const std::string count = "shop::count (inlined)";
    expect_shares(weigh, count);
    ASSERT_EQ(kymo({"export", "--force", "--to", "collapsed", "-o", "out.txt", "run.kymo"}).status, 0);
    EXPECT_NE(read_text(file_named("out.txt")).find(";main;shop::Cart::fill;shop::weigh (inlined) "),
              std::string::npos);
    std::filesystem::remove(file_named("run.kymo"));
  }
}

TEST_F(UnwindingTest, LinesHaveTheSamplesOfTheirFunctions) {
  record({STACKS_PROGRAM_INLINED, "60"});
  const CommandResult result = kymo({"stats", "--lines", "--json", "run.kymo"});
  ASSERT_EQ(result.status, 0) << result.err;
  std::map<std::string, double> of_functions;
  std::map<std::string, double> of_lines;
  const Json all = Json::parse(result.out);
  for (const Json& row : all["lines"]) {
    of_functions[row["name"]] += row["self"].get<double>();
    const std::filesystem::path file = row["file"].get<std::string>();
    if (row["line"].is_number() && file.filename() == "stacks_program.cpp") {
      of_lines[line_of_source(row["line"])] += row["self"].get<double>();
    }
  }
  for (const auto& [name, row] : functions()) {
    EXPECT_EQ(of_functions[name], row["self"]) << name;
  }
  for (const auto& [name, line] : {std::pair("shop::weigh (inlined)", "value = 1 / (value + 1.5);"),
                                   std::pair("shop::count (inlined)", "value = 1 / (value + 2.5);")}) {
    EXPECT_GT(of_lines[line], 0.5 * of_functions[name]) << "its work is there";
    EXPECT_LE(of_lines[line], of_functions[name]);
  }
  EXPECT_NE(kymo({"stats", "--lines", "run.kymo"}).out.find("stacks_program.cpp:"), std::string::npos);
}

TEST_F(CommandTest, LinesThatAreNotKnownNeedDebugInformation) {
  MadeUpProgram program(file_named("run.kymo"), true);
  const TrackId main = program.thread("main");
  program.sample_stacks(1'000);
  program.in_functions(main, {"main@/opt/game"});
  program.run(main, 4'000'000);
  program.finish();
  EXPECT_EQ(kymo({"stats", "--functions", "run.kymo"}).status, 0);
  const CommandResult result = kymo({"stats", "--lines", "run.kymo"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("debug information"), std::string::npos) << result.err;
}

TEST_F(StacksTest, AStrippedProgramWithoutABuildIdHasTheNamesOfTheFileThatItLinksTo) {
  record({STACKS_PROGRAM_LINKED});
  expect_shares("shop::weigh", "shop::count");
}

TEST_F(StacksTest, ADebugFileWithAnotherChecksumIsNotUsed) {
  namespace fs = std::filesystem;
  const std::string program = file_named("program");
  fs::copy_file(STACKS_PROGRAM_LINKED, program);
  fs::copy_file(STACKS_PROGRAM, file_named("names_of_stacks"));
  record({program, "100"});
  EXPECT_EQ(functions().count("shop::weigh"), 0U);
  EXPECT_GT(samples_, 50);
}

TEST_F(StacksTest, ADebugFileOfAnotherBuildIsNotUsed) {
  namespace fs = std::filesystem;
  const std::string program = file_named("program");
  fs::copy_file(STACKS_PROGRAM_SPLIT, program);
  fs::copy_file(STACKS_PROGRAM, program + ".debug");
  record({program, "100"});
  const std::map<std::string, Json> rows = functions();
  EXPECT_EQ(rows.count("shop::weigh"), 0U) << Json(rows);
  EXPECT_GT(samples_, 50);
}

TEST_F(StacksTest, ASiteHasTheFunctionsThatRanInsideItsScopes) {
  record({STACKS_PROGRAM_SCOPES});
  const double all_weighed = self_of(functions(), "shop::weigh");
  const std::map<std::string, Json> rows = functions({"--site", "weighing"});
  EXPECT_GT(self_of(rows, "shop::weigh"), 0.98 * all_weighed);
  EXPECT_GT(total_of(rows, "shop::weigh"), 0.9 * samples_);
  EXPECT_LE(self_of(rows, "shop::count"), 0.01 * samples_) << "between the clocks' readings at a scope's end";
}

TEST_F(StacksTest, ATimeAndAThreadSelectSamples) {
  record({STACKS_PROGRAM}, {"--threads", "off"});
  const double all = (static_cast<void>(functions()), samples_);
  const Json info = Json::parse(kymo({"info", "--json", "run.kymo"}).out);
  const std::int64_t length_ns = info["end_ns"].get<std::int64_t>() - info["start_ns"].get<std::int64_t>();
  // The program may be long over when its recorder is ready.
  std::string middle;
  double first = all;
  for (std::int64_t middle_ms = length_ns / 2'000'000; first == all && middle_ms > 0; middle_ms /= 2) {
    middle = std::to_string(middle_ms) + "ms";
    static_cast<void>(functions({"--time", "0ms.." + middle}));
    first = samples_;
  }
  static_cast<void>(functions({"--time", middle + ".."}));
  EXPECT_EQ(first + samples_, all);
  EXPECT_LT(first, all);
  static_cast<void>(functions({"--thread", "stacks_program"}));
  EXPECT_EQ(samples_, all);
  EXPECT_NE(kymo({"stats", "--functions", "--thread", "nobody", "run.kymo"}).err.find("no thread is called nobody"),
            std::string::npos);
}

TEST_F(StacksTest, CollapsedStacksAreSamplesWhereThereAreNoScopesOrTheyAreAskedFor) {
  const auto export_lines = [this](const std::vector<std::string>& options) {
    std::vector<std::string> words{"export", "--to", "collapsed", "--force", "-o", "out.txt", "run.kymo"};
    words.insert(words.end(), options.begin(), options.end());
    const CommandResult result = kymo(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return read_text(file_named("out.txt"));
  };
  record({STACKS_PROGRAM, "100"});
  const std::string sampled = export_lines({});
  EXPECT_NE(sampled.find("main;shop::Cart::fill;shop::weigh "), std::string::npos) << sampled;
  EXPECT_EQ(sampled.rfind("stacks_program;", 0), 0U) << "the thread comes first: " << sampled;
  double sum = 0;
  std::istringstream lines(sampled);
  for (std::string line; std::getline(lines, line);) {
    sum += std::stod(line.substr(line.rfind(' ')));
  }
  static_cast<void>(functions());
  EXPECT_EQ(sum, samples_);
  ASSERT_EQ(
      kymo({"record", "--hz", "0", "-q", "--stacks", "-o", "both.kymo", "--", STACKS_PROGRAM_SCOPES, "100"}).status, 0);
  const auto export_both = [this](const std::vector<std::string>& options) {
    std::vector<std::string> words{"export", "--to", "collapsed", "--force", "-o", "out.txt", "both.kymo"};
    words.insert(words.end(), options.begin(), options.end());
    EXPECT_EQ(kymo(words).status, 0);
    return read_text(file_named("out.txt"));
  };
  EXPECT_EQ(export_both({}).find("shop::weigh"), std::string::npos);
  EXPECT_NE(export_both({}).find("weighing"), std::string::npos);
  EXPECT_NE(export_both({"--samples"}).find("shop::weigh"), std::string::npos);
}

TEST_F(StacksTest, AReportDrawsEachFunctionAsWideAsItsShare) {
  record({STACKS_PROGRAM, "100"});
  ASSERT_EQ(kymo({"report", "-o", "page.html", "run.kymo"}).status, 0);
  const std::string page = read_text(file_named("page.html"));
  const std::map<std::string, Json> rows = functions();
  for (const std::string name : {"main", "shop::Cart::fill", "shop::weigh", "shop::count"}) {
    const std::size_t bar = page.find("<title>" + name + ": ");
    ASSERT_NE(bar, std::string::npos) << name;
    const std::string_view width = R"(width=")";
    const std::size_t at = page.find(width, bar) + width.size();
    EXPECT_NEAR(std::stod(page.substr(at)), 1160 * rows.at(name)["total"].get<double>() / samples_, 0.06) << name;
  }
}

TEST_F(StacksTest, ARedactedCaptureHasNoPaths) {
  record({STACKS_PROGRAM, "100"});
  const CommandResult merged = kymo({"merge", "--redact", "-o", "public.kymo", "run.kymo"});
  ASSERT_EQ(merged.status, 0) << merged.err;
  const CommandResult result = kymo({"stats", "--functions", "--json", "public.kymo"});
  EXPECT_NE(result.out.find("shop::weigh"), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("/stacks_program"), std::string::npos);
}

TEST_F(StacksTest, CodeThatAProgramCompilesHasTheNamesOfItsMap) {
  const CommandResult recorded =
      kymo({"record", "--hz", "0", "-q", "--stacks", "-o", "run.kymo", "--", COMPILING_PROGRAM});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  std::filesystem::remove(recorded.out.substr(0, recorded.out.find('\n')));
  const std::map<std::string, Json> rows = functions();
  EXPECT_GT(total_of(rows, "compiled::count_down"), 0.7 * samples_) << "the rest is its start: " << Json(rows);
  EXPECT_GT(samples_, 20);
}

TEST_F(StacksTest, TheKernelsFunctionsAreBehindTheProgramsThatCalledThem) {
  ASSERT_EQ(kymo({"record", "--hz", "0", "-q", "--stacks", "-o", "run.kymo", "--", "/bin/sh", "-c",
                  "head -c 3000000000 /dev/zero >/dev/null"})
                .status,
            0);
  const std::map<std::string, Json> rows = functions();
  const CommandResult info = kymo({"info", "run.kymo"});
  if (info.out.find("not permitted") != std::string::npos || threads::KernelSymbols().empty()) {
    GTEST_SKIP() << "this user does not get the kernel's addresses";
  }
  double in_kernel = 0;
  for (const auto& [name, row] : rows) {
    in_kernel += row["module"] == "[kernel]" ? row["self"].get<double>() : 0;
  }
  EXPECT_GT(in_kernel, 0.5 * samples_) << Json(rows);
  EXPECT_TRUE(rows.count("vfs_read") != 0 || rows.count("ksys_read") != 0) << Json(rows);
}

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
