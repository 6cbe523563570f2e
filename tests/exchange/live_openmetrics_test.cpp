// Captures for a scraper, while they grow.
#include "exchange/tables/openmetrics.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// The count of each series of scopes, by its labels.
std::map<std::string, double> counts_of(const std::string& text) {
  constexpr std::string_view head = "kymo_scope_seconds_count";
  std::map<std::string, double> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(head, 0) == 0) {
      counts[line.substr(head.size(), line.rfind(' ') - head.size())] = std::stod(line.substr(line.rfind(' ')));
    }
  }
  return counts;
}

SiteDeclaration site(std::uint32_t id, const char* name, const char* function, const char* file, SiteRole role) {
  SiteDeclaration declared;
  declared.id = SiteId{id};
  declared.name = name;
  declared.function = function;
  declared.file = file;
  declared.line = 7;
  declared.role = role;
  return declared;
}

/// A scope of each of these sites, as long as it says.
EventBatch scopes(std::int64_t start_ns, std::uint64_t sequence, const std::vector<std::pair<SiteId, int>>& all) {
  EventBatch batch;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  run.first_sequence = sequence;
  batch.start_ns = batch.end_ns = start_ns;
  for (const auto& [site, milliseconds] : all) {
    run.events.push_back({batch.end_ns, site, 0, 0});
    batch.end_ns += milliseconds * ms;
    run.events.push_back({batch.end_ns, {}, 0, 0});
  }
  run.end_sequence = sequence + run.events.size();
  return batch;
}

/// Writes a capture of so many scopes and a metric of that value.
void write_round(const std::string& path, int scopes_in_all) {
  capture::CaptureWriterOptions options;
  options.declarations.processes = {{ProcessId{1}, 7, "here", "boot", "", "program"}};
  options.declarations.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 7, "main"}};
  options.declarations.sites = {site(1, "load", "load", "data.cpp", SiteRole::work)};
  options.declarations.metrics = {{MetricId{1}, MetricKind::gauge, ProcessId{1}, "round", "", "", {}}};
  EventBatch batch =
      scopes(0, 0, std::vector<std::pair<SiteId, int>>(static_cast<std::size_t>(scopes_in_all), {SiteId{1}, 1}));
  batch.samples = {{MetricId{1}, {0}, {static_cast<double>(scopes_in_all)}, {}}};
  capture::CaptureWriter writer(path, std::move(options));
  writer.write(batch);
  writer.finish();
}

TEST(LiveOpenMetrics, GoOverToTheCaptureThatTakesThePlaceOfAnother) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  for (const std::string& opened : {path, directory.path().string()}) {
    std::filesystem::remove(path);
    write_round(path, 5);
    exchange::LiveOpenMetrics live([&opened] { return Timeline(opened); });
    const std::string first = live.text();
    EXPECT_NE(first.find("\nround 5"), std::string::npos) << first;
    std::filesystem::remove(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(live.text(), first) << "what was read of a file that is gone stays";
    write_round(path, 2);
    std::string text;
    ASSERT_TRUE(wait_until([&] { return (text = live.text()).find("\nround 2") != std::string::npos; })) << text;
    EXPECT_EQ(counts_of(text).begin()->second, 2) << text;
  }
}

TEST(LiveOpenMetrics, SeriesKeepTheirLabelsWhileTheCaptureGrows) {
  constexpr SiteId for_alice{1};
  constexpr SiteId for_bob{2};
  constexpr SiteId there{3};
  constexpr SiteId here{4};
  capture::CaptureWriterOptions options;
  options.declarations.processes = {{ProcessId{1}, 7, "here", "boot", "", "program"}};
  options.declarations.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 7, "main"}};
  options.declarations.sites = {site(1, "wait for queue", "alice", "queue.cpp", SiteRole::wait),
                                site(2, "wait for queue", "bob", "queue.cpp", SiteRole::wait),
                                site(3, "load", "load", "there/data.cpp", SiteRole::work),
                                site(4, "load", "load", "here/data.cpp", SiteRole::work)};
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  capture::CaptureWriter writer(path, std::move(options));
  const EventBatch first = scopes(0, 0, {{for_alice, 2}, {for_alice, 2}, {here, 1}, {here, 1}, {here, 1}});
  writer.write(first);
  exchange::LiveOpenMetrics live([&path] { return Timeline(path); });
  const std::map<std::string, double> before = counts_of(live.text());
  ASSERT_EQ(before.size(), 2U);
  // Those that come later have more time in all.
  writer.write(scopes(first.end_ns, first.runs[0].end_sequence, {{for_bob, 50}, {there, 50}, {for_alice, 1}}));
  writer.finish();
  std::map<std::string, double> after;
  ASSERT_TRUE(wait_until([&] { return (after = counts_of(live.text())).size() == 4; }));
  for (const auto& [labels, count] : before) {
    ASSERT_EQ(after.count(labels), 1U) << labels;
    EXPECT_GE(after[labels], count) << labels;
  }
  EXPECT_EQ(after["{site=\"wait for queue\",file=\"queue.cpp\",line=\"7\",holder=\"alice\"}"], 3);
  EXPECT_EQ(after["{site=\"load\",file=\"data.cpp\",line=\"7\",number=\"2\"}"], 3);
}

}  // namespace
}  // namespace kymo::test
