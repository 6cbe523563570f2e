// Spans that no scope opens: async ones, those handed in afterwards, and the flows between spans.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "record/hot/track_writer.hpp"
#include "record/recording_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::record {
namespace {

using test::wait_until;

using SpansTest = RecordingTest;

TEST_F(SpansTest, AsyncSpansEndOnOtherThreadsWithTheirArguments) {
  AsyncSpan span("requests", "GET /");
  span.argument({"status", 200});
  AsyncSpan open("requests", "never ends");
  std::thread([moved = std::move(span)]() mutable { moved.end(); }).join();
  const std::vector<EventBatch> batches = recorded();
  std::size_t begins = 0;
  std::vector<SpanEvent> spans;
  std::vector<ArgumentValue> arguments;
  for (const EventBatch& batch : batches) {
    begins += batch.async_begins.size();
    spans.insert(spans.end(), batch.spans.begin(), batch.spans.end());
    arguments.insert(arguments.end(), batch.span_arguments.begin(), batch.span_arguments.end());
  }
  EXPECT_EQ(begins, 2U);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(test::text_name(batches, spans[0].name), "GET /");
  EXPECT_EQ(test::track_name(batches, spans[0].track), "requests");
  ASSERT_EQ(arguments.size(), 1U);
  EXPECT_EQ(arguments[0].bits, 200U);
}

TEST_F(SpansTest, WhatIsStatedTooFarFromZeroIsDroppedAndCountedAndNothingElseIs) {
  const TrackId gpu = track("GPU");
  constexpr std::int64_t farthest = std::numeric_limits<std::int64_t>::max();
  const auto emit = [gpu](std::int64_t start_ns, std::int64_t duration_ns) {
    emit_span(gpu, "kernel", {}, std::chrono::nanoseconds(start_ns), std::chrono::nanoseconds(duration_ns));
  };
  constexpr int rounds = 100;
  for (int i = 0; i < rounds; ++i) {
    KYMO_SCOPE("before");
    emit(farthest, 10);
    emit(-farthest - 1, 10);
    emit(10, farthest);
    kymo_flow_at(gpu.value(), farthest, 1, KYMO_FLOW_BEGIN);
    emit(farthest / 8, 10);
    KYMO_SCOPE("after");
  }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::closed_scopes(batches).size(), std::size_t{2} * rounds);
  EXPECT_EQ(dropped(batches).others, std::uint64_t{4} * rounds);
  std::size_t spans = 0;
  for (const EventBatch& batch : batches) {
    spans += batch.spans.size();
  }
  EXPECT_EQ(spans, std::size_t{rounds});
}

TEST_F(SpansTest, AnAsyncSpanIsNoPartOfALaterRecording) {
  AsyncSpan before("requests", "before");
  EXPECT_EQ(recorded().back().async_begins.size(), 1U);
  ASSERT_TRUE(Recorder::instance().remove_sink(handle_));
  before.end();
  const auto second = std::make_shared<MemorySink>();
  handle_ = Recorder::instance().add_sink(second);
  AsyncSpan("requests", "after").end();
  EXPECT_TRUE(Recorder::instance().flush(std::chrono::seconds(30)));
  std::size_t begins = 0;
  for (const EventBatch& batch : second->batches()) {
    begins += batch.async_begins.size();
  }
  EXPECT_EQ(begins, 1U);
}

TEST_F(SpansTest, AsyncSpansOfYoungerThreadsEndOnOlderOnes) {
  { KYMO_SCOPE("the older thread's track comes first"); }
  AsyncSpan span;
  std::thread([&] { span = AsyncSpan("requests", "GET /"); }).join();
  std::thread([&] { span.argument({"status", 404}); }).join();
  span.end();
  std::vector<SpanEvent> spans;
  std::vector<ArgumentValue> arguments;
  for (const EventBatch& batch : recorded()) {
    spans.insert(spans.end(), batch.spans.begin(), batch.spans.end());
    arguments.insert(arguments.end(), batch.span_arguments.begin(), batch.span_arguments.end());
    for (const SpanEvent& each : batch.spans) {
      EXPECT_LE(batch.start_ns, each.start_ns);
      EXPECT_GE(batch.end_ns, each.start_ns + each.duration_ns);
    }
  }
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].argument_count, 1U);
  ASSERT_EQ(arguments.size(), 1U);
  EXPECT_EQ(arguments[0].bits, 404U);
}

/// A thread that does what it is told, and records nothing else.
class ToldThread {
 public:
  ToldThread()
      : thread_([this] {
          { KYMO_SCOPE("has a track"); }
          slot_ = current_slot();
          while (!is_over_) {
            if (const std::function<void()>* const task = task_.load()) {
              (*task)();
              task_ = nullptr;
            }
            std::this_thread::yield();
          }
        }) {
    EXPECT_TRUE(wait_until([this] { return slot_.load() != nullptr; }));
  }
  ToldThread(const ToldThread&) = delete;
  ToldThread& operator=(const ToldThread&) = delete;
  ~ToldThread() {
    is_over_ = true;
    thread_.join();
  }
  void run(const std::function<void()>& task) {
    task_ = &task;
    while (task_.load() != nullptr) {
      std::this_thread::yield();
    }
  }
  [[nodiscard]] const TrackSlot* slot() const { return slot_; }

