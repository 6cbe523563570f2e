#include "exchange/chrome/sink.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chrome_fixture.hpp"

namespace kymo::exchange {
namespace {

using Json = nlohmann::json;

EventBatch one_scope(std::int64_t start_ns) {
  EventBatch batch = start_ns == 0 ? test::first_batch(0, 100) : test::next_batch(start_ns, start_ns + 100);
  batch.runs.emplace_back().track = TrackId{1};
  batch.runs[0].events = {test::open(start_ns + 10, 1, 0), test::close(start_ns + 20, 0)};
  return batch;
}

TEST(ChromeSink, TheTraceIsCompleteOnceTheSinkIsFinished) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  Declarations known;
  known.processes = {{ProcessId{1}, 77, "host", "", "", "program --option"}};
  ChromeSink sink(path, known);
  sink.write(one_scope(0));
  sink.write(one_scope(100));
  sink.finish();
  sink.finish();
  const Json trace = Json::parse(test::read_file(path));
  const std::vector<Json> scopes = test::of_phase(trace, "X");
  ASSERT_EQ(scopes.size(), 2U);
  EXPECT_EQ(scopes[0]["pid"], 77);
  EXPECT_EQ(trace[0]["args"]["name"], "program --option");
}

TEST(ChromeSink, RunStatesOfTheProgramsThreadsAreInTheTrace) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  ChromeSink sink(path);
  sink.write(one_scope(0));
  EventBatch seen;
  seen.start_ns = 0;
  seen.end_ns = 90'000;
  seen.declarations.threads = {{ThreadId{1}, ProcessId{1}, 1, 2, "worker"}};
  seen.states = {{ThreadId{1}, {{10'000, 50'000, 3, RunState::running}, {60'000, 30'000, 3, RunState::blocked}}}};
  sink.write(seen);
  sink.finish();
  std::map<std::string, double> lengths_us;
  for (const Json& span : test::of_phase(Json::parse(test::read_file(path)), "X")) {
    lengths_us[span["name"]] = span["dur"];
  }
  EXPECT_EQ(lengths_us["running"], 50);
  EXPECT_EQ(lengths_us["blocked"], 30);
}

TEST(ChromeSink, AKilledProcessLeavesEveryBatchAndOnlyTheBracketIsMissing) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  ChromeSink sink(path);
  sink.write(one_scope(0));
  const std::string first = test::read_file(path) + "]";
  EXPECT_EQ(test::of_phase(Json::parse(first), "X").size(), 1U);
  sink.write(one_scope(100));
  const std::string second = test::read_file(path) + "]";
  EXPECT_EQ(test::of_phase(Json::parse(second), "X").size(), 2U);
}

TEST(ChromeSink, AChildAfterForkLeavesItsParentsTraceAlone) {
  test::TemporaryDirectory directory;
  const std::string path = directory / "trace.json";
  ChromeSink sink(path);
  sink.write(one_scope(0));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sink.write(one_scope(100));
    sink.finish();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  sink.write(one_scope(200));
  sink.finish();
  EXPECT_EQ(test::of_phase(Json::parse(test::read_file(path)), "X").size(), 2U);
}

TEST(ChromeSink, AFullDiskIsAnErrorForTheCollectorToReport) {
  ChromeSink sink("/dev/full");
  EXPECT_THROW(sink.write(one_scope(0)), base::OutputError);
}

}  // namespace
}  // namespace kymo::exchange
