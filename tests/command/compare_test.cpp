// kymo compare: verdicts on captures whose differences are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "capture/write/capture_writer.hpp"
#include "command_fixture.hpp"

namespace kymo::test {
namespace {

using Durations = std::vector<std::int64_t>;
using Infos = std::vector<std::pair<std::string, std::string>>;

/// What a made-up program did.
struct MadeUpRun {
  std::map<std::string, Durations> sites;
  std::map<std::pair<std::string, std::string>, std::vector<double>> metrics;  ///< by name and unit
  Infos infos;
  std::uint32_t line = 10;
};

/// `count` durations around a middle, with so much noise.
Durations around(double middle_ns, double noise, std::size_t count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(middle_ns, middle_ns * noise);
  Durations durations(count);
  for (std::int64_t& duration : durations) {
    duration = std::max<std::int64_t>(static_cast<std::int64_t>(normal(random)), 1);
  }
  return durations;
}

class CompareTest : public CommandTest {
 protected:
  std::string write(const std::string& name, const MadeUpRun& made_up) const {
    capture::CaptureWriterOptions options;
    options.header.recorder = "made up";
    options.declarations.processes.push_back({ProcessId{1}, 1, "here", "boot", "", "program"});
    for (const auto& [key, value] : made_up.infos) {
      options.declarations.infos.push_back({ProcessId{1}, key, value});
    }
    EventBatch batch;
    batch.start_ns = 1000;
    batch.declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 1, "main"});
    ScopeRun run;
    run.track = TrackId{1};
    std::int64_t now = batch.start_ns;
    for (const auto& [site_name, durations] : made_up.sites) {
      SiteDeclaration site;
      site.id = SiteId::from_index(batch.declarations.sites.size());
      site.line = made_up.line;
      site.name = site_name;
      site.function = "function_of " + site_name;
      site.file = name + "/source.cpp";
      batch.declarations.sites.push_back(site);
      for (const std::int64_t duration : durations) {
        run.events.push_back({now, site.id, 0, 0});
        now += duration;
        run.events.push_back({now++, {}, 0, 0});
      }
    }
    run.end_sequence = run.events.size();
    batch.end_ns = now;
    batch.runs.push_back(std::move(run));
    for (const auto& [metric, values] : made_up.metrics) {
      MetricDeclaration declared;
      declared.id = MetricId::from_index(batch.declarations.metrics.size());
      declared.name = metric.first;
      declared.unit = metric.second;
      SampleRun samples;
      samples.metric = declared.id;
      samples.values = values;
      for (std::size_t i = 0; i < values.size(); ++i) {
        samples.times_ns.push_back(batch.start_ns + static_cast<std::int64_t>(i));
      }
      batch.end_ns = std::max(batch.end_ns, batch.start_ns + static_cast<std::int64_t>(values.size()));
      batch.declarations.metrics.push_back(declared);
      batch.samples.push_back(std::move(samples));
    }
    std::string path = file_named(name + ".kymo");
    capture::CaptureWriter writer(path, std::move(options));
    writer.write(batch);
    writer.finish();
    return path;
  }

  /// The result as JSON; by name of what was compared.
  std::map<std::string, nlohmann::json> compare(std::vector<std::string> arguments, nlohmann::json* all = nullptr) {
    arguments.insert(arguments.begin(), {"compare", "--json"});
    const CommandResult result = kymo(arguments);
    status_ = result.status;
    EXPECT_TRUE(nlohmann::json::accept(result.out)) << result.err;
    nlohmann::json json = nlohmann::json::parse(result.out, nullptr, false);
    std::map<std::string, nlohmann::json> things;
    for (const auto& thing : json["compared"]) {
      things[thing["name"].get<std::string>()] = thing;
    }
    if (all != nullptr) {
      *all = std::move(json);
    }
    return things;
  }

  int status_ = 0;
};

