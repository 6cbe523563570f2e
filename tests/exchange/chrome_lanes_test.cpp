#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chrome_fixture.hpp"
#include "exchange/chrome/trace.hpp"
#include "exchange/common/span_lanes.hpp"

namespace kymo::exchange {
namespace {

using test::end_ns;
using test::first_batch;
using test::next_batch;
using test::of_phase;
using test::start_ns;
using test::trace_events;
using Json = nlohmann::json;

/// Declares the queue "gpu" as track 2, the lane "requests" as track 3, and names.
EventBatch lanes_batch(std::int64_t start, std::int64_t end) {
  EventBatch batch = first_batch(start, end);
  batch.declarations.tracks.push_back({TrackId{2}, TrackKind::queue, ProcessId{1}, 0, "gpu"});
  batch.declarations.tracks.push_back({TrackId{3}, TrackKind::async, ProcessId{1}, 0, "requests"});
  batch.declarations.names = {{NameId{1}, "draw"}, {NameId{2}, "render"}, {NameId{3}, "get"}, {NameId{4}, "bytes"}};
  return batch;
}

SpanEvent span(TrackId track, std::uint32_t name, std::int64_t start, std::int64_t duration,
               std::uint64_t async_id = 0) {
  SpanEvent event;
  event.track = track;
  event.name = NameId{name};
  event.start_ns = start;
  event.duration_ns = duration;
  event.async_id = async_id;
  return event;
}

bool overlap_without_nesting(const Json& a, const Json& b) {
  const auto crosses = [](const Json& left, const Json& right) {
    return start_ns(left) < start_ns(right) && start_ns(right) < end_ns(left) && end_ns(left) < end_ns(right);
  };
  return crosses(a, b) || crosses(b, a);
}

TEST(ChromeLanes, QueueSpansThatNestStandOnTheirTrack) {
  EventBatch batch = lanes_batch(0, 1000);
  batch.spans = {span(TrackId{2}, 1, 110, 20), span(TrackId{2}, 1, 130, 70), span(TrackId{2}, 1, 100, 100),
                 span(TrackId{2}, 1, 200, 0)};
  batch.spans[1].category = NameId{2};
  batch.spans[1].argument_count = 1;
  batch.span_arguments = {test::integer_argument(NameId{4}, 77)};
  const Json events = trace_events({batch});
  const auto spans = of_phase(events, "X");
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_TRUE(of_phase(events, "be").empty());
  EXPECT_EQ(start_ns(spans[0]), 100);
  EXPECT_EQ(end_ns(spans[0]), 200);
  EXPECT_EQ(spans[0].at("cat"), "queue");
  EXPECT_EQ(spans[2].at("cat"), "render");
  EXPECT_EQ(spans[2].at("args"), Json({{"bytes", 77}}));
  for (const Json& event : spans) {
    EXPECT_EQ(event.at("tid"), spans[0].at("tid"));
    EXPECT_NE(event.at("tid"), 4712);
  }
}

TEST(ChromeLanes, QueueSpansThatOverlapGoToAsyncTracks) {
  EventBatch first = lanes_batch(0, 1000);
  first.spans = {span(TrackId{2}, 1, 100, 100), span(TrackId{2}, 1, 150, 100)};
  EventBatch second = next_batch(1000, 2000);
  second.spans = {span(TrackId{2}, 1, 180, 50), span(TrackId{2}, 1, 120, 30), span(TrackId{2}, 1, 300, 10)};
  const Json events = trace_events({first, second});
  const auto on_track = of_phase(events, "X");
  ASSERT_EQ(on_track.size(), 3U);
  EXPECT_EQ(start_ns(on_track[0]), 100);
  EXPECT_EQ(start_ns(on_track[1]), 120);
  EXPECT_EQ(start_ns(on_track[2]), 300);
  const auto async = of_phase(events, "be");
  ASSERT_EQ(async.size(), 4U);
  EXPECT_EQ(async[0].at("ph"), "b");
  EXPECT_EQ(start_ns(async[0]), 150);
  EXPECT_EQ(start_ns(async[1]), 250);
  EXPECT_EQ(async[0].at("id2").at("local"), async[1].at("id2").at("local"));
  EXPECT_NE(async[0].at("id2").at("local"), async[2].at("id2").at("local")) << "180..230 overlaps 150..250";
}

TEST(ChromeLanes, NoTwoSpansOfARandomQueueOverlapWithoutNestingAndNoneIsLost) {
  std::mt19937_64 random(5);
  std::vector<EventBatch> batches;
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  std::int64_t now = 0;
  for (int number = 0; number < 30; ++number) {
    EventBatch batch = number == 0 ? lanes_batch(0, 1'000'000) : next_batch(0, 1'000'000);
    for (int i = 0; i < 40; ++i) {
      now += static_cast<std::int64_t>(random() % 100);
      const std::int64_t start = std::max<std::int64_t>(0, now - static_cast<std::int64_t>(random() % 3000));
      const auto duration = static_cast<std::int64_t>(random() % 200);
      batch.spans.push_back(span(TrackId{2}, 1, start, duration));
      expected.emplace_back(start, start + duration);
    }
    batches.push_back(std::move(batch));
  }
  const Json events = trace_events(batches);
  const auto on_track = of_phase(events, "X");
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::size_t i = 0; i < on_track.size(); ++i) {
    found.emplace_back(start_ns(on_track[i]), end_ns(on_track[i]));
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_FALSE(overlap_without_nesting(on_track[i], on_track[j])) << on_track[i] << on_track[j];
    }
  }
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> lanes;
  const auto async = of_phase(events, "be");
  for (std::size_t i = 0; i < async.size(); i += 2) {
    ASSERT_EQ(async[i].at("ph"), "b");
    ASSERT_EQ(async[i + 1].at("id2").at("local"), async[i].at("id2").at("local"));
    auto& lane = lanes[async[i].at("id2").at("local")];
    const std::pair<std::int64_t, std::int64_t> interval(start_ns(async[i]), start_ns(async[i + 1]));
    for (const auto& other : lane) {
      ASSERT_TRUE(other.second <= interval.first || interval.second <= other.first);
    }
    lane.push_back(interval);
    found.push_back(interval);
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  EXPECT_GT(on_track.size(), 200U);
}

TEST(ChromeLanes, ALateSpanIsRefusedWhereNobodyKnowsWhatItOverlaps) {
  NestingTrack track;
  EXPECT_TRUE(track.admit(0, 1'000'000)) << "a span around all others";
  for (std::int64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(track.admit(10 * i, 10 * i + 5));
  }
  EXPECT_FALSE(track.admit(3, 8)) << "it would cross the span of 0 to 5";
  EXPECT_FALSE(track.admit(19990, 19993) && track.admit(19991, 19996));
  EXPECT_TRUE(track.admit(20500, 20600));
}

TEST(ChromeLanes, AsyncSpansMayOverlapAndCrossBatches) {
  EventBatch first = lanes_batch(0, 100);
  first.async_begins = {{TrackId{3}, NameId{3}, 10, 1}, {TrackId{3}, NameId{3}, 20, 2}, {TrackId{3}, NameId{3}, 30, 3}};
  first.spans = {span(TrackId{3}, 3, 30, 5, 3)};
  EventBatch second = next_batch(100, 200);
  second.spans = {span(TrackId{3}, 3, 10, 110, 1)};
  second.spans[0].argument_count = 1;
  second.span_arguments = {test::integer_argument(NameId{4}, 9)};
  const auto async = of_phase(trace_events({first, second}), "be");
  ASSERT_EQ(async.size(), 6U);
  std::map<std::string, std::vector<Json>> by_id;
  for (const Json& event : async) {
    EXPECT_EQ(event.at("cat"), "requests");
    EXPECT_EQ(event.at("name"), "get");
    by_id[event.at("id2").at("local")].push_back(event);
  }
  ASSERT_EQ(by_id.size(), 3U);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const auto& [id, pair] : by_id) {
    ASSERT_EQ(pair.size(), 2U);
    EXPECT_EQ(pair[0].at("ph"), "b");
    EXPECT_EQ(pair[1].at("ph"), "e");
    found.emplace_back(start_ns(pair[0]), start_ns(pair[1]));
    const Json args = pair[1].value("args", Json());
    EXPECT_EQ(args, found.back().first == 10   ? Json({{"bytes", 9}})
                    : found.back().first == 20 ? Json({{"open", true}})
                                               : Json());
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::pair<std::int64_t, std::int64_t>>{{10, 120}, {20, 200}, {30, 35}}));
}

