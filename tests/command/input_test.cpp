// What the commands make of captures that are damaged, missing, empty, named twice, or none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <kymo/capture.hpp>

#include "apps/kymo/shared/units.hpp"
#include "command_fixture.hpp"

namespace kymo::test {
namespace {

class Input : public CommandTest {};

TEST_F(Input, ACaptureThatIsNamedTwiceCountsOnceWhichIsSaid) {
  std::filesystem::create_directory(file_named("runs"));
  static_cast<void>(make_capture("runs/a.kymo"));
  std::filesystem::create_symlink("runs/a.kymo", file_named("link.kymo"));
  const auto sites = nlohmann::json::parse(kymo({"stats", "--json", "runs/a.kymo"}).out)["sites"];
  const std::vector<std::vector<std::string>> repeats{{"runs/a.kymo", "./runs/a.kymo"},
                                                      {"runs/a.kymo", "link.kymo"},
                                                      {"runs", "runs/a.kymo"},
                                                      {"runs", "./runs/"},
                                                      {"link.kymo", "runs"}};
  for (const std::vector<std::string>& paths : repeats) {
    const CommandResult result = kymo({"stats", "--json", paths[0], paths[1]});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["sites"], sites) << paths[1];
    EXPECT_NE(result.err.find("is named more than once and counts once"), std::string::npos) << result.err;
  }
  EXPECT_EQ(kymo({"stats", "runs"}).err.find("more than once"), std::string::npos);
}

TEST_F(Input, WhatIsMissingOrNoCaptureIsAnErrorThatNamesIt) {
  std::filesystem::create_directory(file_named("nothing"));
  std::ofstream(file_named("empty.kymo")).flush();
  std::ofstream(file_named("text.kymo")) << std::string(5000, 'x');
  std::mt19937 random(1);
  std::ofstream noise(file_named("noise.kymo"), std::ios::binary);
  for (unsigned i = 0; i < 20000; ++i) {
    noise.put(static_cast<char>(random()));
  }
  noise.close();
  for (const char* const name : {"missing.kymo", "nothing", "empty.kymo", "text.kymo", "noise.kymo"}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"info"},
                                               {"stats"},
                                               {"info", "--json"},
                                               {"stats", "--json"},
                                               {"export", "--to", "chrome", "-o", "x.json"},
                                               {"merge", "-o", "x.kymo"},
                                               {"recover"}}) {
      std::vector<std::string> arguments = command;
      arguments.emplace_back(name);
      const CommandResult result = kymo(arguments);
      EXPECT_EQ(result.status, 1) << command.front() << " " << name;
      EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
      EXPECT_FALSE(std::filesystem::exists(file_named("x.json")));
      EXPECT_FALSE(std::filesystem::exists(file_named("x.kymo")));
    }
  }
}

TEST_F(Input, ACaptureCutAnywhereGivesItsSoundPartOrAnError) {
  const std::string whole = read_text(make_capture("whole.kymo", {.seed = 3, .steps = 300}));
  const CommandResult sound = kymo({"stats", "whole.kymo"});
  ASSERT_EQ(sound.status, 0);
  std::size_t sound_parts = 0;
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 16 + 1) {
    std::ofstream(file_named("cut.kymo"), std::ios::binary) << whole.substr(0, size);
    const CommandResult result = kymo({"stats", "--json", "cut.kymo"});
    ASSERT_TRUE(result.status == 0 || result.status == 1 || result.status == 3) << size << ": " << result.status;
    if (result.status != 1) {
      const auto json = nlohmann::json::parse(result.out);
      EXPECT_FALSE(json["warnings"].empty()) << size;
      ++sound_parts;
    } else {
      EXPECT_NE(result.err, "");
    }
  }
  EXPECT_GT(sound_parts, 8U);
}

