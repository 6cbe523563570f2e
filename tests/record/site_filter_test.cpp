// What KYMO_SITES leaves out leaves no trace, and costs what passes nothing.
#include "record/names/site_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <kymo/kymo.hpp>

#include "base/text/pattern_list.hpp"
#include "record/hot/track_writer.hpp"
#include "record/names/intern_table.hpp"
#include "record/recorder/recorder.hpp"
#include "support/memory_sink.hpp"

// As the compiler calls them.
extern "C" void __cyg_profile_func_enter(void* function, void* call_site);
extern "C" void __cyg_profile_func_exit(void* function, void* call_site);

namespace kymo::record {

// Named by the symbols of this program.
int work_of_a_hooked_function(int value);
int secret_of_a_hooked_function(int value);

int work_of_a_hooked_function(int value) {
  return value + 1;
}
int secret_of_a_hooked_function(int value) {
  return value + 2;
}

namespace {

using test::SeenScope;
using Lines = std::vector<std::string>;

bool takes(const char* patterns, std::string_view name, std::string_view signature = {}) {
  SiteFilter filter;
  filter.use(patterns);
  return filter.takes(name, signature);
}

TEST(SiteFilterTest, WithoutPatternsAllPass) {
  EXPECT_TRUE(takes(nullptr, "anything"));
  EXPECT_TRUE(takes(nullptr, ""));
}

TEST(SiteFilterTest, WithOnlyExcludesTheRestPasses) {
  EXPECT_FALSE(takes("-log*", "log"));
  EXPECT_FALSE(takes("-log*", "log line"));
  EXPECT_TRUE(takes("-log*", "blog"));
  EXPECT_FALSE(takes("-log*,-blog", "blog"));
}

TEST(SiteFilterTest, WithIncludesOnlyTheyPass) {
  EXPECT_TRUE(takes("render*,load", "render"));
  EXPECT_TRUE(takes("render*,load", "load"));
  EXPECT_FALSE(takes("render*,load", "loader"));
  EXPECT_FALSE(takes("render*,load", ""));
}

TEST(SiteFilterTest, AnExcludeWinsWhereverItStands) {
  EXPECT_FALSE(takes("render*,-*shadow", "render shadow"));
  EXPECT_FALSE(takes("-*shadow,render*", "render shadow"));
  EXPECT_TRUE(takes("-*shadow,render*", "render light"));
  EXPECT_FALSE(takes("-*shadow,render*", "light"));
}

TEST(SiteFilterTest, SpacesAroundPatternsAreNotPartsOfThem) {
  EXPECT_TRUE(takes(" render pass , load", "render pass"));
  EXPECT_TRUE(takes(" render pass , load", "load"));
  EXPECT_FALSE(takes(" render pass , -load", "load"));
}

TEST(SiteFilterTest, AParenthesisAsksForTheSignatureOfWhatHasOne) {
  EXPECT_TRUE(takes("*::draw(int?*)", "Renderer::draw", "void Renderer::draw(int, int)"));
  EXPECT_FALSE(takes("*::draw(int?*)", "Renderer::draw", "void Renderer::draw(int)"));
  EXPECT_TRUE(takes("load (cold)", "load (cold)"));
}

TEST(SiteFilterTest, EmptyPatternsAreNotUnderstood) {
  for (const char* sound : {"a", "-a", "a,-b", " a , b ", "*", "?", "--a"}) {
    EXPECT_TRUE(base::is_sound_list(sound)) << sound;
  }
  for (const char* unsound : {"", " ", ",", "a,", ",a", "a,,b", "-", "a,-", "a, ,b", "- "}) {
    EXPECT_FALSE(base::is_sound_list(unsound)) << unsound;
  }
}

class LeftOutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RecorderOptions options;
    options.pool.bytes = smallest_pool_bytes;
    options.sites = "work*,*work_of*,-*loud*,-*secret*";
    ASSERT_TRUE(Recorder::instance().start(options));
    handle_ = Recorder::instance().add_sink(sink_);
    ASSERT_NE(handle_, 0U);
  }
  void TearDown() override { Recorder::instance().remove_sink(handle_); }

  std::vector<EventBatch> recorded() {
    EXPECT_TRUE(Recorder::instance().flush(std::chrono::seconds(30)));
    return sink_->batches();
  }

  /// Names in the order they closed, each after its depth.
  Lines outline() {
    Lines lines;
    for (const SeenScope& scope : test::closed_scopes(recorded())) {
      lines.push_back(std::to_string(scope.depth) + " " + scope.name);
    }
    return lines;
  }

