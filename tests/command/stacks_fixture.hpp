// A program whose stacks are recorded, and what `kymo stats --functions` says of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command/command_fixture.hpp"
#include "threads/states/source.hpp"

namespace kymo::test {

class StacksTest : public CommandTest {
 protected:
  using Json = nlohmann::json;

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

}  // namespace kymo::test