TEST_F(Input, TheSizeOfACaptureIsThatOfItsFileAlsoWhereItsLastBlockIsCut) {
  const std::string whole = read_text(make_capture("whole.kymo", {.seed = 3, .steps = 3000}));
  const CaptureReader reader(file_named("whole.kymo"));
  const auto largest =
      std::max_element(reader.blocks().begin(), reader.blocks().end(),
                       [](const BlockInfo& a, const BlockInfo& b) { return a.stored_bytes < b.stored_bytes; });
  const std::size_t size = largest->offset + largest->stored_bytes * 3 / 4;
  std::ofstream(file_named("cut.kymo"), std::ios::binary) << whole.substr(0, size);
  const CommandResult json = kymo({"info", "--json", "cut.kymo"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["captures"][0]["bytes"], size);
  const std::string of_size = " of " + command::format_bytes(size) + ") cannot be read\n";
  const CommandResult info = kymo({"info", "cut.kymo"});
  EXPECT_NE(info.err.find(of_size), std::string::npos) << of_size << info.err;
  EXPECT_NE(info.out.find("size      " + command::format_bytes(size) + ", not closed"), std::string::npos) << info.out;
}

TEST_F(Input, DamageIsSaidBeforeWhatCannotBeDoneBecauseOfIt) {
  const std::string whole = read_text(make_capture("whole.kymo", {.seed = 3, .steps = 3000}));
  const CaptureReader reader(file_named("whole.kymo"));
  const auto events = std::find_if(reader.blocks().begin(), reader.blocks().end(),
                                   [](const BlockInfo& block) { return block.kind == BlockKind::events; });
  std::ofstream(file_named("cut.kymo"), std::ios::binary) << whole.substr(0, events->offset + 100);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"explain", "cut.kymo"},
                                             {"explain", "--run", "cut.kymo"},
                                             {"explain", "--energy", "cut.kymo"},
                                             {"explain", "--json", "cut.kymo"},
                                             {"stats", "--frames", "5..", "cut.kymo"},
                                             {"stats", "--slowest-frames", "3", "cut.kymo"},
                                             {"stats", "--filter", "no such", "cut.kymo"},
                                             {"stats", "--phases", "cut.kymo"},
                                             {"stats", "--functions", "cut.kymo"},
                                             {"stats", "--energy", "cut.kymo"},
                                             {"export", "--to", "chrome", "--frames", "5..", "-o", "x", "cut.kymo"},
                                             {"export", "--to", "nvmt", "-o", "x", "cut.kymo"},
                                             {"export", "--to", "pprof", "-o", "x", "cut.kymo"},
                                             {"export", "--to", "openmetrics", "-o", "-", "cut.kymo"},
                                             {"report", "-o", "x.html", "cut.kymo"},
                                             {"compare", "cut.kymo", "whole.kymo"},
                                             {"compare", "--functions", "cut.kymo", "whole.kymo"},
                                             {"merge", "-o", "x.kymo", "cut.kymo"}}) {
    const CommandResult result = kymo(command);
    const std::size_t warning = result.err.find("warning: cut.kymo: 1 damaged place (");
    EXPECT_NE(warning, std::string::npos) << ::testing::PrintToString(command) << result.status << result.err;
    EXPECT_LT(warning, result.err.find("kymo: ", result.err.find("\n"))) << result.err;
    EXPECT_EQ(result.err.find("1 damaged place", warning + 20), std::string::npos) << "once: " << result.err;
  }
}