  /// Each argument as "name@number of events before it".
  Lines arguments() {
    Lines lines;
    const std::vector<EventBatch> batches = recorded();
    std::size_t before = 0;  // in earlier runs: the collector may drain at any moment
    for (const EventBatch& batch : batches) {
      for (const ScopeRun& run : batch.runs) {
        for (const ScopeArgument& argument : run.arguments) {
          lines.push_back(test::text_name(batches, argument.value.name) + "@" +
                          std::to_string(before + argument.position));
        }
        before += run.events.size();
      }
    }
    return lines;
  }

  std::shared_ptr<test::MemorySink> sink_ = std::make_shared<test::MemorySink>();
  std::uint64_t handle_ = 0;
};

/// Deletes the spool when the program ends.
class Farewell : public ::testing::Environment {
 public:
  void TearDown() override { Recorder::instance().shut_down(); }
};

const auto* const farewell = ::testing::AddGlobalTestEnvironment(new Farewell);

TEST_F(LeftOutTest, ChildrenOfALeftOutScopeAreThoseOfTheNearestRecordedOne) {
  for (int round = 0; round < 2; ++round) {
    KYMO_SCOPE("work");
    KYMO_SCOPE("other");
    KYMO_SCOPE("work, loud");
    KYMO_SCOPE("work inside");
  }
  EXPECT_EQ(outline(), (Lines{"1 work inside", "0 work", "1 work inside", "0 work"}));
}

TEST_F(LeftOutTest, ArgumentsInsideALeftOutScopeGoNowhereAndAreNotEvaluated) {
  int evaluated = 0;
  {
    KYMO_SCOPE("work");
    KYMO_ARG("before", ++evaluated);
    {
      KYMO_SCOPE("other", {"own", ++evaluated});
      KYMO_ARG("lost", ++evaluated);
      {
        KYMO_SCOPE("another");
        KYMO_ARG("lost deeper", ++evaluated);
        kymo_argument_int64("lost in C", 1);
      }
      KYMO_ARG("still lost", ++evaluated);
      {
        KYMO_SCOPE("work inside");
        KYMO_ARG("inside", ++evaluated);
        {
          KYMO_SCOPE("other inside");
          KYMO_ARG("lost inside", ++evaluated);
        }
        KYMO_ARG("inside again", ++evaluated);
      }
      KYMO_ARG("lost again", ++evaluated);
    }
    KYMO_ARG("after", ++evaluated);
  }
  {
    KYMO_SCOPE("other");
    KYMO_ARG("lost on the outside", ++evaluated);
  }
  EXPECT_EQ(arguments(), (Lines{"before@1", "inside@2", "inside again@2", "after@3"}));
  EXPECT_EQ(evaluated, 4);
}

TEST_F(LeftOutTest, WhereTheCloseOfAnInnerOneIsSkippedTheOuterOneStillTakesNoArguments) {
  static kymo_site other{0, 0, "other inside", "f", "file.c", 1, KYMO_SITE_SCOPE};
  KYMO_SCOPE("work");
  {
    KYMO_SCOPE("other");
    {
      KYMO_SCOPE("work inside");
      static_cast<void>(kymo_scope_begin(&other));  // left by longjmp
    }
    KYMO_ARG("lost", 1);
    {
      KYMO_SCOPE("work inside");
      KYMO_ARG("inside", 1);
    }
    KYMO_ARG("lost again", 1);
  }
  KYMO_ARG("after", 1);
  EXPECT_EQ(arguments(), (Lines{"inside@4", "after@5"}));
}

TEST_F(LeftOutTest, ClosedOnAnotherThreadItChangesNothingThere) {
  static kymo_site work{0, 0, "work elsewhere", "f", "file.c", 1, KYMO_SITE_SCOPE};
  static kymo_site other{0, 0, "other elsewhere", "f", "file.c", 2, KYMO_SITE_SCOPE};
  std::vector<kymo_scope> open;
  std::thread([&] {
    for (kymo_site* const site : {&work, &work, &other, &work, &other}) {
      open.push_back(kymo_scope_begin(site));
    }
  }).join();
  KYMO_SCOPE("work");
  KYMO_SCOPE("other");
  kymo_scope_end(open.back());
  EXPECT_FALSE(detail::accepts_argument());
  EXPECT_EQ(current_slot()->own().muted_depth, 1U);
  std::thread([&] {
    kymo_scope_end(open.back());
    EXPECT_EQ(kymo_thread_v3->muted_depth, 0U) << "of all threads that have recorded nothing";
  }).join();
}

