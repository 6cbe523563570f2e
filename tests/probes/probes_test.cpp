// What an NVTX profiler and the kernel's tracers see of scopes.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& path) {
  Lines lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// What the listener hears of the program, which runs with more variables.
Lines heard(const TemporaryDirectory& directory, std::vector<std::pair<std::string, std::string>> environment) {
  const std::string path = directory / "heard";
  environment.emplace_back("NVTX_INJECTION64_PATH", NVTX_LISTENER);
  environment.emplace_back("NVTX_LISTENER_OUTPUT", path);
  ChildProcess program({PROBED_PROGRAM}, environment);
  EXPECT_EQ(program.wait(), 0);
  return lines_of(path);
}

const Lines& expected() {
  static const Lines lines{"open outer",
                           "open int {anonymous}::work(int)",
                           "open inner",
                           "close",
                           "close",
                           "open frame 1",
                           "open " + std::string(255, 'x'),
                           "close",
                           "close",
                           "close",
                           "open in C",
                           "close"};
  return lines;
}

/// With the compiler's way of naming what has no name.
Lines normalised(Lines lines) {
  for (std::string& line : lines) {
    if (const std::size_t at = line.find("(anonymous namespace)"); at != std::string::npos) {
      line.replace(at, 21, "{anonymous}");
    }
  }
  return lines;
}

TEST(Probes, AnNvtxProfilerSeesEveryScopeOpenAndCloseWhileNothingIsRecorded) {
  const TemporaryDirectory directory;
  EXPECT_EQ(normalised(heard(directory, {})), expected());
}

TEST(Probes, AnNvtxProfilerSeesTheSameWhileKymoRecords) {
  const TemporaryDirectory directory;
  const std::string capture = directory / "run.kymo";
  EXPECT_EQ(normalised(heard(directory, {{"KYMO_RECORD", capture}, {"KYMO_SAMPLE", "0"}})), expected());
  EXPECT_GT(std::filesystem::file_size(capture), 0U);
}

TEST(Probes, WithoutAProfilerTheProgramRunsAsEver) {
  ChildProcess program({PROBED_PROGRAM});
  EXPECT_EQ(program.wait(), 0);
}

TEST(Probes, TheProgramHasNotesOfItsUsdtProbes) {
  const TemporaryDirectory directory;
  ChildProcess readelf({READELF, "--notes", "--wide", PROBED_FILE}, {}, directory / "notes");
  ASSERT_EQ(readelf.wait(), 0);
  std::ifstream file(directory / "notes");
  std::stringstream text;
  text << file.rdbuf();
  std::size_t opens = 0;
  std::size_t closes = 0;
  for (std::string line; std::getline(text, line);) {
    opens += line.find("Name: scope_open") != std::string::npos ? 1U : 0U;
    closes += line.find("Name: scope_close") != std::string::npos ? 1U : 0U;
  }
  EXPECT_NE(text.str().find("Provider: kymo"), std::string::npos);
  EXPECT_GT(opens, 0U);
  EXPECT_GT(closes, 0U);
}

}  // namespace
}  // namespace kymo::test