TEST_F(Input, DamageIsReportedAndTheRestIsShown) {
  std::string bytes = read_text(make_capture("a.kymo", {.seed = 4, .steps = 3000}));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  std::ofstream(file_named("a.kymo"), std::ios::binary) << bytes;
  const CommandResult result = kymo({"info", "--check", "a.kymo"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("warning: a.kymo"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("thread 0"), std::string::npos);
}

TEST_F(Input, DamagedBlocksAreSaidByEveryCommandAndSummariesCountThem) {
  static_cast<void>(make_capture("sound.kymo", {.seed = 5, .steps = 6000}));
  std::string bytes = read_text(file_named("sound.kymo"));
  std::size_t damaged = 0;
  const CaptureReader recorded(file_named("sound.kymo"));
  for (const BlockInfo& block : recorded.blocks()) {
    if (block.kind == BlockKind::events && block.number % 3 == 0) {
      bytes[block.offset + 60] = static_cast<char>(bytes[block.offset + 60] ^ 0x10);
      ++damaged;
    }
  }
  ASSERT_GT(damaged, 1U);
  std::ofstream(file_named("a.kymo"), std::ios::binary) << bytes;
  const std::string said = std::to_string(damaged) + " damaged blocks (";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"info", "a.kymo"},
                                             {"stats", "a.kymo"},
                                             {"stats", "--tree", "a.kymo"},
                                             {"stats", "--slowest-frames", "1", "a.kymo"},
                                             {"stats", "--time", "0s..1ms", "a.kymo"},
                                             {"export", "--to", "csv-metrics", "-o", "out.csv", "a.kymo"},
                                             {"export", "--to", "parquet", "-o", "out.parquet", "a.kymo"},
                                             {"report", "-o", "a.html", "a.kymo"},
                                             {"compare", "sound.kymo", "a.kymo"},
                                             {"top", "--once", "a.kymo"},
                                             {"merge", "-o", "merged.kymo", "a.kymo", "sound.kymo"}}) {
    const CommandResult result = kymo(command);
    EXPECT_EQ(result.status, 3) << command[0];
    EXPECT_NE(result.err.find(said), std::string::npos) << command[0] << "\n" << result.err;
  }
  const auto json_of = [this](const std::vector<std::string>& arguments) {
    return nlohmann::json::parse(kymo(arguments).out);
  };
  const auto sound = json_of({"stats", "--json", "sound.kymo"});
  const auto summed = json_of({"stats", "--json", "a.kymo"});
  EXPECT_EQ(summed["sites"], sound["sites"]) << "summaries count what was in damaged blocks";
  EXPECT_EQ(summed["damage"]["event_blocks"], damaged);
  EXPECT_EQ(summed["blocks_damaged"], 0) << "nothing is missing";
  EXPECT_NE(kymo({"stats", "a.kymo"}).err.find("the tables are whole all the same"), std::string::npos);
  const auto decoded = json_of({"stats", "--decode", "--json", "a.kymo"});
  EXPECT_NE(decoded["sites"], sound["sites"]);
  EXPECT_EQ(decoded["blocks_damaged"], damaged);
  EXPECT_NE(kymo({"stats", "--decode", "a.kymo"}).err.find("without --decode"), std::string::npos);
}

TEST_F(Input, EmptyFilesBesideOthersAreLeftOutAndSaid) {
  std::filesystem::create_directory(file_named("runs"));
  static_cast<void>(make_capture("runs/a.kymo", {.seed = 6, .steps = 300, .pid = 1}));
  static_cast<void>(make_capture("runs/b.kymo", {.seed = 7, .steps = 300, .pid = 2}));
  std::ofstream(file_named("runs/c.kymo")).flush();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"info", "--check", "runs"},
                                             {"stats", "runs/a.kymo", "runs/b.kymo", "runs/c.kymo"},
                                             {"merge", "-o", "all.kymo", "runs"},
                                             {"recover", "runs"},
                                             {"top", "--once", "runs"},
                                             {"compare", "runs/a.kymo", "runs"}}) {
    const CommandResult result = kymo(command);
    EXPECT_EQ(result.status, 0) << command[0] << result.err;
    EXPECT_NE(result.err.find("runs/c.kymo: is empty: nothing was recorded into it"), std::string::npos) << result.err;
  }
  EXPECT_EQ(nlohmann::json::parse(kymo({"info", "--json", "all.kymo"}).out)["processes"].size(), 2U);
}

}  // namespace
}  // namespace kymo::test
