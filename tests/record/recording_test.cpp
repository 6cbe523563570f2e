// What threads record comes out of the collector: scopes, arguments, events, drops.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <thread>

#include <kymo/kymo.hpp>

#include "record/header_scope.hpp"
#include "record/hot/track_writer.hpp"
#include "record/recording_fixture.hpp"
#include "support/rounds.hpp"

// scopes_in_c.c
extern "C" int kymo_test_scopes_in_c(int rounds);

namespace kymo::record {
namespace {

using test::SeenScope;

/// Deletes the spool when the program ends.
class Farewell : public ::testing::Environment {
 public:
  void TearDown() override { Recorder::instance().shut_down(); }
};

const auto* const farewell = ::testing::AddGlobalTestEnvironment(new Farewell);

TEST_F(RecordingTest, TimesRightAfterTheStartAreOfTheMonotonicClock) {
  constexpr std::int64_t clock_bound_ns = 1000;
  for (int start = 0; start < 10; ++start) {
    std::vector<std::int64_t> between;
    for (int i = 0; i < 50; ++i) {
      between.push_back(monotonic_now());
      { KYMO_SCOPE("early"); }
    }
    between.push_back(monotonic_now());
    const std::vector<test::SeenScope> scopes = test::closed_scopes(recorded());
    ASSERT_EQ(scopes.size(), 50U);
    for (std::size_t i = 0; i < scopes.size(); ++i) {
      EXPECT_GE(scopes[i].start_ns, between[i] - clock_bound_ns);
      EXPECT_LE(scopes[i].end_ns, between[i + 1] + clock_bound_ns);
    }
    TearDown();
    sink_ = std::make_shared<MemorySink>();
    SetUp();
  }
}

TEST_F(RecordingTest, NestedScopesComeOutWithNamesDepthsAndTimes) {
  const std::int64_t before = monotonic_now();
  {
    KYMO_SCOPE("outer");
    { KYMO_SCOPE("inner"); }
    { KYMO_SCOPE("inner"); }
  }
  const std::int64_t after = monotonic_now();
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  ASSERT_EQ(scopes.size(), 3U);
  EXPECT_EQ(scopes[0].name, "inner");
  EXPECT_EQ(scopes[0].depth, 1U);
  EXPECT_EQ(scopes[2].name, "outer");
  EXPECT_EQ(scopes[2].depth, 0U);
  // The clock's contract: within a microsecond of CLOCK_MONOTONIC.
  EXPECT_GE(scopes[2].start_ns, before - 1000);
  EXPECT_LE(scopes[2].end_ns, after + 1000);
  EXPECT_LE(scopes[2].start_ns, scopes[0].start_ns);
  EXPECT_LE(scopes[0].end_ns, scopes[1].start_ns);
  EXPECT_LE(scopes[1].end_ns, scopes[2].end_ns);
}

void named_after_itself() {
  KYMO_FUNCTION();
}

TEST_F(RecordingTest, AFunctionScopeIsNamedAfterItsFunction) {
  named_after_itself();
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  ASSERT_EQ(scopes.size(), 1U);
  const std::string name = scopes[0].name;
  EXPECT_EQ(name.substr(name.rfind(':') + 1), "named_after_itself");
}

TEST_F(RecordingTest, ScopesInCEndWithTheirBlockOrWhereTheyAreEnded) {
  EXPECT_EQ(kymo_test_scopes_in_c(3), 3);
  std::map<std::string, std::pair<std::size_t, std::size_t>> seen;  // count and depth
  for (const SeenScope& scope : test::closed_scopes(recorded())) {
    ++seen[scope.name].first;
    seen[scope.name].second = scope.depth;
  }
  const std::map<std::string, std::pair<std::size_t, std::size_t>> expected{
      {"kymo_test_scopes_in_c", {1, 0}}, {"round", {3, 1}}, {"work", {2, 2}}};
  EXPECT_EQ(seen, expected);
}

TEST_F(RecordingTest, ArgumentsOfEveryTypeReachTheirScope) {
  const std::string long_text(1000, 'x');
  {
    KYMO_SCOPE("work", {"count", -7}, {"share", 0.25}, {"ok", true}, {"big", ~std::uint64_t{0}}, {"who", "me"});
    KYMO_ARG("late", std::string("text"));
    KYMO_ARG("cut", long_text);
  }
  const std::vector<EventBatch> batches = recorded();
  std::map<std::string, ArgumentValue> arguments;
  std::map<std::string, std::string> texts;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      for (const ScopeArgument& argument : run.arguments) {
        EXPECT_EQ(argument.position, 1U);
        const std::string name = test::text_name(batches, argument.value.name);
        arguments[name] = argument.value;
        if (argument.value.type == ArgumentType::string) {
          texts[name] = batch.text.substr(argument.value.bits, argument.value.text_size);
        }
      }
    }
  }
  ASSERT_EQ(arguments.size(), 7U);
  EXPECT_EQ(static_cast<std::int64_t>(arguments["count"].bits), -7);
  EXPECT_EQ(arguments["big"].bits, ~std::uint64_t{0});
  EXPECT_EQ(arguments["big"].type, ArgumentType::uint64);
  EXPECT_EQ(arguments["ok"].type, ArgumentType::boolean);
  double share = 0;
  std::memcpy(&share, &arguments["share"].bits, sizeof share);
  EXPECT_EQ(share, 0.25);
  EXPECT_EQ(texts["who"], "me");
  EXPECT_EQ(texts["late"], "text");
  EXPECT_EQ(texts["cut"], long_text.substr(0, 256));
  EXPECT_TRUE(arguments["cut"].is_cut);
  EXPECT_FALSE(arguments["late"].is_cut);
}

