// GPU scopes over an API that does what it is told: names, arguments, flows, bounds, and every bad day.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <kymo/gpu_scope.hpp>

#include "gpu/recorded_gpu.hpp"
#include "gpu/stand_in_driver.hpp"
#include "support/rounds.hpp"

namespace kymo {
namespace {

using test::GpuRecording;
using test::GpuSpan;
using test::StandIn;

void* place(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): a handle that is never looked into
}

class GpuScopesTest : public ::testing::Test {
 protected:
  GpuContext& make(const GpuOptions& options = {}) {
    context_ =
        std::make_unique<GpuContext>(GpuDriverOrTrouble{std::make_unique<test::StandInDriver>(stand_in_), {}}, options);
    return *context_;
  }
  /// What always holds, and that no timer was used twice at once.
  void check(const GpuScopeCounts& counts) const {
    EXPECT_EQ(counts.issued, counts.resolved + counts.unresolved + counts.pending);
    EXPECT_TRUE(stand_in_.reused_while_in_use.empty());
  }

  StandIn stand_in_;
  GpuRecording recording_;
  std::unique_ptr<GpuContext> context_;
};

/// What a program may define for itself: all of it stands on one line.
#define MY_PASS(gpu, name) \
  KYMO_SCOPE("encode");    \
  KYMO_GPU_SCOPE(gpu, name)

TEST_F(GpuScopesTest, AMacroOfTheProgramMayOpenAScopeOfTheThreadBesideOne) {
  GpuContext& gpu = make();
  { MY_PASS(gpu, "shadow pass"); }
  ASSERT_TRUE(gpu.flush());
  EXPECT_EQ(recording_.spans().size(), 1U);
  EXPECT_EQ(recording_.scopes().size(), 2U);
}

TEST_F(GpuScopesTest, AScopeIsASpanOnTheGpuAndAScopeOnItsThreadJoinedByAFlow) {
  GpuContext& gpu = make();
  const std::int64_t before = base::monotonic_now_ns();
  { KYMO_GPU_SCOPE(gpu, "shadow pass", {"casters", 7}, {"technique", std::string("cascades")}); }
  const std::int64_t after = base::monotonic_now_ns();
  ASSERT_TRUE(gpu.flush());
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].name, "shadow pass");
  EXPECT_EQ(spans[0].track, "stand-in");
  EXPECT_EQ(spans[0].category, "gpu");
  EXPECT_EQ(spans[0].arguments.at("casters"), "7");
  EXPECT_EQ(spans[0].arguments.at("technique"), "cascades");
  const std::int64_t bound = spans[0].number("clock_bound_ns");
  ASSERT_GE(bound, 0);
  EXPECT_GE(spans[0].start_ns, before - bound);
  EXPECT_LE(spans[0].end_ns(), after + 2 * bound);

  const std::vector<test::SeenScope> scopes = recording_.scopes();
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(scopes[0].name, "shadow pass");
  const std::vector<FlowEvent> flows = recording_.flows();
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].phase, FlowPhase::begin);
  EXPECT_EQ(flows[0].track, scopes[0].track);
  EXPECT_EQ(flows[1].phase, FlowPhase::end);
  EXPECT_EQ(flows[1].time_ns, spans[0].start_ns);
  EXPECT_EQ(flows[0].flow_id, flows[1].flow_id);
  EXPECT_EQ(flows[0].flow_id & 0xFFFF'FFFFU, static_cast<std::uint64_t>(spans[0].number("correlation")));
  check(gpu.counts());
}

TEST_F(GpuScopesTest, BothSidesCarryTheCorrelation) {
  GpuContext& gpu = make();
  { KYMO_GPU_SCOPE(gpu, "work"); }
  ASSERT_TRUE(gpu.flush());
  const std::vector<EventBatch> batches = recording_.drained();
  std::uint64_t of_scope = 0;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      for (const ScopeArgument& argument : run.arguments) {
        of_scope = test::text_name(batches, argument.value.name) == "correlation" ? argument.value.bits : of_scope;
      }
    }
  }
  EXPECT_NE(of_scope, 0U);
  EXPECT_EQ(recording_.spans()[0].number("correlation"), static_cast<std::int64_t>(of_scope));
}