 private:
  std::atomic<const TrackSlot*> slot_{nullptr};
  std::atomic<const std::function<void()>*> task_{nullptr};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST_F(SpansTest, AnEndThatTheCollectorSeesBeforeItsBeginGoesOutTogetherWithIt) {
  ToldThread one;
  ToldThread other;
  ToldThread& first = one.slot() < other.slot() ? one : other;
  ToldThread& second = &first == &one ? other : one;
  { AsyncSpan declares_the_names("lane", "handed over"); }
  recorded();
  std::size_t slots = 0;
  for (std::uint32_t i = 1; i < Recorder::instance().pool()->slot_count(); ++i) {
    slots += Recorder::instance().pool()->slot(i).state.load() == SlotState::active ? 1U : 0U;
  }
  // After each look at a thread in one round of them, a span goes from one thread to the other. One of them begins
  // behind the look at the first thread, and ends before the look at the second.
  std::atomic<std::size_t> handed{0};
  std::atomic<bool> is_round{false};
  std::size_t seen = 0;
  AsyncSpan span;
  const std::function<void()> begin = [&] { span = AsyncSpan("lane", "handed over"); };
  const std::function<void()> end = [&] { span.end(); };
  std::promise<std::size_t> written;
  const std::function<void(CollectorStep)> call = [&](CollectorStep step) {
    if (step == CollectorStep::looked && is_round && handed < slots) {
      first.run(begin);
      second.run(end);
      ++handed;
    } else if (step == CollectorStep::written && handed == slots && seen == 0) {
      seen = handed;
      std::size_t spans = 0;
      for (const EventBatch& batch : sink_->batches()) {
        spans += batch.spans.size();
      }
      written.set_value(spans);
    }
    is_round = is_round || step == CollectorStep::released;
  };
  on_step = &call;
  do {
    { KYMO_SCOPE("gives the collector something to write"); }
    recorded();
  } while (handed < slots);
  EXPECT_EQ(written.get_future().get(), 1 + slots);
  on_step = nullptr;
  recorded();
}

TEST_F(SpansTest, EmittedSpansKeepTheirTimesAndWidenTheBatch) {
  const TrackId queue = track("gpu queue");
  ASSERT_TRUE(queue);
  const std::chrono::nanoseconds start(monotonic_now() - 5'000'000'000);
  emit_span(queue, "pass", "gpu", start, std::chrono::microseconds(250), {{"draws", 3}, {"label", "shadow"}});
  ClockDomain domain(10.0);
  domain.add_pair(1'000, 50'000);
  domain.add_pair(2'000, 70'000);
  emit_span(domain, queue, "ticks", {}, 1'500, 100);
  std::vector<SpanEvent> spans;
  for (const EventBatch& batch : recorded()) {
    for (const SpanEvent& span : batch.spans) {
      EXPECT_LE(batch.start_ns, span.start_ns);
      EXPECT_GE(batch.end_ns, span.start_ns + span.duration_ns);
      spans.push_back(span);
    }
  }
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].start_ns, start.count());
  EXPECT_EQ(spans[0].duration_ns, 250'000);
  EXPECT_EQ(spans[0].argument_count, 2U);
  EXPECT_EQ(spans[1].start_ns, 60'000);
  EXPECT_EQ(spans[1].duration_ns, 2'000);
}

TEST_F(SpansTest, FlowsJoinScopesAndSpansThatAreHandedIn) {
  const TrackId queue = track("gpu queue");
  const std::chrono::nanoseconds start(monotonic_now() - 5'000'000'000);
  flow_begin(7);
  emit_span(queue, "pass", "gpu", start, std::chrono::microseconds(250));
  flow_end(7, queue, start);
  kymo_flow_at(queue.value(), start.count() + 9, 8, KYMO_FLOW_BEGIN);
  kymo_flow_at(queue.value(), start.count() + 9, 8, KYMO_FLOW_STEP);
  kymo_flow_at(queue.value(), std::numeric_limits<std::int64_t>::max(), 8, KYMO_FLOW_END);  // no time that there is
  flow_end(8, TrackId{}, start);                                                            // no track
  std::vector<FlowEvent> flows;
  for (const EventBatch& batch : recorded()) {
    for (const FlowEvent& flow : batch.flows) {
      EXPECT_LE(batch.start_ns, flow.time_ns);
      EXPECT_GE(batch.end_ns, flow.time_ns);
      flows.push_back(flow);
    }
  }
  ASSERT_EQ(flows.size(), 4U);
  EXPECT_NE(flows[0].track, queue);
  EXPECT_EQ(flows[0].phase, FlowPhase::begin);
  EXPECT_EQ(flows[0].flow_id, 7U);
  EXPECT_EQ(flows[1].track, queue);
  EXPECT_EQ(flows[1].phase, FlowPhase::end);
  EXPECT_EQ(flows[1].flow_id, 7U);
  EXPECT_EQ(flows[1].time_ns, start.count());
  EXPECT_EQ(flows[2].phase, FlowPhase::begin);
  EXPECT_EQ(flows[3].phase, FlowPhase::step);
  EXPECT_EQ(flows[3].time_ns, start.count() + 9);
  EXPECT_EQ(flows[3].flow_id, 8U);
}

}  // namespace
}  // namespace kymo::record
