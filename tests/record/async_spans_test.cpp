// The order in which tracks are drained is not the one in which things happened.
#include "record/collector/async_spans.hpp"

#include <gtest/gtest.h>

#include "record/collector/track_decoder.hpp"

namespace kymo::record {
namespace {

EventBatch empty_batch() {
  EventBatch batch;
  clear_batch(batch);
  return batch;
}

ArgumentValue text_argument(std::uint32_t size) {
  ArgumentValue value;
  value.name = NameId{3};
  value.type = ArgumentType::string;
  value.text_size = size;
  return value;
}

TEST(AsyncSpansTest, AnEndAndArgumentsThatComeFirstWaitForTheBegin) {
  AsyncSpans spans;
  EventBatch batch = empty_batch();
  spans.end(7, 300);
  spans.add_argument(7, 200, text_argument(2), "ok");
  spans.forget_without_begin(150);
  spans.put_ended(batch);
  EXPECT_TRUE(batch.spans.empty());

  spans.begin({TrackId{1}, NameId{2}, 100, 7}, batch);
  spans.put_ended(batch);
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(batch.spans[0].start_ns, 100);
  EXPECT_EQ(batch.spans[0].duration_ns, 200);
  EXPECT_EQ(batch.spans[0].async_id, 7U);
  EXPECT_EQ(batch.async_begins.size(), 1U);
  EXPECT_EQ(batch.start_ns, 100);
  EXPECT_EQ(batch.end_ns, 300);
  ASSERT_EQ(batch.span_arguments.size(), 1U);
  EXPECT_EQ(batch.text.substr(static_cast<std::size_t>(batch.span_arguments[0].bits), 2), "ok");

  spans.put_begins(batch);
  spans.put_ended(batch);
  EXPECT_EQ(batch.async_begins.size(), 1U) << "it has ended";
  EXPECT_EQ(batch.spans.size(), 1U);
}

TEST(AsyncSpansTest, WhatIsBeyondTheLimitsIsCountedAndLeavesNoOpenSpan) {
  AsyncSpans spans;
  EventBatch batch = empty_batch();
  constexpr std::uint64_t most = 65'536;
  for (std::uint64_t id = 1; id <= most + 1; ++id) {
    spans.begin({TrackId{1}, NameId{2}, 100, id}, batch);
  }
  EXPECT_EQ(batch.async_begins.size(), most);
  EXPECT_EQ(spans.take_lost(), 1U);
  spans.end(most + 1, 200);
  EXPECT_EQ(spans.take_lost(), 1U);
  for (int i = 0; i < 17; ++i) {
    spans.add_argument(1, 200, text_argument(2), "ok");
  }
  EXPECT_EQ(spans.take_lost(), 1U);
  EXPECT_EQ(spans.take_lost(), 0U);
}

TEST(AsyncSpansTest, WhatLacksItsBeginIsKnownUntilThatComesOrIsGivenUp) {
  AsyncSpans spans;
  EventBatch batch = empty_batch();
  EXPECT_FALSE(spans.has_end_without_begin());
  spans.end(7, 300);
  spans.end(8, 400);
  EXPECT_TRUE(spans.has_end_without_begin());
  spans.begin({TrackId{1}, NameId{2}, 100, 7}, batch);
  EXPECT_TRUE(spans.has_end_without_begin());
  spans.forget_without_begin(400);
  EXPECT_FALSE(spans.has_end_without_begin());
}

TEST(AsyncSpansTest, AnArgumentThatComesBehindTheEndIsTheSpans) {
  AsyncSpans spans;
  EventBatch batch = empty_batch();
  spans.end(7, 300);
  spans.begin({TrackId{1}, NameId{2}, 100, 7}, batch);
  spans.add_argument(7, 200, text_argument(2), "ok");
  spans.put_ended(batch);
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(batch.spans[0].argument_count, 1U);
}

TEST(AsyncSpansTest, WhatNeverBeganLeavesNothingBehind) {
  AsyncSpans spans;
  EventBatch batch = empty_batch();
  spans.begin({TrackId{1}, NameId{2}, 50, 1}, batch);
  std::int64_t time_ns = 100;
  for (std::uint64_t id = 100; id < 200'000; ++id) {
    spans.end(id, ++time_ns);
    spans.add_argument(id, time_ns, text_argument(2), "no");
    if (id % 10'000 == 0) {
      spans.put_ended(batch);
      spans.forget_without_begin(time_ns);
    }
  }
  spans.forget_without_begin(time_ns);
  EXPECT_TRUE(batch.spans.empty());
  EventBatch later = empty_batch();
  spans.begin({TrackId{1}, NameId{2}, 100, 200'000}, later);
  spans.put_begins(later);
  EXPECT_EQ(later.async_begins.size(), 3U) << "two are open; the ends of others took their room";
}

TEST(AsyncSpansTest, WhatIsOpenOutlastsDrains) {
  AsyncSpans spans;
  EventBatch batch = empty_batch();
  spans.begin({TrackId{1}, NameId{2}, 50, 1}, batch);
  for (int i = 0; i < 10; ++i) {
    spans.put_ended(batch);
    spans.forget_without_begin(1'000'000);
  }
  spans.end(1, 60);
  spans.put_ended(batch);
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(batch.spans[0].duration_ns, 10);
}

}  // namespace
}  // namespace kymo::record
