// kymo explain: the words, the evidence and the JSON of explanations.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "command_fixture.hpp"
#include "stats/made_up_program.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::test {
namespace {

class ExplainTest : public CommandTest {
 protected:
  /// 100 frames of about 10 ms. The loader keeps main waiting for `wait_ns` in the last frame of each `every`.
  void write(const std::string& name, std::int64_t wait_ns, int every = 20, bool has_frames = true) const {
    MadeUpProgram program(file_named(name));
    const TrackId main = program.thread("main");
    const TrackId loader = program.thread("loader");
    for (int i = 1; i <= 100; ++i) {
      if (has_frames) {
        program.frame(main);
      }
      program.open(main, "step");
      program.scope(main, "update", 4 * ms + i % 7 * ms / 50);
      const std::int64_t start_ns = program.now(main);
      program.open(main, "draw");
      if (i % every == 0) {
        program.idle_until(loader, start_ns - ms);
        program.scope(loader, "stream level", ms + wait_ns);
        program.hold("asset cache", "loader", start_ns - ms, start_ns + wait_ns);
        program.wait_for_lock(main, "asset cache", "loader", start_ns + wait_ns);
      }
      program.run(main, 6 * ms + i % 5 * ms / 50);
      program.close(main);
      program.close(main);
    }
    program.frame(main);
    program.finish();
  }
  /// 100 frames of "load" and "train" at 20 W, from a time on. Each `every`th takes 40 W more in "train".
  void write_powered(const std::string& name, int every, std::int64_t start_ns) const {
    MadeUpProgram program(file_named(name));
    const TrackId main = program.thread("main");
    program.idle_until(main, start_ns);
    for (int i = 1; i <= 100; ++i) {
      program.frame(main);
      for (const char* const site : {"load", "train"}) {
        const std::int64_t scope_ns = program.now(main);
        program.scope(main, site, 50 * ms);
        // Between samples the power is a straight line, so 1 ms at each end has half.
        const bool is_costly = i % every == 0 && site == std::string("train");
        for (const std::int64_t at_ns : {ms, 49 * ms}) {
          program.sample("machine_power", "W", scope_ns + at_ns, 20 + 0.1 * (i * 7 % 5) + (is_costly ? 40 : 0));
        }
      }
    }
    program.frame(main);
    program.finish();
  }
};

TEST_F(ExplainTest, NamesTheCauseItsShareAndWhereToLook) {
  write("run.kymo", 30 * ms);
  const CommandResult result = kymo({"explain", "run.kymo"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find("the 5 slowest of 100 frames take 30.0 ms more than usual (40.1 ms against 10.1 ms); 100 % "
                            "of that is explained\n"),
            0U)
      << result.out;
  EXPECT_NE(
      result.out.find("\n1   30.0 ms  100 %   [100..100 %]        5 of 5  waiting in \"wait for asset cache\", held "
                      "by loader in \"stream level\" (game.cpp:72)\n"),
      std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("5 of 5"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("unexplained"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("look: kymo view run.kymo#frame="), std::string::npos) << result.out;
}

TEST_F(ExplainTest, ACauseIsBrokenIntoLinesAndNeverCut) {
  write("run.kymo", 30 * ms);
  for (const std::size_t columns : {60U, 80U, 100U}) {
    const std::string shown = on_terminal({"explain", "run.kymo"}, columns);
    const std::size_t row = shown.find("\n1 ");
    std::string words;
    for (const char c : shown.substr(row, shown.find("\n-", row) - row)) {
      const bool is_blank = c == ' ' || c == '\n' || c == '\r';
      words += !is_blank ? std::string(1, c) : words.empty() || words.back() == ' ' ? "" : " ";
    }
    EXPECT_NE(words.find("waiting in \"wait for asset cache\", held by loader in \"stream level\" (game.cpp:72)"),
              std::string::npos)
        << shown;
  }
}

TEST_F(ExplainTest, TheCommandsOfItsLookLineWork) {
  write("a run.kymo", 30 * ms, 20, false);
  const CommandResult result = kymo({"explain", "--site", "draw", "a run.kymo"});
  const std::size_t line = result.out.find("      kymo explain ");
  ASSERT_NE(line, std::string::npos) << result.out << result.err;
  const std::string command = result.out.substr(line + 11);
  const CommandResult evidence =
      run_any({"/bin/sh", "-c", "exec '" KYMO_COMMAND "' " + command.substr(0, command.find('\n'))});
  EXPECT_EQ(evidence.status, 0) << evidence.err;
  EXPECT_EQ(evidence.out.find("1  waiting in \"wait for asset cache\", held by loader"), 0U) << evidence.out;
  EXPECT_NE(result.out.find("look: kymo view --time "), std::string::npos);
  EXPECT_NE(result.out.find(" 'a run.kymo'\n"), std::string::npos) << result.out;
}

TEST_F(ExplainTest, EvidenceListsInstancesAndBothHistograms) {
  write("run.kymo", 30 * ms);
  const CommandResult result = kymo({"explain", "--finding", "1", "--evidence", "run.kymo"}, {{"LC_ALL", "C"}});
  ASSERT_EQ(result.status, 0) << result.err;
  // All slow frames are in the last column, all usual ones in the first.
  EXPECT_NE(result.out.find("    slow  |" + std::string(31, ' ') + "@|\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("    usual |@" + std::string(31, ' ') + "|\n"), std::string::npos) << result.out;
  for (const int frame : {20, 40, 60, 80, 100}) {
    EXPECT_NE(result.out.find("frame " + std::to_string(frame) + " at "), std::string::npos) << result.out;
  }
  const CommandResult missing = kymo({"explain", "--finding", "9", "--evidence", "run.kymo"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("there is no finding 9: they are numbered from 1 to 1"), std::string::npos) << missing.err;
}

TEST_F(ExplainTest, JsonHoldsTheSameAsTheTable) {
  write("run.kymo", 30 * ms);
  const CommandResult result = kymo({"explain", "--json", "run.kymo"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto why = nlohmann::json::parse(result.out)["explanations"][0];
  EXPECT_EQ(why["slow"], 5);
  const auto& finding = why["findings"][0];
  EXPECT_EQ(finding["waits"], nlohmann::json({"wait for asset cache"}));
  EXPECT_EQ(finding["parts"][0]["name"], "stream level");
  EXPECT_EQ(finding["parts"][0]["thread"], "loader");
  EXPECT_EQ(finding["slow"].size(), 5U);
  double explained_ns = 0;
  for (const char* const list : {"findings", "shorter"}) {
    for (const auto& one : why[list]) {
      explained_ns += one["excess_ns"].get<double>();
    }
  }
  EXPECT_NEAR(explained_ns + why["unexplained_ns"].get<double>(), why["excess_ns"].get<double>(), 1);
}

TEST_F(ExplainTest, NothingStandsOutWhereNothingDoes) {
  write("run.kymo", 0);
  const CommandResult result = kymo({"explain", "run.kymo"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find("nothing stands out: the longest of 100 frames takes "), 0U) << result.out;
  EXPECT_EQ(result.out.find("unexplained"), std::string::npos);
}

TEST_F(ExplainTest, OneFrameIsExplainedOnDemand) {
  write("run.kymo", 30 * ms);
  const CommandResult slow = kymo({"explain", "--frame", "40", "run.kymo"});
  EXPECT_EQ(slow.out.find("one of 100 frames takes 30."), 0U) << slow.out << slow.err;
  EXPECT_NE(slow.out.find("held by loader"), std::string::npos) << slow.out;
  EXPECT_EQ(slow.out.find(" 95 %"), std::string::npos) << "no interval can be told from one: " << slow.out;
  const CommandResult missing = kymo({"explain", "--frame", "4000", "run.kymo"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("there are 100 frames"), std::string::npos) << missing.err;
}

TEST_F(ExplainTest, ATargetMakesTheSlowSet) {
  write("run.kymo", 0);
  const CommandResult result = kymo({"explain", "--over", "10.19ms", "run.kymo"});
  EXPECT_NE(result.out.find("slowest of 100 frames take "), std::string::npos) << result.out << result.err;
  EXPECT_EQ(kymo({"explain", "--over", "soon", "run.kymo"}).status, 2);
  const CommandResult none = kymo({"explain", "--over", "1s", "run.kymo"});
  EXPECT_EQ(none.out.find("none takes longer than 1.00 s: the longest of 100 frames takes 1"), 0U) << none.out;
}

TEST_F(ExplainTest, WithoutFramesTheCostliestSitesAreExplained) {
  write("run.kymo", 30 * ms, 20, false);
  const CommandResult result = kymo({"explain", "run.kymo"});
  EXPECT_EQ(result.out.find("the 5 slowest of 100 scopes \"step\" take 30."), 0U) << result.out << result.err;
  const CommandResult frame = kymo({"explain", "--frame", "3", "run.kymo"});
  EXPECT_EQ(frame.status, 1);
  EXPECT_NE(frame.err.find("nothing marked frames"), std::string::npos) << frame.err;
}

TEST_F(ExplainTest, NewRecordingsAreExplainedByTheBase) {
  write("base.kymo", 1 * ms, 1);
  write("new.kymo", 9 * ms, 1);
  const CommandResult slower = kymo({"explain", "--base", "base.kymo", "new.kymo"});
  EXPECT_EQ(slower.out.find("new frames take 8.00 ms more than those of the base "), 0U) << slower.out << slower.err;
  EXPECT_NE(slower.out.find("  waiting in \"wait for asset cache\", held by loader in \"stream level\""),
            std::string::npos)
      << slower.out;
  const CommandResult faster = kymo({"explain", "--base", "new.kymo", "base.kymo"});
  EXPECT_EQ(faster.out.find("new frames take no longer than those of the base"), 0U) << faster.out;
  const CommandResult same = kymo({"explain", "--base", "base.kymo", "--site", "update", "new.kymo"});
  EXPECT_EQ(same.out.find("new scopes \"update\" take no longer"), 0U) << same.out;
  // Of a hundred frames one is longer, which may be chance.
  write("usual.kymo", 1 * ms, 100);
  write("once.kymo", 9 * ms, 100);
  const CommandResult unsure = kymo({"explain", "--base", "usual.kymo", "once.kymo"});
  EXPECT_NE(unsure.out.find(" more than those of the base "), std::string::npos) << unsure.out;
  EXPECT_NE(unsure.out.find("; no cause of that is sure"), std::string::npos) << unsure.out;
}

TEST_F(ExplainTest, OfTwoDirectoriesTheFirstIsTheBase) {
  std::filesystem::create_directory(file_named("base"));
  std::filesystem::create_directory(file_named("new"));
  for (const char* const run : {"1.kymo", "2.kymo"}) {
    write(std::string("base/") + run, 1 * ms, 1);
    write(std::string("new/") + run, 9 * ms, 1);
  }
  const CommandResult slower = kymo({"explain", "base/", "new/"});
  EXPECT_EQ(slower.out.find("new frames take 8.00 ms more than those of the base "), 0U) << slower.out << slower.err;
  EXPECT_EQ(slower.out, kymo({"explain", "--base", "base", "new"}).out);
  EXPECT_EQ(kymo({"explain", "new", "base"}).out.find("new frames take no longer"), 0U);
  EXPECT_EQ(kymo({"explain", "--over", "5ms", "base", "new"}).status, 2);
  std::ofstream(file_named("base/3.kymo")) << "this is no capture";
  std::ofstream(file_named("base/4.kymo")).flush();
  EXPECT_EQ(kymo({"explain", "base/", "new/"}).out, slower.out) << "captures of the base are those that were opened";
}

TEST_F(ExplainTest, TheReportBeginsWithTheReason) {
  write("run.kymo", 30 * ms);
  ASSERT_EQ(kymo({"report", "run.kymo"}).status, 0);
  const std::string page = read_text(file_named("run.html"));
  const std::size_t section = page.find("<section id=\"explanations\">");
  ASSERT_NE(section, std::string::npos);
  EXPECT_LT(section, page.find("<section id=\"overview\">"));
  EXPECT_NE(page.find("<p>the 5 slowest of 100 frames take 30.0 ms more than usual"), std::string::npos);
  EXPECT_NE(page.find("held by loader in &quot;stream level&quot;"), std::string::npos);
}

TEST_F(ExplainTest, JoulesAreExplainedByWhoUsedThem) {
  write_powered("run.kymo", 10, 0);
  const CommandResult result = kymo({"explain", "--energy", "run.kymo"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find("10 of 100 frames took 1.96 J more than usual (3.99 J against 2.02 J); "), 0U)
      << result.out;
  EXPECT_NE(result.out.find("  in \"train\" (game.cpp:72) on main: at more power (59.5 W against 20.2 W)"),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("        10 of 10  in "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("look: kymo view run.kymo#frame="), std::string::npos) << result.out;
  const auto why = nlohmann::json::parse(kymo({"explain", "--energy", "--json", "run.kymo"}).out)["energy"];
  EXPECT_EQ(why["findings"][0]["name"], "train");
  EXPECT_NEAR(why["excess_joules"].get<double>(), 2, 0.1);
  write("plain.kymo", 0);
  EXPECT_EQ(kymo({"explain", "--energy", "plain.kymo"}).out.find("no power was recorded"), 0U);
  EXPECT_EQ(kymo({"explain", "--energy", "--over", "5ms", "plain.kymo"}).status, 2);
}

TEST_F(ExplainTest, JoulesOfASitesScopesAreExplained) {
  write_powered("run.kymo", 10, 0);
  const CommandResult result = kymo({"explain", "--energy", "--site", "train", "run.kymo"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find("10 of 100 scopes \"train\" took 1.9"), 0U) << result.out;
  EXPECT_NE(result.out.find("  in \"train\" (game.cpp:72) on main: at more power (5"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("look: kymo view --time "), std::string::npos) << result.out;
  const auto why = nlohmann::json::parse(kymo({"explain", "--energy", "--site", "train", "--json", "run.kymo"}).out);
  EXPECT_EQ(why["energy"]["site"], "train");
  EXPECT_EQ(why["energy"]["findings"][0]["costly"].size(), 10U);
}

TEST_F(ExplainTest, JoulesOfNewRecordingsAreExplainedByTheBase) {
  write_powered("base.kymo", 1'000, 0);
  // Later on the same machine.
  write_powered("new.kymo", 1, 20'000 * ms);
  const CommandResult more = kymo({"explain", "--energy", "--base", "base.kymo", "new.kymo"});
  ASSERT_EQ(more.status, 0) << more.err;
  EXPECT_EQ(more.out.find("new frames took 2.00 J more than those of the base (4.02 J against 2.02 J); 99 %"), 0U)
      << more.out;
  EXPECT_NE(more.out.find("  in \"train\" (game.cpp:72) on main: at more power (5"), std::string::npos) << more.out;
  EXPECT_EQ(more.out.find("look:"), std::string::npos) << more.out;
  const CommandResult less = kymo({"explain", "--energy", "--base", "new.kymo", "base.kymo"});
  EXPECT_EQ(less.out.find("new frames took no more joules than those of the base"), 0U) << less.out << less.err;
}

TEST_F(ExplainTest, TheReportSaysWhoUsedTheJoules) {
  write_powered("run.kymo", 10, 0);
  ASSERT_EQ(kymo({"report", "run.kymo"}).status, 0);
  const std::string page = read_text(file_named("run.html"));
  const std::size_t section = page.find("<section id=\"explanations\">");
  ASSERT_NE(section, std::string::npos);
  const std::size_t sentence = page.find("<p>10 of 100 frames took 1.96 J more than usual", section);
  ASSERT_NE(sentence, std::string::npos);
  EXPECT_LT(sentence, page.find("<section id=\"overview\">"));
  EXPECT_NE(page.find("in &quot;train&quot; (game.cpp:72) on main: at more power", sentence), std::string::npos);
}

TEST_F(ExplainTest, LabelsOfMetricsThatGoAlongAreAnObjectAlsoWhereThereAreNone) {
  MadeUpProgram program(file_named("run.kymo"));
  const TrackId main = program.thread("main");
  MetricDeclaration labelled;
  labelled.name = "queue";
  labelled.unit = "1";
  labelled.labels = {{"shard", "7"}};
  for (int i = 1; i <= 120; ++i) {
    const bool is_slow = i % 10 == 5;
    program.frame(main);
    program.scope(main, "parse", is_slow ? 4 * ms : ms / 10);
    program.sample("io_MB", "MB", program.now(main), is_slow ? 8 : 0.1);
    program.sample(labelled, program.now(main), is_slow ? 90 : 1);
  }
  program.frame(main);
  program.finish();
  const auto why = nlohmann::json::parse(kymo({"explain", "--json", "run.kymo"}).out)["explanations"][0];
  std::map<std::string, nlohmann::json> labels;
  for (const auto& row : why["goes_along"]) {
    labels[row["metric"]] = row["labels"];
  }
  EXPECT_EQ(labels,
            (std::map<std::string, nlohmann::json>{{"io_MB", nlohmann::json::object()}, {"queue", {{"shard", "7"}}}}));
}

TEST_F(ExplainTest, FunctionsOfSampledStacksAreNamed) {
  MadeUpProgram program(file_named("run.kymo"), true);
  const TrackId main = program.thread("main");
  program.sample_stacks(1'000);
  for (int i = 1; i <= 100; ++i) {
    program.frame(main);
    program.open(main, "tick");
    program.in_functions(main, {"main@/opt/game", "tick@/opt/game"});
    program.run(main, 4 * ms + i % 7 * ms / 50);
    program.in_functions(main, {"main@/opt/game", "tick@/opt/game@/src/game.cpp:31", "malloc@/usr/lib/libc.so.6"});
    program.run(main, i % 10 == 0 ? 9 * ms : 1 * ms);
    program.close(main);
  }
  program.frame(main);
  program.finish();
  const CommandResult result = kymo({"explain", "run.kymo"});
  EXPECT_NE(result.out.find("computing in \"tick\" (game.cpp:72): longer calls (13"), std::string::npos)
      << result.out << result.err;
  EXPECT_NE(result.out.find(" %] in malloc (libc.so.6, from game.cpp:31)\n"), std::string::npos) << result.out;
  const CommandResult evidence = kymo({"explain", "--finding", "1", "--evidence", "run.kymo"});
  EXPECT_NE(evidence.out.find("in malloc"), evidence.out.rfind("in malloc")) << "in its own table: " << evidence.out;
  EXPECT_NE(evidence.out.find("  libc.so.6  from game.cpp:31\n"), std::string::npos) << evidence.out;
  const auto why = nlohmann::json::parse(kymo({"explain", "--json", "run.kymo"}).out)["explanations"][0];
  const auto& function = why["findings"][0]["functions"][0];
  EXPECT_EQ(function["name"], "malloc");
  EXPECT_EQ(function["module"], "libc.so.6");
  const nlohmann::json place{{"function", "tick"}, {"file", "/src/game.cpp"}, {"line", 31}};
  EXPECT_EQ(function["place"], place);
  EXPECT_NEAR(function["share"].get<double>(), 1, 0.03);
  EXPECT_NEAR(function["samples"].get<double>(), 90, 3);
  ASSERT_EQ(kymo({"report", "run.kymo"}).status, 0);
  EXPECT_NE(read_text(file_named("run.html")).find(" in malloc (libc.so.6, from game.cpp:31)</"), std::string::npos);
}

TEST_F(ExplainTest, SaysWhatIsMissing) {
  write("run.kymo", 0);
  const CommandResult site = kymo({"explain", "--site", "nowhere", "run.kymo"});
  EXPECT_EQ(site.status, 1);
  EXPECT_NE(site.err.find("no scope is named 'nowhere'"), std::string::npos) << site.err;
  MadeUpProgram program(file_named("short.kymo"));
  const TrackId main = program.thread("main");
  for (int i = 0; i < 5; ++i) {
    program.run(main, ms);
    program.frame(main);
  }
  program.finish();
  const CommandResult few = kymo({"explain", "short.kymo"});
  EXPECT_EQ(few.out, "nothing can be said: there are 4 frames, and at least 20 are needed to tell what is usual\n");
}

TEST_F(ExplainTest, AComparisonThatFailsSaysWhyBesideItsVerdict) {
  std::vector<std::string> arguments{"compare", "--fail-on-regression", "5%", "--base"};
  for (const char* name : {"b1.kymo", "b2.kymo", "b3.kymo"}) {
    write(name, 0, 1'000);
    arguments.emplace_back(name);
  }
  arguments.emplace_back("--new");
  for (const char* name : {"n1.kymo", "n2.kymo", "n3.kymo"}) {
    write(name, 30 * ms, 1);
    arguments.emplace_back(name);
  }
  const CommandResult result = kymo(arguments);
  EXPECT_EQ(result.status, 4) << result.err;
  const std::string reason = "waiting in \"wait for asset cache\", held by loader in \"stream level\" (game.cpp:72)";
  const std::size_t verdict = result.out.find("Worse by 5 % or more");
  ASSERT_NE(verdict, std::string::npos) << result.out;
  EXPECT_NE(result.out.find(reason, verdict), std::string::npos) << result.out;
  arguments.emplace_back("--json");
  const auto reasons = nlohmann::json::parse(kymo(arguments).out)["reasons"];
  ASSERT_GE(reasons.size(), 1U);
  EXPECT_EQ(reasons[0]["findings"][0]["text"], reason);
  EXPECT_NEAR(reasons[0]["findings"][0]["share"].get<double>(), 1, 0.05);
  const CommandResult page = kymo({"compare", "--html", "page.html", "--base", "b1.kymo", "b2.kymo", "b3.kymo", "--new",
                                   "n1.kymo", "n2.kymo", "n3.kymo"});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_NE(read_text(file_named("page.html")).find("held by loader in &quot;stream level&quot; (game.cpp:72)"),
            std::string::npos);
}

}  // namespace
}  // namespace kymo::test
