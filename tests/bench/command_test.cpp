// kymo bench: grids as users run them.
#include "command/command_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/rounds.hpp"

namespace kymo::test {
namespace {

/// Why runs of a grid are left out under qemu-user.
constexpr const char* starts_itself = "kymo bench run starts its own program, which the kernel cannot run";

class BenchCommand : public CommandTest {
 protected:
  void write_plan(const std::string& text) const { std::ofstream(file_named("plan.json")) << text; }
  std::string problem_of(const std::string& plan) const {
    write_plan(plan);
    const CommandResult result = kymo({"bench", "run", "plan.json"});
    EXPECT_EQ(result.status, 1) << plan;
    return result.err;
  }
  std::size_t lines_of(const std::string& name) const {
    const std::string text = read_text(file_named(name));
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(BenchCommand, AGridLeavesRunsATableFiguresAndVerdicts) {
  if (is_emulated) {
    GTEST_SKIP() << starts_itself;
  }
  write_plan(
      R"({"command": ["sh", "-c", "echo '{{\"score\": {n}.5, \"energy_j\": null}}' > \"$KYMO_BENCH_METRICS\"; echo $WHO"],
    "environment": {"WHO": "run {n}"}, "parameters": {"n": [1, 2]}, "warmup": 1, "repetitions": 2,
    "baseline": {"parameters": {"n": 1}},
    "criteria": [{"metric": "score", "at_most": 1.5, "relative_to_baseline": true}, {"metric": "energy_j", "at_least": 0}],
    "figures": [{"metric": "score", "x": "n"}],
    "table": {"path": "csv/t.csv", "columns": [{"column": "score_reduction", "metric": "score", "as": "reduction"}]}})");
  const CommandResult result = kymo({"bench", "run", "plan.json", "-o", "made"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto summary = nlohmann::json::parse(read_text(file_named("made/summary.json")));
  EXPECT_EQ(summary["settings"][1]["metrics"]["score"]["median"], 2.5);
  EXPECT_EQ(summary["verdicts"][0]["verdict"], "missed");
  EXPECT_EQ(summary["verdicts"][1]["verdict"], "unknown");
  EXPECT_EQ(read_text(file_named("made/csv/t.csv")), "setting,score_reduction\nn=2,-0.6666666666666667\n");
  // The recorder may have had something to say before, such as that another process samples this machine.
  const std::string log = read_text(file_named("made/logs/n=2-1.log"));
  EXPECT_EQ(log.substr(log.size() - std::min<std::size_t>(log.size(), 6)), "run 2\n") << log;
  EXPECT_EQ(kymo({"info", "made/runs/n=1-0.kymo"}).status, 0);
  EXPECT_NE(read_text(file_named("made/figs/score.svg")).find("</svg>"), std::string::npos);
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "made", "--fail-on-criteria"}).status, 1);
}

TEST_F(BenchCommand, WhatWasDoneIsNotDoneAgain) {
  if (is_emulated) {
    GTEST_SKIP() << starts_itself;
  }
  write_plan(
      R"({"command": ["sh", "-c", "echo {n} >> done; test {n} != 2 || test -e fixed"], "parameters": {"n": [1, 2]},
    "repetitions": 2, "record": false})");
  CommandResult result = kymo({"bench", "run", "plan.json", "-o", "made"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("ended with status 1"), std::string::npos) << result.err;
  EXPECT_EQ(lines_of("done"), 4U);
  std::ofstream(file_named("fixed"));
  // A line that a crash cut off.
  std::ofstream(file_named("made/journal.jsonl"), std::ios::app) << R"({"setting":"n=1","repe)";
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "made"}).status, 0);
  EXPECT_EQ(lines_of("done"), 6U) << "the two that failed";
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "made"}).status, 0);
  EXPECT_EQ(lines_of("done"), 6U);
  write_plan(R"({"command": ["true"]})");
  result = kymo({"bench", "run", "plan.json", "-o", "made"});
  EXPECT_NE(result.err.find("another plan"), std::string::npos) << result.err;
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "made", "--restart"}).status, 0);
}

TEST_F(BenchCommand, ARunOutOfTimeIsKilledWithItsChildren) {
  if (is_emulated) {
    GTEST_SKIP() << starts_itself;
  }
  // On a busy machine, time may be out before there is a child.
  for (const std::string timeout_s : {"0.2", "2", "20"}) {
    write_plan(R"({"command": ["sh", "-c", "sleep 1000 & echo $! > child; wait"], "timeout_s": )" + timeout_s + "}");
    const CommandResult result = kymo({"bench", "run", "plan.json", "-o", "made" + timeout_s});
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find("killed after " + timeout_s + " s"), std::string::npos) << result.err;
    if (lines_of("child") != 0) {
      break;
    }
  }
  const std::string child = wait_for("child");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (
      std::filesystem::exists("/proc/" + child.substr(0, child.size() - 1) + "/exe") &&
      std::filesystem::exists(std::filesystem::read_symlink("/proc/" + child.substr(0, child.size() - 1) + "/exe")) &&
      std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_LT(std::chrono::steady_clock::now(), deadline);
}

