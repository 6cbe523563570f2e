// What explanations say beside the cause: how often it came, which arguments go with it, what kymo itself did.
#include <kymo/explain.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stats/explained_frames.hpp"

namespace kymo::test {
namespace {

class ExplainEvidence : public ExplainedFrames {
 protected:
  /// Some frames take so much longer.
  void write_slow(const std::vector<int>& slow, std::int64_t extra_ns) {
    write(100, [&](MadeUpProgram& program, TrackId main, int frame) {
      const bool is_slow = std::find(slow.begin(), slow.end(), frame) != slow.end();
      program.scope(main, "draw", 300 * microsecond + (is_slow ? extra_ns : 0));
    });
  }
};

TEST_F(ExplainEvidence, WhatCameOnFewerThanThreeOccasionsIsNoFinding) {
  for (const std::vector<int>& slow : {std::vector<int>{40}, {30, 70}, {30, 31, 32}, {30, 31, 70, 71}}) {
    write_slow(slow, 2 * ms);
    const Explanation why = explain_it();
    EXPECT_EQ(why.slow, slow.size());
    EXPECT_TRUE(why.findings.empty()) << why.findings.front().text;
    EXPECT_TRUE(has(why.notes, "fewer than 3 occasions")) << slow.size();
    EXPECT_TRUE(has(why.notes, "kymo explain --frame " + std::to_string(why.slowest.front().number)));
  }
  write_slow({30, 50, 70}, 2 * ms);
  ASSERT_EQ(explain_it().findings.size(), 1U);
  EXPECT_FALSE(has(explain_it().notes, "occasions"));
}

TEST_F(ExplainEvidence, AFifthOfTheFramesThatTakesTwiceAsLongMakesARecordingSlowerThanItsBase) {
  const auto record = [this](bool has_slow, std::int64_t start_ns) {
    write(
        300,
        [has_slow](MadeUpProgram& program, TrackId main, int frame) {
          // The others are quicker by a little, so that a typical frame is.
          const std::int64_t noise = frame * 7'919 % 1'000 * (has_slow ? 98 : 100);
          program.scope(main, "draw", (has_slow && frame % 5 == 2 ? 2 * ms : 1 * ms) + noise);
        },
        start_ns);
    return path();
  };
  const std::string base = record(false, 0);
  const std::string changed = record(true, 10'000 * ms);
  ExplainOptions options;
  options.base_captures = {0};
  const Explanation why = explain(Timeline({base, changed}), options).front();
  ASSERT_EQ(why.findings.size(), 1U);
  EXPECT_EQ(why.findings.front().text.find("computing in \"draw\""), 0U) << why.findings.front().text;
  EXPECT_TRUE(explain(Timeline({base, record(false, 20'000 * ms)}), options).front().findings.empty());
}

TEST_F(ExplainEvidence, WhatSlowFramesHaveLessOfIsSaidSo) {
  write(200, [](MadeUpProgram& program, TrackId main, int frame) {
    const bool is_slow = frame % 10 == 5;
    program.scope(main, "load", is_slow ? 9 * ms : 3 * ms);
    if (!is_slow || frame % 20 == 5) {
      program.scope(main, "tidy", 2 * ms);
    }
    program.scope(main, "spare", is_slow ? 1 * ms : 3 * ms);
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.shorter.size(), 2U);
  EXPECT_NE(why.shorter.front().text.find("shorter calls (1 ms against 3 ms)"), std::string::npos)
      << why.shorter.front().text;
  EXPECT_NE(why.shorter.back().text.find("fewer calls (0.5 against 1)"), std::string::npos) << why.shorter.back().text;
}

TEST_F(ExplainEvidence, OneFrameIsAFindingIfItIsAskedForOrTooLongForTheMachine) {
  write_slow({40}, 2 * ms);
  ExplainOptions options;
  options.slow.number = 40;
  ASSERT_EQ(explain_it(options).findings.size(), 1U);
  EXPECT_EQ(explain_it(options).findings.front().text.find("computing in \"draw\""), 0U);
  write_slow({40}, 20 * ms);
  EXPECT_EQ(explain_it().findings.size(), 1U);
}

TEST_F(ExplainEvidence, SmallOdditiesOfEachFrameDoNotHideWhatOneTookLong) {
  write(100, [](MadeUpProgram& program, TrackId main, int frame) {
    program.scope(main, "odd " + std::to_string(frame), 50 * microsecond);
    program.scope(main, "draw", 300 * microsecond + (frame == 40 ? 3 * ms : 0));
  });
  ExplainOptions options;
  options.slow.number = 40;
  const Explanation why = explain_it(options);
  ASSERT_EQ(why.findings.size(), 1U);
  EXPECT_EQ(why.findings.front().text.find("computing in \"draw\""), 0U) << why.findings.front().text;
  EXPECT_LE(why.findings.front().p_value, 0.03);
}

TEST_F(ExplainEvidence, TextsAndTruthValuesThatGoWithSlowCallsAreNamed) {
  write(200, [](MadeUpProgram& program, TrackId main, int frame) {
    const bool is_slow = frame % 10 == 5;
    program.open(main, "decode");
    program.argument(main, "format", std::string(is_slow ? "webp" : frame % 3 == 0 ? "webp lossy" : "png"));
    program.argument(main, "is_cold", is_slow);
    program.argument(main, "weekday", std::string(frame / 2 % 2 == 0 ? "Monday" : "Friday"));
    program.argument(main, "name", "asset " + std::to_string(frame));
    program.run(main, 300 * microsecond + (is_slow ? 2 * ms : 0));
    program.close(main);
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  const std::string& text = why.findings.front().text;
  EXPECT_NE(text.find("format = webp in 100 % of calls against 0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("is_cold = true in 100 % of calls against 0 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("name = "), std::string::npos) << text;
}

TEST_F(ExplainEvidence, ANumberThatIsTestedByItsMeanIsSaidByItsMean) {
  write(200, [](MadeUpProgram& program, TrackId main, int frame) {
    program.open(main, "decode");
    // Most slow calls have as many as the usual ones.
    const bool is_large = frame % 40 == 5;
    program.argument(main, "entities", std::int64_t{is_large ? 5'000 : 1'000});
    program.run(main, 300 * microsecond + (frame % 10 == 5 ? 2 * ms : 0));
    program.close(main);
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  EXPECT_NE(why.findings.front().text.find("entities = 2000 against 1000"), std::string::npos)
      << why.findings.front().text;
}

TEST_F(ExplainEvidence, AnArgumentOfTheScopeAroundTheCauseIsNamedWithItsScope) {
  write(200, [](MadeUpProgram& program, TrackId main, int frame) {
    const bool is_slow = frame % 10 == 5;
    program.open(main, "request");
    program.argument(main, "batch", std::int64_t{is_slow ? 32 : 4});
    program.argument(main, "model", std::string(is_slow ? "large" : "small"));
    program.open(main, "infer");
    program.scope(main, "multiply", 300 * microsecond + (is_slow ? 2 * ms : 0));
    program.close(main);
    program.close(main);
    program.open(main, "log");  // not around it
    program.argument(main, "lines", std::int64_t{is_slow ? 7 : 1});
    program.close(main);
  });
  ExplainOptions of_requests;
  of_requests.site = "request";
  for (const ExplainOptions& options : {ExplainOptions(), of_requests}) {
    const Explanation why = explain_it(options);
    ASSERT_EQ(why.findings.size(), 1U);
    const std::string& text = why.findings.front().text;
    EXPECT_EQ(text.find("computing in \"multiply\""), 0U) << text;
    EXPECT_NE(text.find("batch of \"request\" = 32 against 4"), std::string::npos) << text;
    EXPECT_NE(text.find("model of \"request\" = large in 100 % of calls against 0 %"), std::string::npos) << text;
    EXPECT_EQ(text.find("lines"), std::string::npos) << text;
  }
}

TEST_F(ExplainEvidence, AllWhoHeldALockAreNamedEachWithItsPart) {
  std::vector<TrackId> loaders;
  write(200, [&](MadeUpProgram& program, TrackId main, int frame) {
    if (frame == 1) {
      loaders = {program.thread("textures"), program.thread("sounds")};
    }
    if (frame % 10 == 5) {
      const bool is_first = frame % 20 == 5;
      const TrackId loader = loaders[is_first ? 0 : 1];
      program.idle_until(loader, program.now(main));
      program.scope(loader, "load", is_first ? 6 * ms : 4 * ms);
      program.hold("assets", is_first ? "textures" : "sounds", program.now(main), program.now(loader));
      program.open(main, "draw");
      program.wait_for_lock(main, "assets", "textures", program.now(loader));
      program.close(main);
    }
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  const Finding& finding = why.findings.front();
  EXPECT_NE(finding.text.find("held by textures and sounds in \"load\""), std::string::npos) << finding.text;
  ASSERT_EQ(finding.parts.size(), 2U);
  EXPECT_EQ(finding.parts[0].thread, "textures");
  EXPECT_NEAR(finding.parts[0].excess_ns, 3e6, 0.1e6);
  EXPECT_EQ(finding.parts[1].thread, "sounds");
  EXPECT_NEAR(finding.parts[1].excess_ns, 2e6, 0.1e6);
}

TEST_F(ExplainEvidence, FramesWhoseScopesWereNotRecordedAreNotExplained) {
  const auto write_every = [this](int every, int most) {
    write(300, [&](MadeUpProgram& program, TrackId main, int frame) {
      if (frame == 1) {
        program.fact("scope_every", std::to_string(every));
        program.fact("scope_max_frames", std::to_string(most));
      }
      const std::int64_t slow_ns = frame % 30 == 0 ? 2 * ms : 0;
      if (frame % every == 0 && frame < most) {
        program.scope(main, "draw", 300 * microsecond + slow_ns);
      } else {
        program.skip(main, 300 * microsecond + slow_ns);
      }
    });
  };
  write_every(5, 1'000);
  const Explanation of_each_fifth = explain_it();
  EXPECT_EQ(of_each_fifth.instances, 60U);
  ASSERT_EQ(of_each_fifth.findings.size(), 1U);
  EXPECT_EQ(of_each_fifth.findings.front().text.find("computing in \"draw\""), 0U);
  write_every(1, 101);
  const Explanation of_the_first = explain_it();
  EXPECT_EQ(of_the_first.instances, 100U);
  ASSERT_EQ(of_the_first.findings.size(), 1U);
  EXPECT_EQ(of_the_first.findings.front().text.find("computing in \"draw\""), 0U);
}

TEST_F(ExplainEvidence, ATargetThatAllMissLeavesNothingToCompareWith) {
  write_slow({10, 30, 50, 70}, 3 * ms);
  ExplainOptions options;
  options.slow.over_ns = 1;
  const Explanation why = explain_it(options);
  EXPECT_EQ(why.slow, 100U);
  EXPECT_EQ(why.usual, 0U);
  EXPECT_EQ(describe(why).find("nothing can be compared: all 100 frames count as slow, 2.4"), 0U) << describe(why);
}

TEST_F(ExplainEvidence, FramesOfAChosenTimeAreNotCalledTheSlowest) {
  write_slow({10, 12, 14, 16}, 3 * ms);
  ExplainOptions options;
  options.slow.time = TimeRange{0, 40 * ms};
  EXPECT_NE(describe(explain_it(options)).find(" of 100 frames take "), std::string::npos);
  EXPECT_EQ(describe(explain_it(options)).find("slowest"), std::string::npos) << describe(explain_it(options));
}

/// Two programs that run at a time: frames of 1 ms with a rare cause, and frames of 5 ms. A third one came before them.
class ExplainProcesses : public ExplainedFrames {
 protected:
  void write_both(const std::string& first_rank, const std::string& second_rank) {
    write_frames(1, first_rank, 1 * ms, true);
    write_frames(2, second_rank, 5 * ms, false);
  }
  void write_frames(std::uint64_t pid, const std::string& rank, std::int64_t frame_ns, bool has_cause) {
    paths_.push_back(directory_ / (std::to_string(pid) + ".kymo"));
    MadeUpProgram program(paths_.back(), true, pid, rank);
    const TrackId main = program.thread("main");
    stats::RandomSource random(pid);
    program.frame(main);
    for (int frame = 1; frame <= 200; ++frame) {
      program.scope(main, has_cause ? "serve" : "simulate",
                    frame_ns + static_cast<std::int64_t>(random.normal() * 10e3));
      if (has_cause && frame % 20 == 7) {
        program.scope(main, "rehash", 1 * ms);
      }
      program.frame(main);
    }
    program.finish();
  }
  std::vector<std::string> paths_;
  TemporaryDirectory directory_;
};

TEST_F(ExplainProcesses, FramesOfProcessesThatRunAtATimeAreExplainedApart) {
  write_both("", "");
  const std::vector<Explanation> all = explain(Timeline(paths_));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].process, "program (process 1)");
  ASSERT_EQ(all[0].findings.size(), 1U);
  EXPECT_EQ(all[0].findings.front().text.find("computing in \"rehash\""), 0U);
  EXPECT_EQ(describe(all[0]).find("the 10 slowest of 200 frames of program (process 1) take "), 0U) << describe(all[0]);
  EXPECT_EQ(all[1].process, "program (process 2)");
  EXPECT_TRUE(all[1].findings.empty());
}

TEST_F(ExplainProcesses, ProcessesBeyondThreeAreCounted) {
  write_both("", "");
  for (std::uint64_t pid = 3; pid <= 5; ++pid) {
    write_frames(pid, "", 5 * ms, false);
  }
  const std::vector<Explanation> all = explain(Timeline(paths_));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].process, "program (process 1)") << "whose cause is known";
  EXPECT_TRUE(has(all[2].notes, "frames of 2 more processes are not explained here"));
}

TEST_F(ExplainProcesses, RanksOfOneJobAreOne) {
  write_both("0", "1");
  const std::vector<Explanation> all = explain(Timeline(paths_));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].process, "");
  EXPECT_EQ(all[0].instances, 400U);
}

TEST_F(ExplainEvidence, TheNumbersOfGpuScopesSayNothing) {
  write(200, [](MadeUpProgram& program, TrackId main, int frame) {
    const bool is_slow = frame > 150 && frame % 5 == 0;
    program.open(main, "draw");
    program.argument(main, "correlation", std::int64_t{frame});
    program.argument(main, "frame", std::int64_t{frame});
    program.run(main, 300 * microsecond + (is_slow ? 2 * ms : 0));
    program.close(main);
  });
  ASSERT_EQ(explain_it().findings.size(), 1U);
  const std::string text = explain_it().findings.front().text;
  EXPECT_NE(text.find("with frame = "), std::string::npos) << text;
  EXPECT_EQ(text.find("correlation"), std::string::npos) << text;
}

TEST_F(ExplainEvidence, ArgumentsThatChanceMakesAreNotNamed) {
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    stats::RandomSource random(seed);
    write(150, [&](MadeUpProgram& program, TrackId main, int frame) {
      program.open(main, "decode");
      for (const char* name : {"a", "b", "c", "d"}) {
        program.argument(main, name, "value " + std::to_string(random.below(5)));
      }
      program.argument(main, "number", static_cast<std::int64_t>(random.below(100)));
      program.run(main, 300 * microsecond + (frame % 12 == 5 ? 2 * ms : 0));
      program.close(main);
    });
    const Explanation why = explain_it();
    ASSERT_EQ(why.findings.size(), 1U);
    named += why.findings.front().text.find(", with ") != std::string::npos ? 1 : 0;
  }
  // At 1 % for all arguments together, more than two of twenty come once in 1,000 such tests.
  EXPECT_LE(named, 2);
}

TEST_F(ExplainEvidence, SaysWhereKymosOwnThreadHadTheCpu) {
  ThreadId collector{};
  write(120, [&](MadeUpProgram& program, TrackId main, int frame) {
    if (frame == 1) {
      collector = program.observed("kymo-collector", 1);
    }
    program.open(main, "draw");
    program.run(main, 200 * microsecond);
    if (frame % 20 == 7) {
      program.run_observed(collector, program.now(main), 2 * ms);
      program.push_off(main, 2 * ms);
    }
    program.close(main);
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  const std::string& text = why.findings.front().text;
  EXPECT_NE(text.find("pushed off the CPU by kymo's own kymo-collector"), std::string::npos) << text;
  EXPECT_TRUE(has(why.notes, "kymo's own threads ran for 2.00 ms of a slow one against 0 ns of a usual one"));
}

TEST_F(ExplainEvidence, SaysWhoHadTheCpuOfAThreadThatIsLateToGoOn) {
  ThreadId hog{};
  TrackId loader{};
  write(120, [&](MadeUpProgram& program, TrackId main, int frame) {
    if (frame == 1) {
      hog = program.observed("hog", 4711);
      loader = program.thread("loader");
    }
    const std::int64_t start_ns = program.now(main);
    program.open(main, "draw");
    program.idle_until(loader, start_ns - 50 * microsecond);
    program.run(loader, 150 * microsecond);
    program.hold("assets", "loader", start_ns - 50 * microsecond, start_ns + 100 * microsecond);
    const std::int64_t late_ns = frame % 20 == 7 ? 2 * ms : 0;
    if (late_ns != 0) {
      program.run_observed(hog, start_ns + 100 * microsecond, late_ns);
    }
    program.wait_for_lock(main, "assets", "loader", start_ns + 100 * microsecond + late_ns);
    program.run(main, 100 * microsecond);
    program.close(main);
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  const std::string& text = why.findings.front().text;
  EXPECT_NE(text.find("late to go on after what it waited for had come, while the CPU belonged to hog"),
            std::string::npos)
      << text;
}

TEST_F(ExplainEvidence, SaysThatScopesWereDroppedAroundTheSlowOnes) {
  const auto record = [this](bool drops_in_slow) {
    write(160, [=](MadeUpProgram& program, TrackId main, int frame) {
      // A block has 16 frames. Every second block has slow ones.
      const bool is_slow = frame / 16 % 2 == 1 && frame % 4 == 1;
      if (is_slow == drops_in_slow && frame % 16 == 5) {
        program.drop_scopes(main, 1'000);
      }
      program.scope(main, "draw", 300 * microsecond + (is_slow ? 2 * ms : 0));
    });
    return explain_it();
  };
  const Explanation beside = record(true);
  EXPECT_FALSE(beside.findings.empty());
  EXPECT_TRUE(has(beside.notes, "5,000 scopes were dropped while recording"));
  EXPECT_TRUE(has(beside.notes, "around 20 of 20 slow ones")) << beside.notes.back();
  const Explanation elsewhere = record(false);
  EXPECT_TRUE(has(elsewhere.notes, "scopes were dropped while recording"));
  EXPECT_FALSE(has(elsewhere.notes, "slow ones")) << elsewhere.notes.back();
}

TEST_F(ExplainEvidence, BytesAndTheDiskGoAlongWithWhatIsBlocked) {
  write(120, [](MadeUpProgram& program, TrackId main, int frame) {
    const bool is_slow = frame % 10 == 5;
    program.open(main, "save");
    program.block(main, is_slow ? 4 * ms : 100 * microsecond);
    program.close(main);
    const std::int64_t now_ns = program.now(main);
    const double noise = 1 + 0.01 * (frame % 3);
    program.sample("io_MB", "MB", now_ns, (is_slow ? 8 : 0.1) * noise);
    program.sample("process_read_bytes", "B/s", now_ns, 1e6 * noise);
    program.sample("process_written_bytes", "B/s", now_ns, (is_slow ? 2e9 : 3e7) * noise);
    program.sample("disk_read", "B/s", now_ns, 5e5 * noise);
    program.sample("disk_write", "B/s", now_ns, (is_slow ? 2.1e9 : 4e7) * noise);
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 1U);
  const Finding& finding = why.findings.front();
  EXPECT_EQ(finding.text,
            "blocked in \"save\" (game.cpp:72); goes along: io_MB (8.08 MB against 0.101 MB), process_written_bytes "
            "(2.02 GB/s against 30.3 MB/s), disk_write (2.12 GB/s against 40.4 MB/s)");
  EXPECT_EQ(finding.bytes.size(), 3U);
}

TEST_F(ExplainEvidence, ItSaysWhereWhoEndedTheWaitsWasNotRecorded) {
  const auto record = [this](const std::string& wakes, bool is_blocked) {
    write(120, [&](MadeUpProgram& program, TrackId main, int frame) {
      if (frame == 1) {
        program.fact("threads.wakes", wakes);
      }
      const std::int64_t time_ns = frame % 10 == 5 ? 4 * ms : 100 * microsecond;
      program.open(main, "step");
      is_blocked ? program.block(main, time_ns) : program.run(main, time_ns);
      program.close(main);
    });
    return explain_it().notes;
  };
  EXPECT_TRUE(has(record("not recorded", true), "which threads ended these waits was not recorded"));
  EXPECT_FALSE(has(record("not recorded", false), "ended these waits"));
  EXPECT_FALSE(has(record("recorded", true), "ended these waits"));
}

TEST_F(ExplainEvidence, BytesOfOtherFramesAreNotNamed) {
  write(240, [](MadeUpProgram& program, TrackId main, int frame) {
    // Two causes, in different frames. Only the second moves bytes.
    program.open(main, "wait for input");
    program.block(main, frame % 20 == 5 ? 4 * ms : 100 * microsecond);
    program.close(main);
    program.open(main, "save");
    program.block(main, frame % 20 == 15 ? 4 * ms : 100 * microsecond);
    program.close(main);
    program.sample("io_MB", "MB", program.now(main), (frame % 20 == 15 ? 8 : 0.1) * (1 + 0.01 * (frame % 3)));
  });
  const Explanation why = explain_it();
  ASSERT_EQ(why.findings.size(), 2U);
  for (const Finding& finding : why.findings) {
    const bool is_save = finding.text.find("\"save\"") != std::string::npos;
    EXPECT_EQ(finding.bytes.size(), is_save ? 1U : 0U) << finding.text;
  }
}

TEST_F(ExplainEvidence, WhatComputesHasNoBytes) {
  write(120, [](MadeUpProgram& program, TrackId main, int frame) {
    program.scope(main, "parse", frame % 10 == 5 ? 4 * ms : 100 * microsecond);
    program.sample("io_MB", "MB", program.now(main), frame % 10 == 5 ? 8 : 0.1);
  });
  EXPECT_EQ(explain_it().findings.at(0).text.find("io_MB"), std::string::npos);
  EXPECT_EQ(explain_it().companions.size(), 1U) << "it goes along all the same";
}

TEST_F(ExplainEvidence, SaysWhereTheHostTookCpuTime) {
  const auto record = [this](double stolen) {
    write(120, [=](MadeUpProgram& program, TrackId main, int frame) {
      const bool is_slow = frame % 10 == 5;
      program.scope(main, "draw", is_slow ? 4 * ms : 300 * microsecond);
      program.sample("cpu_steal", "%", program.now(main), 0.1 * (frame % 3) + (is_slow ? stolen : 0));
    });
    return explain_it();
  };
  const Explanation stolen = record(30);
  ASSERT_EQ(stolen.findings.size(), 1U);
  // On top of 0, 0.1 or 0.2 %: 0.1 % on average, in each set.
  EXPECT_TRUE(has(stolen.notes, "the host took 30.1 % of the machine's CPU time in slow ones against 0.1"))
      << stolen.notes.size();
  EXPECT_FALSE(has(record(0).notes, "the host"));
  EXPECT_FALSE(has(record(0.5).notes, "the host")) << "too little to say";
}

}  // namespace
}  // namespace kymo::test