TEST(ChromeLanes, ABeginThatComesOneBatchAfterItsSpanOpensNothing) {
  EventBatch first = lanes_batch(0, 100);
  first.spans = {span(TrackId{3}, 3, 10, 5, 1)};
  EventBatch second = next_batch(100, 200);
  second.async_begins = {{TrackId{3}, NameId{3}, 10, 1}};
  EXPECT_EQ(of_phase(trace_events({first, second}), "be").size(), 2U);
}

TEST(ChromeLanes, SpansOneAfterTheOtherShareAnId) {
  EventBatch batch = lanes_batch(0, 100);
  for (std::int64_t i = 0; i < 100; ++i) {
    batch.spans.push_back(span(TrackId{3}, 3, 10 * i, 10, static_cast<std::uint64_t>(i + 1)));
  }
  for (const Json& event : of_phase(trace_events({batch}), "be")) {
    EXPECT_EQ(event.at("id2").at("local"), "0x1");
  }
}

TEST(ChromeLanes, FramesStandOnATrackOfTheirStream) {
  EventBatch first = lanes_batch(0, 100);
  first.declarations.frame_streams = {{FrameStreamId{1}, ProcessId{1}, ""},
                                      {FrameStreamId{2}, ProcessId{1}, "physics"}};
  first.frame_marks = {
      {FrameStreamId{1}, TrackId{1}, 10}, {FrameStreamId{2}, TrackId{1}, 15}, {FrameStreamId{1}, TrackId{1}, 26}};
  EventBatch second = next_batch(100, 200);
  second.frame_marks = {{FrameStreamId{1}, TrackId{1}, 143}, {FrameStreamId{2}, TrackId{1}, 150}};
  EventBatch third = next_batch(140, 200);
  third.frame_marks = {{FrameStreamId{1}, TrackId{2}, 140}};
  const Json events = trace_events({first, second, third});
  const auto frames = of_phase(events, "X");
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(frames[0].at("name"), "frame");
  EXPECT_EQ(start_ns(frames[0]), 10);
  EXPECT_EQ(end_ns(frames[0]), 26);
  EXPECT_EQ(frames[0].at("args"), Json({{"number", 1}}));
  EXPECT_EQ(start_ns(frames[1]), 26);
  EXPECT_EQ(end_ns(frames[1]), 143);
  EXPECT_EQ(frames[1].at("args"), Json({{"number", 2}}));
  EXPECT_EQ(frames[2].at("name"), "physics");
  EXPECT_NE(frames[2].at("tid"), frames[0].at("tid"));
  // A late mark ends a frame without a length.
  EXPECT_EQ(start_ns(frames[3]), 143);
  EXPECT_EQ(end_ns(frames[3]), 143);
  EXPECT_EQ(frames[3].at("args"), Json({{"number", 3}}));
  std::map<std::uint64_t, std::string> names;
  for (const Json& event : of_phase(events, "M")) {
    if (event.at("name") == "thread_name") {
      names[event.at("tid")] = event.at("args").at("name");
    }
  }
  EXPECT_EQ(names[frames[0].at("tid")], "frames");
  EXPECT_EQ(names[frames[2].at("tid")], "frames: physics");
}