TEST_F(RecordingTest, AFloatIsTheShortestDecimalThatStandsForIt) {
  const std::vector<std::pair<float, double>> cases{{0.1F, 0.1},
                                                    {-0.3F, -0.3},
                                                    {16777216.0F, 16777216.0},
                                                    {3.14159274F, 3.1415927},
                                                    {0.0F, 0.0},
                                                    {1.0e-5F, 1.0e-5},
                                                    {123.456F, 123.456},
                                                    {99999.9F, 99999.9},
                                                    {1.0F / 3.0F, 0.33333334},
                                                    {5.0F, 5.0},
                                                    {1.0e20F, static_cast<double>(1.0e20F)}};
  for (const auto& [value, expected] : cases) {
    EXPECT_EQ(kymo_shortest_double_v1(value), expected) << value;
    EXPECT_EQ(static_cast<float>(kymo_shortest_double_v1(value)), value);
  }
  { KYMO_SCOPE("work", {"f", 0.1F}); }
  double seen = 0;
  for (const EventBatch& batch : recorded()) {
    for (const ScopeRun& run : batch.runs) {
      for (const ScopeArgument& argument : run.arguments) {
        std::memcpy(&seen, &argument.value.bits, sizeof seen);
      }
    }
  }
  EXPECT_EQ(seen, 0.1);
}

// A header's inline function is compiled in many files: its scope is one site.
TEST_F(RecordingTest, SitesAreNamedAfterTheirLine) {
  const auto two_blocks = [] {
    { KYMO_SCOPE("one"); }
    { KYMO_SCOPE("another"); }
  };
  two_blocks();
  EXPECT_EQ(test::closed_scopes(recorded()).size(), 2U);
}

TEST_F(RecordingTest, AScopeInAHeaderIsOneSiteInAllFilesThatIncludeIt) {
  test::record_in_header();
  test::record_in_header_elsewhere();
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::closed_scopes(batches).size(), 2U);
  std::size_t sites = 0;
  for (const EventBatch& batch : batches) {
    sites +=
        static_cast<std::size_t>(std::count_if(batch.declarations.sites.begin(), batch.declarations.sites.end(),
                                               [](const SiteDeclaration& site) { return site.name == "in a header"; }));
  }
  EXPECT_EQ(sites, 1U);
}

TEST_F(RecordingTest, ArgumentsAreNotEvaluatedWhileOff) {
  Recorder::instance().switch_scopes_off(ScopesOff::never_wanted);
  int evaluations = 0;
  {
    KYMO_SCOPE("off", {"n", ++evaluations});
    KYMO_ARG("late", ++evaluations);
    KYMO_SCOPE_DYNAMIC(std::to_string(++evaluations));
  }
  Recorder::instance().switch_scopes_on(ScopesOff::never_wanted);
  EXPECT_EQ(evaluations, 0);
  EXPECT_TRUE(test::closed_scopes(recorded()).empty());
}