TEST_F(GpuScopesTest, ScopesNestAndComeOutInTheirOrder) {
  GpuContext& gpu = make();
  {
    KYMO_GPU_SCOPE(gpu, "frame");
    { KYMO_GPU_SCOPE(gpu, "first"); }
    { KYMO_GPU_SCOPE(gpu, "second"); }
  }
  ASSERT_TRUE(gpu.flush());
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].name, "first");
  EXPECT_EQ(spans[1].name, "second");
  EXPECT_EQ(spans[2].name, "frame");
  EXPECT_LE(spans[2].start_ns, spans[0].start_ns);
  EXPECT_LE(spans[0].start_ns, spans[1].start_ns);
}

TEST_F(GpuScopesTest, ScopesInsideOfAnotherAreHandedInWithIt) {
  GpuContext& gpu = make();
  {
    KYMO_GPU_SCOPE(gpu, "frame");
    { KYMO_GPU_SCOPE(gpu, "pass"); }
    gpu.collect();
    EXPECT_EQ(gpu.counts().resolved, 0U);
  }
  gpu.collect();
  EXPECT_EQ(gpu.counts().resolved, 2U);
  check(gpu.counts());
}

TEST_F(GpuScopesTest, AScopeThatIsOpenForLongDoesNotUseUpTheTimersOfThoseInside) {
  GpuOptions options;
  options.most_pending = 8;
  GpuContext& gpu = make(options);
  KYMO_GPU_SCOPE(gpu, "the whole run");
  for (int i = 0; i < 50; ++i) {
    { KYMO_GPU_SCOPE(gpu, "frame"); }
    gpu.collect();
  }
  EXPECT_GE(gpu.counts().resolved, 45U);
  EXPECT_EQ(gpu.counts().unresolved, 0U);
  check(gpu.counts());
}

TEST_F(GpuScopesTest, WithoutRecordingNothingIsAskedOfTheApi) {
  StandIn stand_in;
  context_.reset();
  recording_.stop();
  {
    GpuContext gpu(GpuDriverOrTrouble{std::make_unique<test::StandInDriver>(stand_in), {}});
    int evaluated = 0;
    for (int i = 0; i < 100; ++i) {
      KYMO_GPU_SCOPE(gpu, "work", {"argument", ++evaluated});
    }
    EXPECT_EQ(evaluated, 0);
    EXPECT_EQ(stand_in.calls, 0U);
    EXPECT_EQ(gpu.counts().issued, 0U);
  }
}

TEST_F(GpuScopesTest, ScopesCollectByThemselvesWhereEnoughWait) {
  GpuContext& gpu = make();
  const std::int64_t until = base::monotonic_now_ns() + 30'000'000'000;
  while (gpu.counts().resolved == 0 && base::monotonic_now_ns() < until) {
    KYMO_GPU_SCOPE(gpu, "work");
  }
  EXPECT_GE(gpu.counts().resolved, 64U);
  check(gpu.counts());
}

TEST_F(GpuScopesTest, ClocksAreComparedSeldom) {
  GpuOptions options;
  options.clock_period = std::chrono::hours(1);
  GpuContext& gpu = make(options);
  for (int i = 0; i < 100; ++i) {
    { KYMO_GPU_SCOPE(gpu, "work"); }
    gpu.collect();
  }
  EXPECT_EQ(stand_in_.clock_readings, 1U);
  EXPECT_EQ(gpu.counts().resolved, 100U);
}