TEST_F(BenchCommand, AnInterruptedGridGoesOnWhereItWas) {
  write_plan(R"({"command": ["sh", "-c", "echo {n} >> started; test {n} = 1 || test -e go || sleep 1000"],
    "parameters": {"n": [1, 2, 3]}, "shuffle": false, "record": false})");
  set_environment({});
  ChildProcess grid(shell(kymo_words({"bench", "run", "plan.json", "-o", "made"})));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (lines_of("started") < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  grid.signal(SIGINT);
  EXPECT_EQ(grid.wait(), 130);
  std::ofstream(file_named("go"));
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "made"}).status, 0);
  EXPECT_EQ(read_text(file_named("started")), "1\n2\n2\n3\n");
}

TEST_F(BenchCommand, ARestartTakesNothingAwayFromAGridThatIsAtWork) {
  write_plan(
      R"({"command": ["sh", "-c", "echo {n} >> started; echo run {n}; test {n} = 1 || until test -e go; do :; done"],
    "parameters": {"n": [1, 2]}, "shuffle": false, "record": false})");
  set_environment({});
  ChildProcess grid(shell(kymo_words({"bench", "run", "plan.json", "-o", "made"})));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (lines_of("started") < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  const std::string journal = read_text(file_named("made/journal.jsonl"));
  const CommandResult other = kymo({"bench", "run", "plan.json", "-o", "made", "--restart"});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("another `kymo bench run` is at work"), std::string::npos) << other.err;
  EXPECT_EQ(read_text(file_named("made/journal.jsonl")), journal);
  EXPECT_EQ(read_text(file_named("made/logs/n=1-0.log")), "run 1\n");
  std::ofstream(file_named("go"));
  EXPECT_EQ(grid.wait(), 0);
  EXPECT_EQ(lines_of("made/results.csv"), 3U);
  EXPECT_EQ(lines_of("started"), 2U);
  // Nobody is at work any more: now it begins anew, and what the earlier one left is gone before.
  std::ofstream(file_named("made/runs/old.kymo"));
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "made", "--restart"}).status, 0);
  EXPECT_EQ(lines_of("started"), 4U);
  EXPECT_EQ(lines_of("made/journal.jsonl"), 3U);
  EXPECT_FALSE(std::filesystem::exists(file_named("made/runs/old.kymo")));
}

TEST_F(BenchCommand, ErrorsInAPlanNameThePlace) {
  EXPECT_NE(problem_of("{").find("not JSON"), std::string::npos);
  EXPECT_NE(problem_of("[]").find("an object is expected"), std::string::npos);
  EXPECT_NE(problem_of(R"({"command": "ls"})").find("/command: an array"), std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a", 1]})").find("/command/1: a string"), std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a", "{b}"]})").find("/command/1: there is no {b} here"), std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a"], "parameters": {"x/y": [1, 1]}})").find("/parameters/x~1y/1: a value"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a"], "repetitions": -1})").find("/repetitions: a whole number"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a"], "repetition": 1})").find("/repetition: nothing of this name"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a"], "criteria": [{"metric": "m"}]})").find("/criteria/0: \"at_least\""),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a"], "environment": {"A": "{"}})").find("/environment/A: a brace"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({"command": ["a"], "table": {"path": "../t", "columns": []}})").find("/table/path: a file's"),
            std::string::npos);
}

TEST_F(BenchCommand, TheAttentionGridRunsEndToEnd) {
  if (is_emulated) {
    GTEST_SKIP() << starts_itself;
  }
  const std::vector<std::string> grid{ATTENTION_GRID, "--samples", "4", "--lambda", "0.5", "--output-dir", "grid"};
  const CommandResult result = run_any(grid, {{"KYMO", KYMO_COMMAND}, {"ATTENTION", ATTENTION}});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string results = read_text(file_named("grid/csv/results.csv"));
  EXPECT_EQ(results.substr(0, results.find('\n')),
            "setting,coherence_delta,kv_cache_reduction,peak_mem_reduction,energy_reduction,p95_latency_us,accuracy");
  EXPECT_EQ(lines_of("grid/csv/results.csv"), 3U);
  EXPECT_EQ(lines_of("grid/csv/baseline.csv"), 5U);
  EXPECT_EQ(lines_of("grid/csv/mincut_l0.5_t2.csv"), 5U);
  const auto summary = nlohmann::json::parse(read_text(file_named("grid/summary.json")));
  for (const auto& verdict : summary["verdicts"]) {
    if (verdict["criterion"] == "witness reproduced") {
      EXPECT_EQ(verdict["verdict"], "met") << verdict;
    }
  }
  EXPECT_EQ(kymo({"bench", "verify", "grid/witness/witness.rvf", "grid/witness/mincut_l0.5_t0.jsonl"}).status, 0);
  std::fstream bundle(file_named("grid/witness/witness.rvf"), std::ios::in | std::ios::out | std::ios::binary);
  bundle.seekg(1000);
  const int byte = bundle.get();
  bundle.seekp(1000);
  bundle.put(static_cast<char>(byte ^ 0x10)).flush();
  const CommandResult broken = kymo({"bench", "verify", "grid/witness/witness.rvf"});
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("witness.rvf:2: the line does not have the hash that it states"), std::string::npos)
      << broken.err;
}

}  // namespace
}  // namespace kymo::test