TEST_F(RecordingTest, ANameThatWasMetInAModuleThatIsGoneIsDeclaredFromWhereItIsMetAgain) {
  // Nobody can read a text there.
  const auto* const gone = reinterpret_cast<const char*>(1);
  kymo_site unloaded{0, 0, "", gone, gone, 1, KYMO_SITE_DYNAMIC};
  kymo_site loaded{0, 0, "", "function", "file.cpp", 2, KYMO_SITE_DYNAMIC};
  const std::string_view name = "of two modules";
  kymo_site* const first = kymo_dynamic_site_v1(&unloaded, name.data(), name.size());
  ASSERT_EQ(kymo_dynamic_site_v1(&loaded, name.data(), name.size()), first);
  kymo_scope_end(kymo_scope_begin(first));
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(scopes[0].name, name);
}

TEST_F(RecordingTest, DynamicNamesAreInternedByContent) {
  for (const char* name : {"alpha", "beta", "alpha"}) {
    KYMO_SCOPE_DYNAMIC(std::string(name));
  }
  const std::vector<SeenScope> scopes = test::closed_scopes(recorded());
  ASSERT_EQ(scopes.size(), 3U);
  EXPECT_EQ(scopes[0].name, "alpha");
  EXPECT_EQ(scopes[1].name, "beta");
  EXPECT_EQ(scopes[2].name, "alpha");
}

TEST_F(RecordingTest, FramesMetricsMessagesAndSyncPointsCarryTheirValues) {
  record_metric_unit("loss", 0.5, "1");
  record_io(2'000'000, 3'000'000);
  frame_mark();
  record_metric("loss", 0.25);
  frame_mark();
  message("half \"way\"");
  const std::uint64_t first = sync();
  EXPECT_EQ(sync(), first + 1);
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::values_of(batches, "loss"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(test::values_of(batches, "io_ms").front(), 2.0);
  EXPECT_EQ(test::values_of(batches, "io_MB").front(), 3.0);
  ASSERT_EQ(test::values_of(batches, "frame_ms").size(), 1U);
  EXPECT_GT(test::values_of(batches, "memory_mb").front(), 1.0);
  std::vector<std::string> messages;
  std::vector<std::int64_t> marks;
  std::size_t sync_points = 0;
  for (const EventBatch& batch : batches) {
    for (const Message& text : batch.messages) {
      messages.push_back(text.text);
    }
    for (const FrameMark& mark : batch.frame_marks) {
      marks.push_back(mark.time_ns);
    }
    sync_points += batch.sync_points.size();
  }
  EXPECT_EQ(messages, std::vector<std::string>{"half \"way\""});
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_NEAR(test::values_of(batches, "frame_ms").front(), static_cast<double>(marks[1] - marks[0]) / 1e6, 1e-9);
  EXPECT_EQ(sync_points, 2U);
}

TEST_F(RecordingTest, DescribedMetricsKeepWhatTheirNumbersAreWorth) {
  const std::array<MetricLabel, 2> labels{{{"gpu", "0"}, {"uuid", "GPU-1"}}};
  MetricDescription description{"gpu_power", "W", MetricKind::gauge, "nvml", labels.data(), labels.size()};
  description.step = 0.001;
  description.window_ns = 1'000'000'000;
  const MetricId power = declare_metric(description);
  const MetricId other = declare_metric({"gpu_power", "W"});
  EXPECT_NE(power, MetricId{});
  EXPECT_NE(other, power);
  const std::array<MetricSample, 3> samples{{{power, 0, 70.5}, {MetricId{}, 0, 1}, {other, SampleRun::stale, 71.5}}};
  record_samples(samples.data(), samples.size());
  description.renewal_ns = 100'000'000;
  description.traits = MetricDeclaration::renewal_measured;
  EXPECT_EQ(declare_metric(description), power);
  const std::vector<EventBatch> batches = recorded();
  MetricDeclaration last;
  std::vector<std::int64_t> times;
  for (const EventBatch& batch : batches) {
    for (const MetricDeclaration& metric : batch.declarations.metrics) {
      last = metric.id == power ? metric : last;
    }
    for (const SampleRun& run : batch.samples) {
      EXPECT_EQ(run.values, std::vector<double>{run.metric == power ? 70.5 : 71.5});
      EXPECT_EQ(run.flags.empty(), run.metric == power);
      times.push_back(run.times_ns.front());
    }
  }
  EXPECT_EQ(last.name, "gpu_power");
  EXPECT_EQ(last.source, "nvml");
  EXPECT_EQ(last.step, 0.001);
  EXPECT_EQ(last.renewal_ns, 100'000'000);
  EXPECT_EQ(last.window_ns, 1'000'000'000);
  EXPECT_EQ(last.traits, MetricDeclaration::renewal_measured);
  EXPECT_EQ(last.labels.size(), 2U);
  EXPECT_EQ(last.labels.back(), (std::pair<std::string, std::string>("uuid", "GPU-1")));
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0], times[1]);
}