TEST_F(GpuScopesTest, TheBoundOfTheClockIsKeptWithEachSpan) {
  stand_in_.clock_bound_ns = 123'000;
  GpuContext& gpu = make();
  { KYMO_GPU_SCOPE(gpu, "work"); }
  ASSERT_TRUE(gpu.flush());
  EXPECT_GE(recording_.spans()[0].number("clock_bound_ns"), 123'000);
  EXPECT_LT(recording_.spans()[0].number("clock_bound_ns"), 50'000'000);
}

TEST_F(GpuScopesTest, CountersThatWrapWhileAScopeIsOpenGiveItsTime) {
  // 2^20 ticks of 16 ns: a turn lasts 16.8 ms.
  stand_in_.facts = {16, 20};
  GpuOptions options;
  options.clock_period = std::chrono::nanoseconds(0);
  GpuContext& gpu = make(options);
  constexpr std::int64_t turn_ns = (std::int64_t{1} << 20U) * 16;
  int wrapped = 0;
  std::ptrdiff_t held_up = 0;
  const std::int64_t end = base::monotonic_now_ns() + 10'000'000'000;
  while (wrapped < 3 && base::monotonic_now_ns() < end) {
    const std::uint64_t before = stand_in_.ticks_now();
    const std::int64_t start = base::monotonic_now_ns();
    {
      KYMO_GPU_SCOPE(gpu, "work");
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    // On a busy machine for more than a turn, which no counter tells.
    held_up += base::monotonic_now_ns() - start >= turn_ns ? 1 : 0;
    wrapped += stand_in_.ticks_now() < before ? 1 : 0;
    gpu.collect();
  }
  EXPECT_EQ(wrapped, 3);
  const std::vector<GpuSpan> spans = test::named(recording_.spans(), "work");
  EXPECT_LE(std::count_if(spans.begin(), spans.end(), [](const GpuSpan& span) { return span.duration_ns < 480'000; }),
            held_up);
  check(gpu.counts());
}

// ---- Bad days: the scope is marked unresolved, nothing blocks, it is said once ----

class GpuBadDayTest : public GpuScopesTest {
 protected:
  void SetUp() override { ::testing::internal::CaptureStderr(); }
  void TearDown() override {
    if (!is_told_) {
      static_cast<void>(::testing::internal::GetCapturedStderr());
    }
  }
  /// How often it was said, and that the reason was.
  void expect_said_once(const std::string& reason) {
    is_told_ = true;
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_EQ(said.find("kymo:"), said.rfind("kymo:")) << said;
  }
  /// All that came out is marked, each with the reason.
  void expect_unresolved(std::size_t count, const std::string& reason) {
    std::size_t marked = 0;
    for (const GpuSpan& span : recording_.spans()) {
      if (span.name == "work (unresolved)") {
        ++marked;
        EXPECT_EQ(span.arguments.at("unresolved"), reason);
        EXPECT_EQ(span.duration_ns, 0);
        EXPECT_GT(span.number("correlation"), 0);
      }
    }
    EXPECT_EQ(marked, count);
    check(context_->counts());
  }

  bool is_told_ = false;
};

TEST_F(GpuBadDayTest, QueriesThatNeverComeBackAreGivenUp) {
  stand_in_.stuck.insert(nullptr);
  GpuOptions options;
  options.patience = std::chrono::milliseconds(20);
  GpuContext& gpu = make(options);
  for (int i = 0; i < 3; ++i) {
    KYMO_GPU_SCOPE(gpu, "work", {"number", i});
  }
  EXPECT_EQ(gpu.counts().pending, 3U);
  EXPECT_TRUE(gpu.flush(std::chrono::seconds(30)));
  expect_unresolved(3, "the GPU did not come to it in time");
  EXPECT_EQ(recording_.spans()[2].number("number"), 2);
  expect_said_once("the GPU did not come to it in time");
  // What works afterwards is timed again.
  stand_in_.stuck.clear();
  { KYMO_GPU_SCOPE(gpu, "later"); }
  EXPECT_TRUE(gpu.flush());
  EXPECT_EQ(test::named(recording_.spans(), "later").size(), 1U);
}

TEST_F(GpuBadDayTest, AStuckPlaceHoldsNoOtherUp) {
  stand_in_.stuck.insert(place(1));
  GpuContext& gpu = make();
  { KYMO_GPU_SCOPE(GpuPlace(gpu, place(1)), "stuck"); }
  { KYMO_GPU_SCOPE(GpuPlace(gpu, place(2)), "free"); }
  gpu.collect();
  EXPECT_EQ(gpu.counts().resolved, 1U);
  EXPECT_EQ(gpu.counts().pending, 1U);
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].track, "stand-in 2");
}

TEST_F(GpuBadDayTest, ALostContextTakesWhatIsOpenAndPendingWithIt) {
  GpuContext& gpu = make();
  stand_in_.stuck.insert(nullptr);
  { KYMO_GPU_SCOPE(gpu, "work"); }
  {
    KYMO_GPU_SCOPE(gpu, "work");
    stand_in_.is_lost = true;
    gpu.collect();
    EXPECT_FALSE(gpu.is_working());
  }
  const std::uint64_t calls = stand_in_.calls;
  { KYMO_GPU_SCOPE(gpu, "work"); }
  EXPECT_EQ(stand_in_.calls, calls);
  expect_unresolved(3, "the context was lost");
  expect_said_once("the context was lost");
}

TEST_F(GpuBadDayTest, AResetWhileScopesAreOpenIsToldByTheProgram) {
  GpuContext& gpu = make();
  {
    KYMO_GPU_SCOPE(gpu, "work");
    gpu.lose("the device was made anew");
  }
  expect_unresolved(1, "the device was made anew");
  expect_said_once("the device was made anew");
}

TEST_F(GpuBadDayTest, AScopeMayOutliveItsContext) {
  {
    GpuContext& gpu = make();
    KYMO_GPU_SCOPE(gpu, "work");
    context_.reset();
  }
  const std::vector<GpuSpan> spans = recording_.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].name, "work (unresolved)");
  expect_said_once("its context ended before the GPU came to it");
}

