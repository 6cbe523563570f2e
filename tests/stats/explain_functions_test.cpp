// Findings name the functions that their excess went to, by sampled stacks: made-up programs whose shares are known.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stats/explained_frames.hpp"

namespace kymo::test {
namespace {

using Functions = std::vector<std::string>;

const Functions tick{"main@/opt/game", "tick@/opt/game"};

Functions below(Functions outer, const Functions& inner) {
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

class ExplainFunctions : public ExplainedFrames {
 protected:
  /// A part of "tick": where, and for how long in a usual and in a slow frame.
  struct Part {
    Functions functions;
    std::int64_t usual_ns;
    std::int64_t slow_ns;
  };

  /// 120 frames of "update" and "tick", which are sampled; every tenth is slow.
  void write_parts(const std::vector<Part>& parts, std::uint32_t hz = 1'000) {
    write(120, [&](MadeUpProgram& program, TrackId main, int frame) {
      if (frame == 1 && hz != 0) {
        program.sample_stacks(hz);
      }
      program.open(main, "tick");
      for (const Part& part : parts) {
        program.in_functions(main, part.functions);
        program.run(main, frame % 10 == 5 ? part.slow_ns : part.usual_ns);
      }
      program.in_functions(main, tick);
      program.close(main);
    });
  }
  [[nodiscard]] Finding find_one(const ExplainOptions& options = {}) const {
    const Explanation why = explain_it(options);
    EXPECT_EQ(why.findings.size(), 1U);
    return why.findings.empty() ? Finding{} : why.findings.front();
  }
};

TEST_F(ExplainFunctions, NamesTheOneWithTheExcessByItsOwnTime) {
  write_parts({{tick, 1 * ms, 2 * ms}, {below(tick, {"malloc@/usr/lib/libc.so.6"}), 1 * ms, 9 * ms}});
  const Finding finding = find_one();
  // 8 of 9 ms.
  ASSERT_EQ(finding.functions.size(), 2U) << finding.text;
  const FindingFunction& malloc = finding.functions.front();
  EXPECT_EQ(malloc.name, "malloc");
  EXPECT_EQ(malloc.module, "libc.so.6");
  EXPECT_NEAR(malloc.share, 8.0 / 9, 0.03);
  EXPECT_FALSE(malloc.is_caller || malloc.is_kernel);
  EXPECT_LE(malloc.interval->low, 8.0 / 9);
  EXPECT_GE(malloc.interval->high, 8.0 / 9);
  EXPECT_LT(malloc.interval->high - malloc.interval->low, 0.2);
  EXPECT_NEAR(static_cast<double>(malloc.samples), 12 * 9, 4);
  EXPECT_NEAR(finding.functions[1].share, 1.0 / 9, 0.03);
  EXPECT_NE(finding.text.find("; of it 89 % ["), std::string::npos) << finding.text;
  EXPECT_NE(finding.text.find(" %] in malloc (libc.so.6), "), std::string::npos) << finding.text;
}

TEST_F(ExplainFunctions, NamesTheLineThatHalfOfAFunctionsExcessIsIn) {
  const auto hash_at = [](int line) { return below(tick, {"hash@/opt/game@/src/hash.cpp:" + std::to_string(line)}); };
  // Of 6 ms more 4 are at line 12. What is usual is at line 10.
  write_parts({{tick, 1 * ms, 1 * ms},
               {hash_at(10), 6 * ms, 6 * ms},
               {hash_at(11), 1 * ms, 3 * ms},
               {hash_at(12), 1 * ms, 5 * ms}});
  const Finding finding = find_one();
  ASSERT_EQ(finding.functions.size(), 1U) << finding.text;
  ASSERT_TRUE(finding.functions.front().place);
  EXPECT_EQ(finding.functions.front().place->function, "hash");
  EXPECT_EQ(finding.functions.front().place->file, "/src/hash.cpp");
  EXPECT_EQ(finding.functions.front().place->line, 12U);
  EXPECT_NE(finding.text.find(" in hash (game, hash.cpp:12)"), std::string::npos) << finding.text;

  write_parts({{tick, 1 * ms, 1 * ms},
               {hash_at(10), 1 * ms, 3 * ms},
               {hash_at(11), 1 * ms, 3 * ms},
               {hash_at(12), 1 * ms, 3 * ms}});
  const Finding scattered = find_one();
  ASSERT_EQ(scattered.functions.size(), 1U) << scattered.text;
  EXPECT_FALSE(scattered.functions.front().place);
  EXPECT_NE(scattered.text.find(" in hash (game)"), std::string::npos) << scattered.text;
}

TEST_F(ExplainFunctions, WithoutASourceTheLineIsThatOfTheNearestCallerWithOne) {
  const Functions list{"main@/opt/game@/src/main.cpp:3", "list@/opt/game@/src/list.cpp:31", "wrap@/usr/lib/libx.so"};
  write_parts({{tick, 1 * ms, 1 * ms},
               {below(list, {"malloc@/usr/lib/libc.so.6"}), 1 * ms, 5 * ms},
               {below(list, {"malloc@/usr/lib/libc.so.6", "clear_page@[kernel]"}), 0, 4 * ms}});
  const Finding finding = find_one();
  ASSERT_EQ(finding.functions.size(), 3U) << finding.text;
  for (const FindingFunction& function : finding.functions) {
    EXPECT_EQ(function.name, "malloc");
    ASSERT_TRUE(function.place);
    EXPECT_EQ(function.place->function, "list");
    EXPECT_EQ(function.place->line, 31U);
  }
  EXPECT_NE(finding.text.find(" in malloc (libc.so.6, from list.cpp:31), "), std::string::npos) << finding.text;
  EXPECT_NE(finding.text.find(" in the kernel for malloc (libc.so.6, from list.cpp:31)"), std::string::npos)
      << finding.text;
}

TEST_F(ExplainFunctions, NamesTheCallerWhereTheTimeIsScattered) {
  const Functions collect =
      below(tick, {"allocate@/usr/bin/python3.11", "gc_collect_main@/usr/bin/python3.11@Modules/gcmodule.c:1216"});
  std::vector<Part> parts{{tick, 4 * ms, 4 * ms}};
  for (int i = 0; i < 12; ++i) {
    parts.push_back({below(collect, {"traverse_" + std::to_string(i) + "@/usr/bin/python3.11"}), 0, 1 * ms});
  }
  write_parts(parts);
  const Finding finding = find_one();
  ASSERT_EQ(finding.functions.size(), 1U) << finding.text;
  const FindingFunction& collector = finding.functions.front();
  EXPECT_TRUE(collector.is_caller);
  EXPECT_EQ(collector.name, "gc_collect_main");
  EXPECT_NEAR(collector.share, 1, 0.02);
  EXPECT_NE(finding.text.find(" under gc_collect_main (python3.11, gcmodule.c:1216)"), std::string::npos)
      << finding.text;
}

TEST_F(ExplainFunctions, ACallerOfEverythingSaysNothing) {
  std::vector<Part> parts;
  for (int i = 0; i < 12; ++i) {
    parts.push_back({below(tick, {"part_" + std::to_string(i) + "@/opt/game"}), 1 * ms, 2 * ms});
  }
  write_parts(parts);
  EXPECT_TRUE(find_one().functions.empty()) << find_one().text;
}

TEST_F(ExplainFunctions, TheKernelsWorkCountsForTheFunctionThatCalledIt) {
  write_parts(
      {{tick, 1 * ms, 1 * ms},
       {below(tick, {"memset@/usr/lib/libc.so.6", "[kernel]"}), 0, 3 * ms},
       {below(tick, {"memset@/usr/lib/libc.so.6", "asm_exc_page_fault@[kernel]", "clear_page@[kernel]"}), 0, 3 * ms}});
  const Finding finding = find_one();
  ASSERT_EQ(finding.functions.size(), 1U) << finding.text;
  EXPECT_TRUE(finding.functions.front().is_kernel);
  EXPECT_EQ(finding.functions.front().name, "memset");
  EXPECT_NE(finding.text.find(" in the kernel for memset (libc.so.6)"), std::string::npos) << finding.text;
}

TEST_F(ExplainFunctions, TooFewSamplesNameNothing) {
  const std::vector<Part> parts{{below(tick, {"malloc@/usr/lib/libc.so.6"}), 1 * ms, 5 * ms}};
  // 12 slow frames with 4 ms more: 48 samples at 1 kHz, 12 at 250 Hz.
  write_parts(parts, 1'000);
  EXPECT_EQ(find_one().functions.size(), 1U);
  write_parts(parts, 250);
  EXPECT_TRUE(find_one().functions.empty()) << find_one().text;
  write_parts(parts, 0);
  EXPECT_TRUE(find_one().functions.empty());
}

TEST_F(ExplainFunctions, WhatIsNotSampledCountsAsElsewhereOnlyWhereTheKernelHides) {
  const auto record = [this](bool hides_kernel, std::int64_t unsampled_ns) {
    write(120, [=](MadeUpProgram& program, TrackId main, int frame) {
      if (frame == 1) {
        program.sample_stacks(1'000);
        program.fact("stacks.kernel", hides_kernel ? "not permitted" : "sampled");
      }
      program.open(main, "tick");
      program.in_functions(main, below(tick, {"malloc@/usr/lib/libc.so.6"}));
      program.run(main, frame % 10 == 5 ? 10 * ms : 1 * ms);
      program.run_unsampled(main, frame % 10 == 5 ? unsampled_ns : 0);
      program.close(main);
    });
    return find_one().functions;
  };
  // 9 of 15 ms are in malloc. The other 6 are the kernel's, or were lost.
  ASSERT_EQ(record(true, 6 * ms).size(), 1U);
  EXPECT_NEAR(record(true, 6 * ms).front().share, 0.6, 0.03);
  ASSERT_EQ(record(false, 6 * ms).size(), 1U);
  EXPECT_NEAR(record(false, 6 * ms).front().share, 1, 0.001);
  // 9 of 45 ms are less than a quarter.
  EXPECT_TRUE(record(false, 36 * ms).empty());
}

TEST_F(ExplainFunctions, OneFrameHasTheChanceOfItsSamplesAsInterval) {
  write_parts({{tick, 1 * ms, 10 * ms}, {below(tick, {"malloc@/usr/lib/libc.so.6"}), 1 * ms, 31 * ms}});
  ExplainOptions options;
  options.slow.number = 45;
  const Finding finding = find_one(options);
  ASSERT_EQ(finding.functions.size(), 2U) << finding.text;
  // Wilson's interval of 30 in 39, beside what the other slow frames do to the usual mean: they are not usual.
  EXPECT_NEAR(finding.functions.front().share, 30.0 / 39, 0.03);
  EXPECT_NEAR(finding.functions.front().interval->low, 0.617, 0.03);
  EXPECT_NEAR(finding.functions.front().interval->high, 0.874, 0.03);
}

TEST_F(ExplainFunctions, OfANewBuildAreComparedWithTheBaseByNameAndFile) {
  const auto record = [this](const std::string& folder, std::int64_t allocating_ns, std::int64_t start_ns) {
    const Functions build{"main@" + folder + "/game", "tick@" + folder + "/game"};
    write(
        60,
        [&](MadeUpProgram& program, TrackId main, int frame) {
          if (frame == 1) {
            program.sample_stacks(1'000);
          }
          program.open(main, "tick");
          program.in_functions(main, build);
          program.run(main, 3 * ms);
          program.in_functions(main, below(build, {"allocate@" + folder + "/game"}));
          program.run(main, allocating_ns);
          program.close(main);
        },
        start_ns);
    return path();
  };
  const std::string base = record("/opt/1", 1 * ms, 0);
  const std::string changed = record("/opt/2", 5 * ms, 10'000 * ms);
  ExplainOptions options;
  options.base_captures = {0};
  const Explanation why = explain(Timeline({base, changed}), options).front();
  ASSERT_EQ(why.findings.size(), 1U);
  const Finding& finding = why.findings.front();
  ASSERT_EQ(finding.functions.size(), 1U) << finding.text;
  EXPECT_EQ(finding.functions.front().name, "allocate");
  EXPECT_EQ(finding.functions.front().module, "game");
  EXPECT_NEAR(finding.functions.front().share, 1, 0.02);
}

TEST_F(ExplainFunctions, WaitsNameTheCallThatWaited) {
  write(120, [](MadeUpProgram& program, TrackId main, int frame) {
    if (frame == 1) {
      program.sample_stacks(1'000);
    }
    const bool is_slow = frame % 10 == 5;
    program.open(main, "save");
    program.in_functions(main, below(tick, {"fsync@/usr/lib/libc.so.6", "schedule@[kernel]"}));
    program.block(main, is_slow ? 6 * ms : 200 * microsecond);
    program.in_functions(main, below(tick, {"poll@/usr/lib/libc.so.6", "[kernel]"}));
    program.block(main, is_slow ? 2 * ms : 100 * microsecond);
    program.in_functions(main, tick);
    program.close(main);
  });
  const Finding finding = find_one();
  EXPECT_EQ(finding.text,
            "blocked in \"save\" (game.cpp:72); of it 75 % in fsync (libc.so.6), 25 % in poll (libc.so.6)");
  ASSERT_EQ(finding.functions.size(), 2U);
  EXPECT_NEAR(finding.functions[0].share, 5.8 / 7.7, 1e-6);
  EXPECT_NEAR(finding.functions[1].share, 1.9 / 7.7, 1e-6);
  EXPECT_EQ(finding.functions[0].samples, 12U);
}

TEST_F(ExplainFunctions, BehindAWaitTheyAreTheHolders) {
  TrackId loader{};
  write(120, [&](MadeUpProgram& program, TrackId main, int frame) {
    if (frame == 1) {
      program.sample_stacks(1'000);
      loader = program.thread("loader");
    }
    const std::int64_t start_ns = program.now(main);
    const std::int64_t held_ns = frame % 10 == 5 ? 5 * ms : 300 * microsecond;
    program.in_functions(loader, {"start@/usr/lib/libc.so.6", "poll@/usr/lib/libc.so.6"});
    program.idle_until(loader, start_ns - 10 * microsecond);
    program.open(loader, "load");
    program.in_functions(loader, {"start@/usr/lib/libc.so.6", "inflate@/usr/lib/libz.so.1"});
    program.run(loader, held_ns);
    program.close(loader);
    program.hold("assets", "loader", start_ns - 10 * microsecond, program.now(loader));
    program.open(main, "draw");
    program.in_functions(main, tick);
    program.wait_for_lock(main, "assets", "loader", program.now(loader));
    program.close(main);
  });
  const Finding finding = find_one();
  ASSERT_EQ(finding.functions.size(), 1U) << finding.text;
  EXPECT_EQ(finding.functions.front().name, "inflate");
  EXPECT_NE(finding.text.find("held by loader in \"load\" (game.cpp:72); of it "), std::string::npos) << finding.text;
}

TEST_F(ExplainFunctions, BehindAWaitForAThreadWithoutScopesTheyAreThatThreads) {
  TrackId pool{};
  write(120, [&](MadeUpProgram& program, TrackId main, int frame) {
    if (frame == 1) {
      program.sample_stacks(1'000);
      pool = program.thread_without_scopes("pool");
    }
    program.in_functions(pool, {"start@/usr/lib/libc.so.6", "poll@/usr/lib/libc.so.6"});
    program.idle_until(pool, program.now(main));
    program.in_functions(pool, {"start@/usr/lib/libc.so.6", "inflate@/usr/lib/libz.so.1"});
    program.run(pool, frame % 10 == 5 ? 5 * ms : 300 * microsecond);
    program.wake(main, program.thread_of(pool), program.now(pool));
    program.open(main, "draw");
    program.in_functions(main, tick);
    program.idle_until(main, program.now(pool) + 10 * microsecond);
    program.close(main);
  });
  const Finding finding = find_one();
  ASSERT_EQ(finding.functions.size(), 1U) << finding.text;
  EXPECT_EQ(finding.functions.front().name, "inflate");
  EXPECT_NE(finding.text.find("waiting in \"draw\" for thread pool (without scopes); of it "), std::string::npos)
      << finding.text;
}

}  // namespace
}  // namespace kymo::test