TEST_F(RecordingTest, ASiteCanBeDeclaredAheadOfItsFirstScope) {
  kymo_site site{0, 0, "declared", "", "", 1, KYMO_SITE_SCOPE};
  EXPECT_EQ(kymo_declare_site_v1(&site), 1);
  const std::uint32_t id = site.id;
  EXPECT_NE(id, 0U);
  EXPECT_EQ(kymo_declare_site_v1(&site), 1);
  kymo_scope_end(kymo_scope_begin(&site));
  EXPECT_EQ(site.id, id);
  std::size_t found = 0;
  for (const EventBatch& batch : recorded()) {
    for (const ScopeRun& run : batch.runs) {
      found += static_cast<std::size_t>(std::count_if(
          run.events.begin(), run.events.end(), [id](const ScopeEvent& event) { return event.site == SiteId{id}; }));
    }
  }
  EXPECT_EQ(found, 1U);
}

std::atomic<std::uint64_t> handler_runs{0};

void record_in_handler(int /*signal*/) {
  KYMO_SCOPE("handler");
  handler_runs.fetch_add(1, std::memory_order_relaxed);
}

/// Handles SIGUSR1 by a scope while it lives.
class RecordingHandler {
 public:
  RecordingHandler() {
    handler_runs = 0;
    struct sigaction action {};
    action.sa_handler = record_in_handler;
    ::sigaction(SIGUSR1, &action, &previous_);
  }
  ~RecordingHandler() { ::sigaction(SIGUSR1, &previous_, nullptr); }
  RecordingHandler(const RecordingHandler&) = delete;
  RecordingHandler& operator=(const RecordingHandler&) = delete;

 private:
  struct sigaction previous_ {};
};

TEST_F(RecordingTest, AScopeInASignalHandlerIsRecordedWithinTheScopeItInterrupts) {
  const RecordingHandler handler;
  {
    KYMO_SCOPE("main");
    ASSERT_EQ(::raise(SIGUSR1), 0);
  }
  const std::vector<EventBatch> batches = recorded();
  std::vector<std::string> names;
  for (const SeenScope& scope : test::closed_scopes(batches)) {
    EXPECT_FALSE(scope.is_forced);
    names.push_back(scope.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"handler", "main"}));
  EXPECT_EQ(dropped_scopes(batches), 0U);
}

TEST_F(RecordingTest, ScopesInSignalHandlersAreRecordedOrCounted) {
  constexpr auto signals = test::rounds<std::uint64_t>(200);
  const RecordingHandler handler;
  const pthread_t self = ::pthread_self();
  std::atomic<bool> is_done{false};
  std::uint64_t scopes = 0;
  prepare_thread();
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < signals; ++i) {
      ::pthread_kill(self, SIGUSR1);
      std::this_thread::yield();
    }
    is_done = true;
  });
  std::mutex mutex;
  while (!is_done) {
    KYMO_SCOPE("main");
    ++scopes;
    // ThreadSanitizer holds signals back until the thread calls something that it intercepts.
    const std::lock_guard lock(mutex);
  }
  sender.join();
  const std::vector<EventBatch> batches = recorded();
  std::uint64_t recorded_scopes = 0;
  for (const SeenScope& scope : test::closed_scopes(batches)) {
    EXPECT_FALSE(scope.is_forced);
    ++recorded_scopes;
  }
  // Signals of one kind that come while one is pending merge: fewer may be handled than were sent.
  EXPECT_LE(handler_runs, signals);
  EXPECT_EQ(recorded_scopes + dropped_scopes(batches), scopes + handler_runs);
}

}  // namespace
}  // namespace kymo::record