TEST_F(LeftOutTest, InAHandlerThatInterruptsAWriteArgumentsGoNowhereAndAfterItToTheirScope) {
  KYMO_SCOPE("work");
  detail::ThreadState& own = current_slot()->own();
  const std::uint64_t key = own.key;
  detail::make_busy(own);
  {
    KYMO_SCOPE("other");
    EXPECT_FALSE(detail::accepts_argument());
    {
      KYMO_SCOPE("another");
      EXPECT_FALSE(detail::accepts_argument());
    }
    EXPECT_FALSE(detail::accepts_argument());
  }
  EXPECT_EQ(own.key, key | detail::busy_bit);
  own.key = key;
  KYMO_ARG("after", 1);
  EXPECT_EQ(arguments(), (Lines{"after@1"}));
}

TEST_F(LeftOutTest, LeavingByAnExceptionGivesTheParentItsArgumentsBack) {
  KYMO_SCOPE("work");
  try {
    KYMO_SCOPE("other");
    throw 1;
  } catch (int) {
    KYMO_ARG("after", 1);
  }
  EXPECT_EQ(arguments(), (Lines{"after@1"}));
}

void work_of_a_function() {
  KYMO_FUNCTION();
}
void secret_of_a_function() {
  KYMO_FUNCTION();
}

TEST_F(LeftOutTest, FunctionsAndNamesMadeAtRunTimeAreMatchedByWhatTheyAreCalled) {
  for (int round = 0; round < 2; ++round) {
    work_of_a_function();
    secret_of_a_function();
    for (const char* name : {"work 1", "other 1", "work loud"}) {
      KYMO_SCOPE_DYNAMIC(name);
    }
  }
  const Lines lines = outline();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_NE(lines[0].find("work_of_a_function"), std::string::npos);
  EXPECT_EQ(lines[1], "0 work 1");
  EXPECT_EQ(lines[2], lines[0]);
}

TEST_F(LeftOutTest, ASiteThatStandsForAnotherIsMatchedByThatOnesName) {
  static kymo_site work{0, 0, "work", "f", "file.c", 1, KYMO_SITE_SCOPE};
  static kymo_site other{0, 0, "other", "f", "file.c", 2, KYMO_SITE_SCOPE};
  static kymo_site for_work{0, 0, "secret", "f", "file.c", 3, KYMO_SITE_SCOPE};
  static kymo_site for_other{0, 0, "work too", "f", "file.c", 4, KYMO_SITE_SCOPE};
  EXPECT_EQ(kymo_declare_site_as_v1(&for_work, &work), 1);
  EXPECT_EQ(kymo_declare_site_as_v1(&for_other, &other), 0);
  kymo_scope_end(kymo_scope_begin(&for_work));
  EXPECT_EQ(outline(), (Lines{"0 secret"}));
}

TEST_F(LeftOutTest, TheCInterfaceIsFilteredTheSameWay) {
  static kymo_site work{0, 0, "work in C", "f", "file.c", 1, KYMO_SITE_SCOPE};
  static kymo_site other{0, 0, "other in C", "f", "file.c", 2, KYMO_SITE_SCOPE};
  const kymo_scope outer = kymo_scope_begin(&work);
  const kymo_scope left_out = kymo_scope_begin(&other);
  kymo_argument_int64("lost", 1);
  kymo_scope_end(left_out);
  kymo_argument_int64("kept", 1);
  kymo_scope_end(outer);
  EXPECT_EQ(outline(), (Lines{"0 work in C"}));
  EXPECT_EQ(arguments(), (Lines{"kept@1"}));
}

template <typename Function>
void call_hooked(Function* function, const char* argument) {
  void* const address = reinterpret_cast<void*>(function);
  __cyg_profile_func_enter(address, nullptr);
  kymo_argument_int64(argument, function(1));
  __cyg_profile_func_exit(address, nullptr);
}

TEST_F(LeftOutTest, HookedFunctionsAreMatchedByTheirNames) {
  {
    KYMO_SCOPE("work");
    for (int round = 0; round < 2; ++round) {
      call_hooked(work_of_a_hooked_function, "kept");
      call_hooked(secret_of_a_hooked_function, "lost");
    }
    KYMO_ARG("after", 1);
  }
  EXPECT_EQ(outline().size(), 3U);
  EXPECT_EQ(arguments(), (Lines{"kept@2", "kept@4", "after@5"}));
}