TEST(ChromeLanes, SamplesAreCountersAndWhatIsNoNumberIsSkipped) {
  EventBatch batch = lanes_batch(0, 100);
  MetricDeclaration loss;
  loss.id = MetricId{1};
  loss.name = "loss \"train\"";
  MetricDeclaration power;
  power.id = MetricId{2};
  power.name = "power";
  power.unit = "W";
  power.labels = {{"rail", "GPU"}, {"chip", "0"}};
  batch.declarations.metrics = {loss, power};
  batch.samples = {{MetricId{1}, {10, 20, 30, 40}, {0.1, std::nan(""), HUGE_VAL, 1e-300}, {}},
                   {MetricId{2}, {15}, {250}, {}}};
  const auto counters = of_phase(trace_events({batch}), "C");
  ASSERT_EQ(counters.size(), 3U);
  EXPECT_EQ(counters[0].at("name"), "loss \"train\"");
  EXPECT_EQ(counters[0].at("args"), Json({{"value", 0.1}}));
  EXPECT_EQ(start_ns(counters[1]), 40);
  EXPECT_EQ(counters[1].at("args").at("value").get<double>(), 1e-300);
  EXPECT_EQ(counters[2].at("name"), "power {rail=GPU, chip=0}");
  EXPECT_EQ(counters[2].at("args"), Json({{"W", 250}}));
  EXPECT_EQ(counters[2].at("pid"), 4711);
}

