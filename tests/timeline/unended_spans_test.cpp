// Spans without an end, in a capture that lacks events between two triggers.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/write/capture_writer.hpp"
#include "support/flight_recording.hpp"
#include "support/memory_destination.hpp"
#include "support/open_memory.hpp"

namespace kymo::test {
namespace {

using Flight = FlightRecording;

struct End {
  std::uint16_t flags = 0;
  std::int64_t end_ns = 0;

  bool operator==(const End&) const = default;
};
using Ends = std::map<std::uint64_t, End>;  // by id

std::int64_t end_of_batch(std::int64_t number) {
  return Flight::batch(number).end_ns;
}

/// Of the spans without an end.
Ends ends_of(const SpanList& list) {
  Ends ends;
  for (const Span& span : list.spans) {
    if (span.async_id != 0 && (span.flags & (Span::open | Span::end_unknown)) != 0) {
      ends[span.async_id] = {span.flags, span.end_ns()};
    }
  }
  return ends;
}

class OpenAsyncSpans : public ::testing::Test {
 protected:
  std::vector<std::byte> bytes_ = Flight::capture();
  Timeline timeline_ = open_memory(bytes_);
  Ends expected_{{Flight::ends_in_missing_part, {Span::end_unknown, end_of_batch(9)}},
                 {Flight::never_ends, {Span::end_unknown, end_of_batch(9)}},
                 {Flight::begins_after_missing_part, {Span::open, end_of_batch(41)}}};
};

TEST_F(OpenAsyncSpans, MayHaveEndedInAMissingPart) {
  EXPECT_EQ(ends_of(timeline_.open_spans()), expected_);
}

TEST_F(OpenAsyncSpans, AreTheSameOnTheirLane) {
  EXPECT_EQ(ends_of(timeline_.spans(Flight::lane, timeline_.range())), expected_);
}

TEST_F(OpenAsyncSpans, AreTheSameAmongAllSpans) {
  Ends ends;
  timeline_.visit_spans([&ends](const SpanList& list) {
    ends.merge(ends_of(list));
    return true;
  });
  EXPECT_EQ(ends, expected_);
}

/// Writes a span per batch that does not end. Before the second batch, and with the end of `drops_at_end`, events that
/// are no scopes were dropped.
std::vector<std::byte> capture_with_drops(bool drops_at_end) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), Flight::options(nullptr));
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EventBatch batch;
    batch.start_ns = static_cast<std::int64_t>(id) * 1'000;
    batch.end_ns = batch.start_ns + 500;
    ScopeRun& run = batch.runs.emplace_back();
    run.track = Flight::track;
    run.dropped_others = id == 1 ? 0 : 1;
    batch.async_begins.push_back({Flight::lane, Flight::load_name, batch.start_ns, id});
    writer.write(batch);
  }
  if (drops_at_end) {
    writer.keep_drops({{Flight::track, 0, 0, 2, 0}});
  }
  writer.finish();
  return std::move(*bytes);
}

TEST(OpenAsyncSpansAmongDrops, MayHaveEndedWhereEventsWereDropped) {
  for (const bool drops_at_end : {false, true}) {
    const std::vector<std::byte> bytes = capture_with_drops(drops_at_end);
    const Ends expected{
        {1, {Span::end_unknown, 1'500}},
        {2, {Span::end_unknown, 2'000}},
        {3, drops_at_end ? End{Span::end_unknown, 3'500} : End{Span::open, 3'500}},
    };
    const Timeline timeline = open_memory(bytes);
    EXPECT_EQ(ends_of(timeline.open_spans()), expected);
    EXPECT_EQ(ends_of(timeline.spans(Flight::lane, timeline.range())), expected);
    Ends ends;
    timeline.visit_spans([&ends](const SpanList& list) {
      ends.merge(ends_of(list));
      return true;
    });
    EXPECT_EQ(ends, expected);
  }
}

// A batch names the tracks with open scopes, and this one's no more.
TEST(LostScopes, OfATrackWithoutLaterEventsHaveAnUnknownEnd) {
  const std::vector<std::byte> bytes = Flight::capture();
  std::vector<Span> loads;
  open_memory(bytes).visit_spans([&loads](const SpanList& list) {
    std::copy_if(list.spans.begin(), list.spans.end(), std::back_inserter(loads),
                 [](const Span& span) { return span.site == Flight::load_site; });
    return true;
  });
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0].flags & (Span::open | Span::end_unknown), Span::end_unknown);
  EXPECT_LE(loads[0].end_ns(), end_of_batch(9));
}

}  // namespace
}  // namespace kymo::test
