// Spans without an end, in a capture that lacks events between two triggers.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/flight_recording.hpp"
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
