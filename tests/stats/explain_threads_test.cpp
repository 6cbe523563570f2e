// What explanations say of threads: that they moved between CPUs more often, and that they had page faults.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include <kymo/explain.hpp>

#include "stats/common/random_source.hpp"
#include "stats/made_up_program.hpp"
#include "support/nanoseconds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

using FrameBody = std::function<void(MadeUpProgram&, TrackId main, bool is_slow, int frame)>;

/// 100 frames of 2 ms "update" and what `body` does; each tenth is slow. Calls use(timeline, explanation).
template <typename Use>
void explain_frames(const FrameBody& body, Use&& use) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  MadeUpProgram program(path, true);
  const TrackId main = program.thread("main");
  stats::RandomSource random(7);
  program.frame(main);
  for (int frame = 1; frame <= 100; ++frame) {
    program.scope(main, "update", 2 * ms + static_cast<std::int64_t>(random.normal() * 20e3));
    body(program, main, frame % 10 == 0, frame);
    program.frame(main);
  }
  program.finish();
  const Timeline timeline(path);
  use(timeline, explain(timeline).front());
}

/// The first finding; empty: there is none.
std::string explain_moves(const FrameBody& body) {
  std::string text;
  explain_frames(body, [&text](const Timeline&, const Explanation& why) {
    text = why.findings.empty() ? std::string() : why.findings.front().text;
  });
  return text;
}

/// Goes to CPU 1 and back so many times, half a millisecond each.
void move_about(MadeUpProgram& program, TrackId main, int times) {
  for (int i = 0; i < 2 * times; ++i) {
    program.move(main, i % 2 == 0 ? 1 : 0);
    program.run(main, ms / 2);
  }
}

TEST(ExplainMigrations, LongerComputingSaysHowOftenItsThreadMovedMore) {
  const std::string text = explain_moves([](MadeUpProgram& program, TrackId main, bool is_slow, int /*frame*/) {
    program.open(main, "draw");
    program.run(main, ms / 2);
    move_about(program, main, is_slow ? 2 : 0);
    program.close(main);
  });
  EXPECT_EQ(text,
            "computing in \"draw\" (game.cpp:72): longer calls (2.5 ms against 500 us), moved to another CPU 4 times "
            "against 0");
}

TEST(ExplainMigrations, BeingPushedOffSaysSoToo) {
  const std::string text = explain_moves([](MadeUpProgram& program, TrackId main, bool is_slow, int /*frame*/) {
    program.open(main, "draw");
    program.push_off(main, is_slow ? 2 * ms : ms / 100);
    program.move(main, is_slow ? 1 : 0);
    program.run(main, ms / 2);
    program.close(main);
  });
  EXPECT_NE(text.find("pushed off the CPU"), std::string::npos) << text;
  EXPECT_NE(text.find(", moved to another CPU 1 times against 0.1"), std::string::npos) << text;
}

TEST(ExplainMigrations, MovesThatComeInUsualFramesAsOftenAreNotNamed) {
  const std::string text = explain_moves([](MadeUpProgram& program, TrackId main, bool is_slow, int frame) {
    program.open(main, "draw");
    move_about(program, main, frame % 2);
    program.run(main, (frame % 2 == 0 ? ms : 0) + (is_slow ? 3 * ms : 0));
    program.close(main);
  });
  EXPECT_NE(text.find("computing in \"draw\""), std::string::npos) << text;
  EXPECT_EQ(text.find("moved"), std::string::npos) << text;
}

TEST(ExplainMigrations, MoreCallsNeedNoOtherReason) {
  const std::string text = explain_moves([](MadeUpProgram& program, TrackId main, bool is_slow, int /*frame*/) {
    for (int call = 0; call < (is_slow ? 8 : 1); ++call) {
      program.move(main, static_cast<std::uint32_t>(call % 2));
      program.scope(main, "draw", ms / 2);
    }
    program.move(main, 0);
  });
  EXPECT_NE(text.find("more calls"), std::string::npos) << text;
  EXPECT_EQ(text.find("moved"), std::string::npos) << text;
}

TEST(ExplainThreadNames, AThreadIsCalledWhatItsProgramCallsIt) {
  TrackId streamer{};
  const std::string text = explain_moves([&](MadeUpProgram& program, TrackId main, bool is_slow, int frame) {
    if (frame == 1) {
      streamer = program.thread("streamer");
      program.name_for_kernel(streamer, "game");
    }
    if (is_slow) {
      program.idle_until(streamer, program.now(main));
      program.run(streamer, 2 * ms);
      program.open(main, "draw");
      program.block(main, 2 * ms);
      program.close(main);
    }
  });
  EXPECT_EQ(text, "blocked in \"draw\" (game.cpp:72) while thread streamer ran 100 % of the time");
}

TEST(ExplainFaults, ThoseOfTheThreadThatHasThemGoAlong) {
  const auto faults_of = [](const char* name, const char* thread) {
    MetricDeclaration metric;
    metric.kind = MetricKind::counter;
    metric.name = "thread_minor_faults";
    metric.source = "/proc/PID/task/TID/stat";
    metric.labels = {{"thread", thread}, {"pid", "1"}, {"name", name}};
    return metric;
  };
  double of_main = 0;
  double of_other = 0;
  const FrameBody body = [&](MadeUpProgram& program, TrackId main, bool is_slow, int frame) {
    program.scope(main, "load", ms / 2 + (is_slow ? 3 * ms : 0));
    of_main += is_slow ? 2'000 : 3 + frame % 5;
    of_other += 10 + frame % 7;
    program.sample(faults_of("main", "101"), program.now(main), of_main);
    program.sample(faults_of("other", "102"), program.now(main), of_other);
  };
  explain_frames(body, [](const Timeline& timeline, const Explanation& why) {
    ASSERT_FALSE(why.companions.empty());
    const MetricDeclaration& metric = timeline.metric(why.companions.front().metric);
    EXPECT_EQ(metric.labels[2].second, "main");
    EXPECT_GT(why.companions.front().slow, 100 * why.companions.front().usual);
  });
}

}  // namespace
}  // namespace kymo::test
