// Sampled stacks from the kernel to `kymo stats --functions`, beside what the recorded program says of itself.
#include "command/stacks_fixture.hpp"

#include "stats/made_up_program.hpp"
#include "threads/stacks/call_frames.hpp"
#include "threads/symbols/kernel_symbols.hpp"

namespace kymo::test {
namespace {

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

TEST_F(StacksTest, FunctionsOfGoHaveTheirNamesAndCallers) {
#ifdef STACKS_PROGRAM_GO
  record({STACKS_PROGRAM_GO});
  expect_shares("main.(*cart).weigh", "main.count");
  EXPECT_GT(total_of(functions(), "main.main"), 0.8 * samples_);
#else
  GTEST_SKIP() << "go is not here";
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
  ASSERT_EQ(kymo({"report", "-o", "page.html", "run.kymo"}).status, 0);
  EXPECT_NE(read_text(file_named("page.html")).find(">stacks_program.cpp:"), std::string::npos);
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

TEST_F(StacksTest, TheCommandSaysWhatACaptureWithoutScopesHolds) {
  const auto said = [this](const std::vector<std::string>& options) {
    std::vector<std::string> words{"record", "-o", "said.kymo"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", STACKS_PROGRAM, "60"});
    return kymo(words).err;
  };
  const auto holds = [](const std::string& text, const std::string& what) {
    return text.find("holds " + what + ", ") != std::string::npos;
  };
  const std::string all = said({"--stacks"});
  EXPECT_TRUE(holds(all, "its stacks, what its threads did and what the machine felt")) << all;
  EXPECT_NE(all.find("`kymo explain said.kymo` tells where its time went"), std::string::npos) << all;
  EXPECT_NE(kymo({"explain", "said.kymo"}).out.find("stacks_program (process "), std::string::npos);
  const std::string stacks = said({"--stacks", "--threads", "off", "--hz", "0"});
  EXPECT_TRUE(holds(stacks, "its stacks")) << stacks;
  EXPECT_NE(kymo({"explain", "said-1.kymo"}).err.find("`kymo stats --functions`"), std::string::npos);
  const std::string none = said({"--threads", "off", "--hz", "0"});
  EXPECT_TRUE(holds(none, "the facts of the run")) << none;
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
  EXPECT_NE(kymo({"stats", "--functions", "--thread", "nobody", "run.kymo"})
                .err.find("no thread is called nobody; there are: stacks_program"),
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
  if (info.out.find("not permitted") != std::string::npos || threads::KernelSymbols().find(UINT64_MAX) == nullptr) {
    GTEST_SKIP() << "this user does not get the kernel's addresses";
  }
  double in_kernel = 0;
  for (const auto& [name, row] : rows) {
    in_kernel += row["module"] == "[kernel]" ? row["self"].get<double>() : 0;
  }
  EXPECT_GT(in_kernel, 0.5 * samples_) << Json(rows);
  EXPECT_TRUE(rows.count("vfs_read") != 0 || rows.count("ksys_read") != 0) << Json(rows);
}

}  // namespace
}  // namespace kymo::test