TEST_F(LeftOutTest, OnlyScopesAreFiltered) {
  AsyncSpan("lane", "secret").end();
  frame_mark("secret frames");
  record_metric("secret metric", 1);
  emit_span(track("secret queue"), "secret span", "", std::chrono::nanoseconds(1), std::chrono::nanoseconds(1));
  std::size_t spans = 0;
  std::size_t marks = 0;
  const std::vector<EventBatch> batches = recorded();
  for (const EventBatch& batch : batches) {
    spans += batch.spans.size();
    marks += batch.frame_marks.size();
  }
  EXPECT_EQ(spans, 2U);
  EXPECT_EQ(marks, 1U);
  EXPECT_EQ(test::values_of(batches, "secret metric").size(), 1U);
}

// The hot path asks a site for its id and nothing else; what passed has one, and the filter never sees it again.
TEST_F(LeftOutTest, ASiteIsLookedAtOnce) {
  static char passing_name[] = "work";
  static char left_out_name[] = "other";
  static kymo_site passing{0, 0, passing_name, "f", "file.c", 1, KYMO_SITE_SCOPE};
  static kymo_site left_out{0, 0, left_out_name, "f", "file.c", 2, KYMO_SITE_SCOPE};
  kymo_scope_end(kymo_scope_begin(&passing));
  kymo_scope_end(kymo_scope_begin(&left_out));
  const std::uint32_t id = passing.id;
  EXPECT_NE(id, 0U);
  EXPECT_FALSE(detail::is_left_out(passing));
  EXPECT_TRUE(detail::is_left_out(left_out));
  // Nobody can read a name there.
  passing.name = reinterpret_cast<const char*>(1);
  left_out.name = reinterpret_cast<const char*>(1);
  kymo_scope_end(kymo_scope_begin(&passing));
  kymo_scope_end(kymo_scope_begin(&left_out));
  EXPECT_EQ(passing.id, id);
  EXPECT_EQ(outline(), (Lines{"0 work", "0 work"}));
}

TEST_F(LeftOutTest, AThreadOfLeftOutScopesAloneTakesNoMemory) {
  std::thread([] {
    KYMO_SCOPE("other");
    KYMO_ARG("lost", 1);
    EXPECT_EQ(current_slot(), nullptr);
    { KYMO_SCOPE("work"); }
    EXPECT_NE(current_slot(), nullptr);
  }).join();
}

TEST_F(LeftOutTest, WhatIsLeftOutIsNeitherRecordedNorDropped) {
  constexpr int rounds = 300'000;
  std::thread([] {
    for (int i = 0; i < rounds; ++i) {
      KYMO_SCOPE("work");
      KYMO_SCOPE("other");
    }
  }).join();
  std::uint64_t dropped = 0;
  const std::vector<EventBatch> batches = recorded();
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      dropped = std::max(dropped, run.dropped_scopes);
    }
  }
  const std::vector<SeenScope> scopes = test::closed_scopes(batches);
  EXPECT_EQ(scopes.size() + dropped, static_cast<std::size_t>(rounds));
}

kymo_site* site_of_name(const std::string& name) {
  kymo_site place{0, 0, "", "f", "file.c", 1, KYMO_SITE_DYNAMIC};
  return kymo_dynamic_site_v1(&place, name.data(), name.size());
}

TEST_F(LeftOutTest, NamesThatAreLeftOutTakeNoRoomFromOthers) {
  for (std::size_t i = 0; i <= InternTable::largest_count; ++i) {
    kymo_site* const site = site_of_name("secret " + std::to_string(i));
    ASSERT_NE(site, nullptr);
    ASSERT_TRUE(detail::is_left_out(*site));
  }
  KYMO_SCOPE_DYNAMIC("work afterwards");
  EXPECT_TRUE(detail::takes_arguments(*kymo_thread_v3));
}

TEST_F(LeftOutTest, WhereNoMoreNamesFitThoseThatAreLeftOutAreNoLoss) {
  for (std::size_t i = 0; i <= InternTable::largest_count; ++i) {
    site_of_name("work " + std::to_string(i));
  }
  EXPECT_EQ(site_of_name("work of one name too many"), nullptr);
  kymo_site* const left_out = site_of_name("secret");
  ASSERT_NE(left_out, nullptr);
  EXPECT_TRUE(detail::is_left_out(*left_out));
}

}  // namespace
}  // namespace kymo::record
