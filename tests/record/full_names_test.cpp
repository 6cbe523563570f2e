// Past the last name that can be told apart, scopes are dropped, and counted.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <kymo/kymo.hpp>
#include <kymo/lockable.hpp>

#include "record/recording_fixture.hpp"

namespace kymo::record {
namespace {

/// Deletes the spool when the program ends.
class Farewell : public ::testing::Environment {
 public:
  void TearDown() override { Recorder::instance().shut_down(); }
};

const auto* const farewell = ::testing::AddGlobalTestEnvironment(new Farewell);

class FullNamesTest : public RecordingTest {
 protected:
  static void fill_names() {
    InternTable& names = Recorder::instance().names();
    for (std::size_t i = 0; names.find_or_insert(NameSpace::text, std::to_string(i)) != nullptr; ++i) {
    }
  }
};

TEST_F(FullNamesTest, ScopesWithNamesTooManyAreCountedAndTheirArgumentsAreNotTheirParents) {
  fill_names();
  {
    KYMO_SCOPE("parent");
    {
      KYMO_SCOPE_DYNAMIC("one too many");
      KYMO_ARG("lost", 1);
      { KYMO_SCOPE("child", {"kept", 1}); }
      KYMO_ARG("lost too", 1);
    }
    const kymo_scope in_c = kymo_scope_begin(kymo_dynamic_site_v1(nullptr, "in C", 4));
    KYMO_ARG("lost in C", 1);
    kymo_scope_end(in_c);
    KYMO_ARG("parent's", 1);
  }
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(test::closed_scopes(batches).size(), 2U);
  EXPECT_EQ(dropped_scopes(batches), 2U);
  std::size_t arguments = 0;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      arguments += run.arguments.size();
    }
  }
  EXPECT_EQ(arguments, 2U);
}

TEST_F(FullNamesTest, ArgumentsSpansAndCategoriesWithoutANameAreCounted) {
  const TrackId known = track("known");
  AsyncSpan span("known", "known");
  emit_span(known, "known", "known", std::chrono::nanoseconds(1), std::chrono::nanoseconds(1));
  fill_names();
  {
    KYMO_SCOPE("parent");
    kymo_argument_int64("one too many", 1);
  }
  span.argument({"one too many", 1});
  span.end();
  emit_span(track("one too many"), "known", {}, std::chrono::nanoseconds(1), std::chrono::nanoseconds(1));
  emit_span(known, "known", "one too many", std::chrono::nanoseconds(1), std::chrono::nanoseconds(1));
  kymo_flow_at(track("one too many").value(), 1, 1, KYMO_FLOW_BEGIN);
  const std::vector<EventBatch> batches = recorded();
  EXPECT_EQ(dropped(batches).others, 5U);
  std::size_t spans = 0;
  for (const EventBatch& batch : batches) {
    spans += batch.spans.size();
  }
  EXPECT_EQ(spans, 3U);
}

TEST_F(FullNamesTest, AWaitForALockWithoutANameIsCounted) {
  fill_names();
  Lockable<std::timed_mutex> mutex("nameless");
  mutex.lock();
  std::thread([&mutex] { EXPECT_FALSE(mutex.try_lock_for(std::chrono::milliseconds(1))); }).join();
  mutex.unlock();
  EXPECT_EQ(dropped_scopes(recorded()), 1U);
}

}  // namespace
}  // namespace kymo::record