TEST_F(GpuBadDayTest, MoreThanCanWaitAreUnresolvedAndTheOthersAreNot) {
  stand_in_.stuck.insert(nullptr);
  GpuOptions options;
  options.most_pending = 4;
  GpuContext& gpu = make(options);
  for (int i = 0; i < 7; ++i) {
    KYMO_GPU_SCOPE(gpu, "work");
  }
  expect_unresolved(3, "too many scopes wait for the GPU");
  expect_said_once("too many scopes wait for the GPU");
  stand_in_.stuck.clear();
  EXPECT_TRUE(gpu.flush());
  EXPECT_EQ(gpu.counts().resolved, 4U);
}

TEST_F(GpuBadDayTest, TimersThatTheGpuMayWriteToYetAreNotUsed) {
  stand_in_.stuck.insert(nullptr);
  stand_in_.recycles = false;
  GpuOptions options;
  options.most_pending = 2;
  options.patience = std::chrono::nanoseconds(0);
  GpuContext& gpu = make(options);
  for (int i = 0; i < 5; ++i) {
    { KYMO_GPU_SCOPE(gpu, "given up"); }
    gpu.collect();
  }
  EXPECT_EQ(gpu.counts().unresolved, 5U);
  check(gpu.counts());
  // They come back when the driver says so.
  stand_in_.stuck.clear();
  stand_in_.recycles = true;
  gpu.collect();
  { KYMO_GPU_SCOPE(gpu, "timed"); }
  gpu.collect();
  EXPECT_EQ(gpu.counts().resolved, 1U);
  check(gpu.counts());
}