TEST(ChromeLanes, MessagesSyncPointsAndUncertainClocksAreInstants) {
  EventBatch batch = lanes_batch(0, 100);
  batch.messages = {{TrackId{1}, false, 10, "epoch \"1\""}, {TrackId{}, true, 11, "long"}};
  batch.sync_points = {{3, TrackId{1}, 20}};
  batch.clock_uncertainties = {{30, 40, 5}};
  const auto instants = of_phase(trace_events({batch}), "i");
  ASSERT_EQ(instants.size(), 4U);
  EXPECT_EQ(instants[0].at("name"), "epoch \"1\"");
  EXPECT_EQ(instants[0].at("s"), "t");
  EXPECT_EQ(instants[0].at("tid"), 4712);
  EXPECT_EQ(instants[1].at("name"), "long…");
  EXPECT_EQ(instants[1].at("s"), "p");
  EXPECT_EQ(instants[2].at("name"), "sync 3");
  EXPECT_EQ(instants[2].at("args"), Json({{"number", 3}}));
  EXPECT_EQ(instants[3].at("args"), Json({{"until_us", 0.04}, {"bound_us", 0.005}}));
}

TEST(ChromeLanes, FlowsLieInsideTheScopesTheyJoin) {
  EventBatch batch = lanes_batch(0, 100);
  batch.declarations.tracks.push_back({TrackId{4}, TrackKind::thread, ProcessId{1}, 4799, "other"});
  for (const std::uint32_t track : {1U, 4U}) {
    ScopeRun& run = batch.runs.emplace_back();
    run.track = TrackId{track};
    run.events = {test::open(10 * track, track == 1 ? 1U : 2U, 0), test::close(10 * track + 8, 0)};
  }
  batch.flows = {{TrackId{1}, FlowPhase::begin, 14, 77},
                 {TrackId{4}, FlowPhase::step, 44, 77},
                 {TrackId{4}, FlowPhase::end, 46, 77}};
  const Json events = trace_events({batch});
  const auto flows = of_phase(events, "stf");
  ASSERT_EQ(flows.size(), 3U);
  const char* const phases[] = {"s", "t", "f"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(flows[i].at("ph"), phases[i]);
    EXPECT_EQ(flows[i].at("id"), "0x4d");
    EXPECT_EQ(flows[i].at("cat"), "flow");
    const auto scopes = of_phase(events, "X");
    EXPECT_EQ(1, std::count_if(scopes.begin(), scopes.end(), [&](const Json& scope) {
                return scope.at("tid") == flows[i].at("tid") && start_ns(scope) <= start_ns(flows[i]) &&
                       start_ns(flows[i]) <= end_ns(scope);
              }));
  }
  EXPECT_EQ(flows[2].at("bp"), "e");
}

}  // namespace
}  // namespace kymo::exchange