TEST_F(CompareTest, FindsWhatGotSlowerAndFasterAndNothingElse) {
  MadeUpRun before;
  MadeUpRun after;
  after.line = 25;
  for (int i = 0; i < 20; ++i) {
    const auto seed = static_cast<std::uint32_t>(100 + i);
    before.sites["steady " + std::to_string(i)] = around(50'000, 0.1, 200, seed);
    after.sites["steady " + std::to_string(i)] = around(50'000, 0.1, 200, seed + 100);
  }
  before.sites["slower"] = around(100'000, 0.1, 200, 1);
  after.sites["slower"] = around(105'000, 0.1, 200, 2);
  before.sites["faster"] = around(100'000, 0.1, 20, 3);
  after.sites["faster"] = around(85'000, 0.1, 20, 4);
  before.metrics[{"load", "%"}] = std::vector<double>(30, 10);
  after.metrics[{"load", "%"}] = std::vector<double>(30, 90);
  const std::string base = write("before", before);
  const std::string changed = write("after", after);
  nlohmann::json all;
  auto things = compare({base, changed}, &all);
  EXPECT_EQ(status_, 0);
  ASSERT_EQ(things.size(), 23U);
  EXPECT_EQ(things["slower"]["verdict"], "worse here");
  EXPECT_NEAR(things["slower"]["median_change"].get<double>(), 0.05, 0.03);
  EXPECT_GT(things["slower"]["median_interval"][0].get<double>(), 0);
  EXPECT_EQ(things["slower"]["base"]["line"], 10);
  EXPECT_EQ(things["slower"]["new"]["line"], 25);
  EXPECT_EQ(things["faster"]["verdict"], "better here");
  EXPECT_EQ(things["load"]["verdict"], "differs here");
  for (int i = 0; i < 20; ++i) {
    const std::string verdict = things["steady " + std::to_string(i)]["verdict"];
    EXPECT_TRUE(verdict == "same here" || verdict == "unclear") << verdict;
  }
  EXPECT_EQ(compare({base, changed}), things) << "the same seed gives the same numbers";

  const CommandResult text = kymo({"compare", base, changed});
  EXPECT_NE(text.out.find("worse here   slower"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("hold for these recordings only"), std::string::npos) << text.out;
  const CommandResult csv = kymo({"compare", "--csv", base, changed});
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 24);
}

TEST_F(CompareTest, FailsOnRegressionsOfTheGivenSizeOnly) {
  MadeUpRun before;
  MadeUpRun after;
  before.sites["step"] = around(100'000, 0.05, 200, 1);
  after.sites["step"] = around(110'000, 0.05, 200, 2);
  const std::string base = write("before", before);
  const std::string changed = write("after", after);
  const auto judge = [&](const char* share, const std::string& from, const std::string& to) {
    return kymo({"compare", "--allow-few-runs", "--fail-on-regression", share, from, to});
  };
  EXPECT_EQ(judge("5%", base, changed).status, 4);
  EXPECT_EQ(judge("20%", base, changed).status, 0);
  EXPECT_EQ(judge("5%", changed, base).status, 0);
  EXPECT_EQ(judge("a bit", base, changed).status, 2);
  EXPECT_NE(judge("20%", base, changed).out.find("Nothing is worse by 20 % or more."), std::string::npos);
}

/// Runs of ten sites that all differ by 1 % from run to run, the first of them by `slowdown` between the sides.
std::vector<MadeUpRun> noisy_runs(std::size_t count, double slowdown, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<MadeUpRun> runs(count);
  for (MadeUpRun& run : runs) {
    for (int site = 0; site < 10; ++site) {
      const double level = 100'000 * noise(random) * (site == 0 ? 1 + slowdown : 1);
      run.sites["site " + std::to_string(site)] = around(level, 0.02, 60, static_cast<std::uint32_t>(random()));
    }
  }
  return runs;
}

TEST_F(CompareTest, RefusesToFailByFewerThanThreeRunsASide) {
  std::vector<std::string> paths;
  for (const double slowdown : {0.0, 0.1}) {
    for (const MadeUpRun& run : noisy_runs(3, slowdown, paths.empty() ? 1 : 2)) {
      paths.push_back(write("run " + std::to_string(paths.size()), run));
    }
  }
  const CommandResult few = kymo(
      {"compare", "--fail-on-regression", "5%", "--base", paths[0], paths[1], "--new", paths[3], paths[4], paths[5]});
  EXPECT_EQ(few.status, 2);
  EXPECT_NE(few.err.find("needs at least 3 captures a side"), std::string::npos) << few.err;
  EXPECT_NE(few.err.find("--allow-few-runs"), std::string::npos) << few.err;
  const CommandResult enough = kymo({"compare", "--fail-on-regression", "5%", "--base", paths[0], paths[1], paths[2],
                                     "--new", paths[3], paths[4], paths[5]});
  EXPECT_EQ(enough.status, 4) << enough.out << enough.err;
}

TEST_F(CompareTest, SaysWhatIsUnclearAndNeverThatNothingIsWorseBesideIt) {
  std::vector<std::string> arguments;
  int written = 0;
  for (const bool is_new : {false, true}) {
    arguments.emplace_back(is_new ? "--new" : "--base");
    for (const MadeUpRun& run : noisy_runs(3, is_new ? 0.02 : 0, is_new ? 4 : 3)) {
      arguments.push_back(write("run " + std::to_string(written++), run));
    }
  }
  nlohmann::json all;
  const auto things = compare(arguments, &all);
  const nlohmann::json& unclear = things.at("site 0");
  ASSERT_EQ(unclear["verdict"], "unclear") << unclear;
  EXPECT_GT(unclear["median_interval"][0].get<double>(), 0);
  EXPECT_GE(unclear["more_runs"].get<int>(), 1);
  EXPECT_LE(unclear["more_runs"].get<int>(), 6);
  arguments.insert(arguments.begin(), {"compare", "--fail-on-regression", "1%"});
  const CommandResult text = kymo(arguments);
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out.find("Nothing is worse"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("unclear; what would settle it"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("scope site 0 (about " + std::to_string(unclear["more_runs"].get<int>()) + " more run"),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("It is not ruled out for"), std::string::npos) << text.out;
  arguments[2] = "90%";
  EXPECT_EQ(kymo(arguments).out.find("Nothing is worse"), std::string::npos);
}

TEST_F(CompareTest, OfRunsThatVaryAmongThemselvesSaysSame) {
  // Each run has a level of its own, which has nothing to do with its side.
  const std::vector<double> levels[2] = {{100'000, 130'000, 90'000, 115'000}, {128'000, 104'000, 118'000, 94'000}};
  std::vector<std::string> sides[2];
  std::uint32_t seed = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const double level : levels[side]) {
      MadeUpRun made_up;
      made_up.sites["step"] = around(level, 0.02, 300, ++seed);
      made_up.sites["slower"] = around(level * (side == 0 ? 1 : 3), 0.02, 300, ++seed);
      sides[side].push_back(write("run " + std::to_string(seed), made_up));
    }
  }
  std::vector<std::string> arguments{"--base"};
  arguments.insert(arguments.end(), sides[0].begin(), sides[0].end());
  arguments.emplace_back("--new");
  arguments.insert(arguments.end(), sides[1].begin(), sides[1].end());
  auto things = compare(arguments);
  EXPECT_EQ(things["step"]["compared"], "runs");
  EXPECT_EQ(things["step"]["verdict"], "same");
  EXPECT_EQ(things["slower"]["verdict"], "worse");
  // One run a side cannot tell.
  EXPECT_EQ(compare({sides[0][0], sides[1][0]})["step"]["verdict"], "worse here");
}

TEST_F(CompareTest, SaysWhatCannotBeCompared) {
  MadeUpRun before;
  MadeUpRun after;
  before.sites["once"] = {1000};
  after.sites["once"] = {9000};
  before.sites["gone"] = {1, 2, 3};
  after.sites["come"] = {1, 2, 3};
  before.metrics[{"size", "kB"}] = {1, 2, 3};
  after.metrics[{"size", "MB"}] = {1, 2, 3};
  const std::string base = write("before", before);
  const std::string changed = write("after", after);
  nlohmann::json all;
  auto things = compare({base, changed}, &all);
  EXPECT_EQ(things["once"]["verdict"], "too few samples");
  EXPECT_TRUE(things["once"]["p_value"].is_null());
  EXPECT_EQ(all["only_in_base"][0]["name"], "gone");
  EXPECT_EQ(all["only_in_new"][0]["name"], "come");
  EXPECT_EQ(all["other_units"][0]["new_unit"], "MB");
  const CommandResult text = kymo({"compare", base, changed});
  EXPECT_NE(text.out.find("too few samples  once"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("Not compared: metric size"), std::string::npos) << text.out;

  after.sites.erase("once");
  const CommandResult nothing = kymo({"compare", base, write("other", after)});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_NE(nothing.err.find("nothing in common"), std::string::npos) << nothing.err;
}

TEST_F(CompareTest, WarnsOfOtherMachinesPowerModesAndBuilds) {
  MadeUpRun before;
  before.sites["step"] = around(1000, 0.1, 30, 1);
  MadeUpRun after = before;
  before.infos = {
      {"cpu", "slow"}, {"cpu_governor", "powersave"}, {"build_id", "aa"}, {"started", "then"}, {"starter", "4711"}};
  after.infos = {
      {"cpu", "fast"}, {"cpu_governor", "performance"}, {"build_id", "bb"}, {"started", "now"}, {"starter", "4712"}};
  const CommandResult result = kymo({"compare", write("before", before), write("after", after)});
  EXPECT_EQ(result.status, 0);
  for (const char* const text :
       {"cpu differs (slow in base, fast in new)", "cpu_governor differs", "the build differs"}) {
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }
  EXPECT_EQ(result.err.find("start"), std::string::npos) << result.err;
}

TEST_F(CompareTest, PagesAreOfOnePieceAndEscapeEveryName) {
  MadeUpRun before;
  before.sites["<script>alert(1)</script> & \"quoted\" 'too' \x1b\xff"] = around(1000, 0.1, 30, 1);
  before.infos = {{"label.<b>", "<i>"}};
  const MadeUpRun after = before;
  const CommandResult result =
      kymo({"compare", "--html", file_named("page.html"), write("before", before), write("after", after)});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string page = read_text(file_named("page.html"));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<i>"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot; &#39;too&#39;"),
            std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_EQ(kymo({"compare", "--html", "/dev/full", file_named("before.kymo"), file_named("after.kymo")}).status, 1);
}

TEST_F(CompareTest, OnATerminalNoLineIsWiderAndInAPipeNothingIsBroken) {
  MadeUpRun base;
  MadeUpRun changed;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "scene::Renderer<scene::Forward>::draw(const scene::Mesh&) " + std::to_string(i);
    base.sites[name] = around(1e6, 0.1, 20, 1);
    changed.sites[name] = around(1.04e6, 0.1, 20, 2);
    base.sites["only before " + name] = around(1e6, 0.1, 20, 3);
  }
  base.metrics[{"loss", "s"}] = {1, 2, 3};
  changed.metrics[{"loss", "ms"}] = {1, 2, 3};
  const std::vector<std::string> arguments{"compare", "--fail-on-regression=30 %", "--allow-few-runs",
                                           write("base", base), write("new", changed)};
  const CommandResult piped = kymo(arguments);
  EXPECT_GT(widest_line(piped.out), 120U) << piped.out << piped.err;
  for (const std::size_t columns : {40U, 60U, 80U, 120U}) {
    const std::string shown = on_terminal(arguments, columns);
    EXPECT_NE(shown.find("change"), std::string::npos) << shown;
    EXPECT_TRUE(columns < 60 || shown.find("95 %") != std::string::npos) << shown;
    EXPECT_LE(widest_line(shown), columns) << shown;
    EXPECT_NE(shown.find("Only in base"), std::string::npos);
    EXPECT_NE(shown.find("Not compared"), std::string::npos);
  }
}

}  // namespace
}  // namespace kymo::test
