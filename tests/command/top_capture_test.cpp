// kymo top of captures: its figures are of all samples, however dense they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/kymo/sensors/live_table.hpp"
#include "capture/write/capture_writer.hpp"
#include "command_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

class TopCapture : public CommandTest {};

TEST_F(TopCapture, LeastMostAndLatestAreThoseOfStats) {
  constexpr std::int64_t step_ns = 1'000'000;
  constexpr int samples = 1'950;
  capture::CaptureWriterOptions options;
  Declarations& declared = options.declarations;
  declared.processes = {{ProcessId{1}, 7, "here", "boot", "", "program"}};
  EventBatch batch;
  batch.start_ns = 1'000'000'000;
  batch.end_ns = batch.start_ns + samples * step_ns;
  const std::vector<std::pair<std::string, MetricKind>> metrics{
      {"spikes", MetricKind::gauge}, {"debt", MetricKind::gauge}, {"count", MetricKind::counter}};
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const MetricId id{static_cast<std::uint32_t>(i + 1)};
    declared.metrics.push_back({id, metrics[i].second, ProcessId{1}, metrics[i].first, "", "", {}});
    batch.samples.push_back({id, {}, {}, {}});
  }
  double count = 0;
  for (int i = 0; i < samples; ++i) {
    const std::vector<double> values{i == 555   ? 1e6
                                     : i == 777 ? -5
                                                : i % 7 + 1.0,
                                     i == 0 ? std::nan("") : -100.0 - i, count += i == 333 ? 500 : 1};
    for (std::size_t k = 0; k < values.size(); ++k) {
      batch.samples[k].times_ns.push_back(batch.start_ns + i * step_ns);
      batch.samples[k].values.push_back(values[k]);
    }
  }
  {
    capture::CaptureWriter writer(file_named("run.kymo"), std::move(options));
    writer.write(batch);
    writer.finish();
  }
  const CommandResult stats = kymo({"stats", "--metrics", "--json", "run.kymo"});
  const CommandResult top = kymo({"top", "--once", "-i", "0.05", "--json", "run.kymo"});
  ASSERT_EQ(stats.status, 0) << stats.err;
  ASSERT_EQ(top.status, 0) << top.err;
  const auto expected = nlohmann::json::parse(stats.out)["metrics"];
  const auto shown = nlohmann::json::parse(top.out)["metrics"];
  ASSERT_EQ(shown.size(), metrics.size());
  ASSERT_EQ(expected.size(), metrics.size());
  for (const auto& row : shown) {
    const auto of_stats = std::find_if(expected.begin(), expected.end(),
                                       [&row](const auto& other) { return other["name"] == row["name"]; });
    ASSERT_NE(of_stats, expected.end()) << row;
    if (row["unit"] == "1/s") {
      // A rate is over half a tenth of a second, in one of which 500 came at once.
      EXPECT_NEAR(row["value"].get<double>(), 1000, 1e-6);
      EXPECT_NEAR(row["least"].get<double>(), 1000, 1e-6);
      EXPECT_NEAR(row["most"].get<double>(), 10980, 1e-6);
      continue;
    }
    EXPECT_EQ(row["value"], (*of_stats)["last"]) << row << *of_stats;
    EXPECT_EQ(row["least"], (*of_stats)["min"]) << row << *of_stats;
    EXPECT_EQ(row["most"], (*of_stats)["max"]) << row << *of_stats;
  }
}

TEST_F(TopCapture, TheCaptureThatTakesThePlaceOfAnotherIsShown) {
  const auto write_round = [this](double round) {
    capture::CaptureWriterOptions options;
    options.declarations.processes = {{ProcessId{1}, 7, "here", "boot", "", "program"}};
    options.declarations.metrics = {{MetricId{1}, MetricKind::gauge, ProcessId{1}, "round", "", "", {}}};
    EventBatch batch;
    batch.end_ns = batch.start_ns = 1'000'000'000;
    batch.samples = {{MetricId{1}, {batch.start_ns}, {round}, {}}};
    std::filesystem::remove(file_named("run.kymo"));
    capture::CaptureWriter writer(file_named("run.kymo"), std::move(options));
    writer.write(batch);
    writer.finish();
  };
  write_round(5);
  set_environment({});
  ChildProcess top(shell(kymo_words({"top", "--json", "-i", "0.05", "-n", "10000", "run.kymo"})));
  const auto shows = [this](const char* value) {
    return wait_until([&] { return read_text(file_named("out")).find(value) != std::string::npos; });
  };
  EXPECT_TRUE(shows("\"value\": 5.0"));
  write_round(6);
  EXPECT_TRUE(shows("\"value\": 6.0"));
  top.signal(SIGTERM);
  static_cast<void>(top.wait());
}

TEST(LiveRow, ABarShowsTheLastOfItsValuesAndTheFiguresAreOfAll) {
  command::LiveRow row(MetricDeclaration{MetricId{1}, MetricKind::gauge, ProcessId{1}, "load", "", "", {}}, 10);
  row.add(0, std::nan(""), false);
  EXPECT_TRUE(std::isnan(row.min()) && std::isnan(row.max()));
  row.add(5, 9, false);
  row.add(9, 4, false);
  row.add(10, -3, false);
  row.add(12, 2, false);
  row.add(25, 8, false);
  EXPECT_EQ(row.sparkline(10), "▃▁█");
  EXPECT_EQ(row.min(), -3);
  EXPECT_EQ(row.max(), 9);
  EXPECT_EQ(row.latest(), 8);
  row.add(26, 1, false);
  EXPECT_EQ(row.latest(), 1);
}

}  // namespace
}  // namespace kymo::test
