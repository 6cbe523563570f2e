#include "exchange/chrome/names.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "chrome_fixture.hpp"
#include "exchange/common/id_table.hpp"

namespace kymo::exchange {
namespace {

using test::first_batch;
using test::next_batch;
using test::of_phase;
using test::trace_events;
using test::trace_text;
using Json = nlohmann::json;

TEST(ChromeNames, ProcessesAndThreadsAreNamed) {
  EventBatch batch = first_batch(0, 100);
  batch.declarations.processes[0].host = "node7";
  batch.declarations.processes[0].rank = "3";
  EventBatch renamed = next_batch(100, 200);
  renamed.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 4712, "worker \"2\""});
  std::multimap<std::string, Json> metadata;
  for (const Json& event : of_phase(trace_events({batch, renamed}), "M")) {
    metadata.emplace(event.at("name"), event);
  }
  EXPECT_EQ(metadata.find("process_name")->second.at("args").at("name"), "./simulate --steps 3");
  EXPECT_EQ(metadata.find("process_name")->second.at("pid"), 4711);
  EXPECT_EQ(metadata.find("process_labels")->second.at("args").at("labels"), "node7, rank 3");
  EXPECT_EQ(metadata.count("thread_sort_index"), 1U);
  const auto [first, last] = metadata.equal_range("thread_name");
  ASSERT_EQ(std::distance(first, last), 2);
  EXPECT_EQ(first->second.at("args").at("name"), "worker");
  EXPECT_EQ(std::next(first)->second.at("args").at("name"), "worker \"2\"");
  EXPECT_EQ(std::next(first)->second.at("tid"), 4712);
}

TEST(ChromeNames, ALongCommandLineIsCutWithAMark) {
  EventBatch batch = first_batch(0, 100);
  batch.declarations.processes[0].command_line = std::string(1000, 'x');
  const auto metadata = of_phase(trace_events({batch}), "M");
  EXPECT_EQ(metadata[0].at("args").at("name"), std::string(256, 'x') + "…");
}

TEST(ChromeNames, ProcessesOfSeveralHostsWithTheSameNumbersStayApart) {
  EventBatch batch = first_batch(0, 100);
  batch.declarations.processes.push_back(batch.declarations.processes[0]);
  batch.declarations.processes[1].id = ProcessId{2};
  batch.declarations.tracks.push_back({TrackId{2}, TrackKind::thread, ProcessId{2}, 4712, "worker"});
  batch.declarations.tracks.push_back({TrackId{3}, TrackKind::thread, ProcessId{1}, 4712, "the number came again"});
  for (std::uint32_t track = 1; track <= 3; ++track) {
    ScopeRun& run = batch.runs.emplace_back();
    run.track = TrackId{track};
    run.events = {test::open(10, 1, 0), test::close(20 + track, 0)};
    batch.flows.push_back({run.track, FlowPhase::begin, 15, 1});
  }
  const Json events = trace_events({batch});
  std::set<std::pair<int, int>> places;
  std::set<int> processes;
  for (const Json& scope : of_phase(events, "X")) {
    places.emplace(scope.at("pid"), scope.at("tid"));
    processes.insert(scope.at("pid").get<int>());
  }
  EXPECT_EQ(places.size(), 3U);
  EXPECT_EQ(processes.size(), 2U);
  const auto flows = of_phase(events, "s");
  EXPECT_NE(flows[0].at("cat"), flows[1].at("cat")) << "flows of two processes must not be joined";
}

TEST(ChromeNames, AProcessWhoseNumberIsNotKnownIsNumberZero) {
  EventBatch batch = first_batch(0, 100);
  batch.declarations.processes.clear();
  batch.runs.emplace_back().track = TrackId{1};
  batch.runs[0].events = {test::open(10, 1, 0), test::close(20, 0)};
  EXPECT_EQ(of_phase(trace_events({batch}), "X")[0].at("pid"), 0);
}

TEST(ChromeNames, TheFactsOfTheRunAreOtherData) {
  EventBatch batch = first_batch(0, 100);
  batch.declarations.infos = {{ProcessId{1}, "kernel", "Linux \"6\""},
                              {ProcessId{1}, "label.run", "1"},
                              {ProcessId{1}, "label.run", "2"},
                              {ProcessId{2}, "kernel", "x"}};
  const Json trace = Json::parse(trace_text({batch}, TraceContainer::object));
  EXPECT_EQ(trace.at("otherData"), Json({{"kernel", "Linux \"6\""}, {"label.run", "2"}, {"process 2: kernel", "x"}}));
  EXPECT_EQ(trace.at("displayTimeUnit"), "ns");
}

TEST(IdTable, GreatIdsCostNoMoreThanSmallOnes) {
  IdTable<ProcessId, int> table;
  const std::uint32_t ids[] = {1, 2, 3, 0, 4'294'967'295U, 3'000'000'000U, 50};
  int number = 0;
  for (const std::uint32_t id : ids) {
    EXPECT_EQ(table.find(ProcessId{id}), nullptr);
    table.get(ProcessId{id}) = ++number;
  }
  number = 0;
  for (const std::uint32_t id : ids) {
    ASSERT_NE(table.find(ProcessId{id}), nullptr);
    EXPECT_EQ(*table.find(ProcessId{id}), ++number);
  }
  EXPECT_EQ(table.find(ProcessId{4}), nullptr);
}

}  // namespace
}  // namespace kymo::exchange