TEST_F(GpuBadDayTest, AnApiWithoutTimersGivesScopesOnTheThreadAndMarks) {
  context_ = std::make_unique<GpuContext>(GpuDriverOrTrouble{nullptr, "the time stamps have no bits"});
  EXPECT_FALSE(context_->is_working());
  for (int i = 0; i < 2; ++i) {
    KYMO_GPU_SCOPE(*context_, "work");
  }
  EXPECT_EQ(recording_.scopes().size(), 2U);
  expect_unresolved(2, "the time stamps have no bits");
  expect_said_once("the time stamps have no bits");
}

TEST_F(GpuBadDayTest, TimeStampsThatAreRefusedLeaveTheScopeUnresolved) {
  GpuContext& gpu = make();
  stand_in_.takes_begin = false;
  { KYMO_GPU_SCOPE(gpu, "work"); }
  stand_in_.takes_begin = true;
  stand_in_.takes_end = false;
  { KYMO_GPU_SCOPE(gpu, "work"); }
  expect_unresolved(2, "the API took no time stamp");
}

TEST_F(GpuBadDayTest, TimesThatTheApiHasNotAreUnresolved) {
  GpuContext& gpu = make();
  stand_in_.answer = GpuAnswer::failed;
  { KYMO_GPU_SCOPE(gpu, "work"); }
  gpu.collect();
  expect_unresolved(1, "the GPU has no time for it");
}

TEST_F(GpuBadDayTest, TimesThatCannotHaveBeenAreNotShown) {
  GpuOptions options;
  options.clock_period = std::chrono::hours(1);
  GpuContext& gpu = make(options);
  gpu.collect();
  stand_in_.first_ticks = 60'000'000'000;  // the GPU's clock jumped, and nobody has compared them since
  { KYMO_GPU_SCOPE(gpu, "work"); }
  gpu.collect();
  expect_unresolved(1, "the GPU tells a time at which it cannot have been");
}

TEST_F(GpuBadDayTest, AClockThatIsNeverToldGivesNoTimes) {
  stand_in_.has_clock = false;
  GpuOptions options;
  options.patience = std::chrono::nanoseconds(0);
  GpuContext& gpu = make(options);
  { KYMO_GPU_SCOPE(gpu, "work"); }
  gpu.collect();
  expect_unresolved(1, "the GPU's clock was not told");
}

TEST_F(GpuBadDayTest, WorkThatBecomesAGraphIsAScopeAndNothingElse) {
  GpuContext& gpu = make();
  stand_in_.is_timed = false;
  { KYMO_GPU_SCOPE(gpu, "work"); }
  EXPECT_EQ(stand_in_.calls, 0U);
  EXPECT_EQ(recording_.scopes().size(), 1U);
  EXPECT_TRUE(recording_.spans().empty());
  EXPECT_TRUE(recording_.flows().empty());
  EXPECT_EQ(gpu.counts().issued, 0U);
}

TEST_F(GpuBadDayTest, AForkedChildLeavesTheGpuAlone) {
  if (test::is_emulated) {
    GTEST_SKIP() << test::no_threads_after_fork;
  }
  GpuContext& gpu = make();
  const std::uint64_t calls = stand_in_.calls;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    { KYMO_GPU_SCOPE(gpu, "work"); }
    gpu.collect();
    ::_exit(stand_in_.calls == calls ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(GpuScopesTest, ScopesOfSeveralThreadsAreAllCounted) {
  GpuContext& gpu = make();
  constexpr int each = 500;
  std::vector<std::thread> threads;
  for (std::uintptr_t number = 1; number <= 3; ++number) {
    threads.emplace_back([&gpu, number] {
      for (int i = 0; i < each; ++i) {
        KYMO_GPU_SCOPE(GpuPlace(gpu, place(number)), "work");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(gpu.flush(std::chrono::seconds(30)));
  EXPECT_EQ(gpu.counts().resolved, 3U * each);
  EXPECT_EQ(test::named(recording_.spans(), "work").size(), 3U * each);
  check(gpu.counts());
}

}  // namespace
}  // namespace kymo
