// The command line: help, usage, exit codes, tables and JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <unistd.h>

#include "command_fixture.hpp"

namespace kymo::test {
namespace {

const std::vector<std::string> subcommands{"record", "info",    "stats",   "report",       "export", "import",
                                           "merge",  "recover", "trigger", "setup-jetson", "doctor", "top"};

class CommandLine : public CommandTest {};

TEST_F(CommandLine, HelpOfEverySubcommandWorksAndShowsAnExample) {
  const CommandResult top = kymo({"--help"});
  EXPECT_EQ(top.status, 0);
  for (const std::string& name : subcommands) {
    EXPECT_NE(top.out.find("\n  " + name), std::string::npos) << name;
    const CommandResult help = kymo({name, "--help"});
    EXPECT_EQ(help.status, 0) << name;
    EXPECT_EQ(help.err, "") << name;
    EXPECT_NE(help.out.find("Examples:\n"), std::string::npos) << name;
    EXPECT_NE(help.out.find("kymo " + name), std::string::npos) << name;
  }
  EXPECT_NE(top.out.find("Exit codes:"), std::string::npos);
}

TEST_F(CommandLine, WhatMakesNoSenseIsAUsageError) {
  const std::string capture = make_capture("a.kymo");
  const std::vector<std::vector<std::string>> wrong{{"bogus"},
                                                    {"--bogus"},
                                                    {"info"},
                                                    {"info", "--bogus", capture},
                                                    {"stats", "--sort", "colour", capture},
                                                    {"stats", "--top", "many", capture},
                                                    {"export", capture},
                                                    {"export", "--to", "cheese", "-o", "x", capture},
                                                    {"merge", capture},
                                                    {"merge", "--level", "99", "-o", "x", capture},
                                                    {"trigger", "me"},
                                                    {"trigger", "0"},
                                                    {"setup-jetson", "--undo", "--persist"},
                                                    {"setup-jetson", "now"},
                                                    {"record"},
                                                    {"record", "--"},
                                                    {"record", "--bogus", "--", "true"}};
  for (const auto& arguments : wrong) {
    const CommandResult result = kymo(arguments);
    std::string words;
    for (const std::string& argument : arguments) {
      words += argument + " ";
    }
    EXPECT_EQ(result.status, 2) << words;
    EXPECT_EQ(result.out, "") << words;
    EXPECT_NE(result.err, "") << words;
  }
}

TEST_F(CommandLine, NumbersOutOfRangeAreToldWhatIsAllowed) {
  const std::string capture = make_capture("a.kymo");
  EXPECT_EQ(
      kymo({"record", "--pid", "me"}).err.find("kymo record: --pid: me is no whole number from 1 to 2147483647\n"), 0U);
  EXPECT_EQ(kymo({"report", "--top", "0", capture}).err.find("kymo report: --top: 0 is no whole number from 1\n"), 0U);
  EXPECT_EQ(kymo({"stats", "--energy", "--idle-watts", "-3", capture})
                .err.find("kymo stats: --idle-watts: -3 is no number from 0\n"),
            0U);
}

TEST_F(CommandLine, AloneItPrintsItsHelp) {
  const CommandResult alone = kymo({});
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(alone.out, kymo({"--help"}).out);
}

TEST_F(CommandLine, MisspelledWordsAreToldWhatWasMeantAndWhatThereIs) {
  const std::string capture = make_capture("a.kymo");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"statz", capture}, "kymo: there is no command statz; did you mean stats?"},
      {{"xyzzy"}, "kymo: there is no command xyzzy\n"},
      {{"stats", "--srot", "self", capture}, "kymo stats: there is no option --srot; did you mean --sort?"},
      {{"stats", "--sort=self", "--josn=1", capture}, "there is no option --josn; did you mean --json?"},
      {{"record", "--scopess", "--", "true"}, "kymo record: there is no option --scopess"},
      {{"export", "--to", "chrom", "-o", "x", capture},
       "chrom is no format; did you mean chrome? There are: chrome, perfetto"},
      {{"export", "--to", "cheese", "-o", "x", capture}, "cheese is no format. There are: chrome, perfetto"},
      {{"stats", "--by", "tread", capture}, "tread is no way to keep rows apart; did you mean thread?"},
      {{"stats", "--by", "thread", "--tree", capture}, "--by thread: is a view of its own"},
      {{"stats", "--phase", "one", capture}, "--phase: one is no whole number from 0"},
      {{"merge", "-o", "-", capture}, "a capture is written to a file"}};
  for (const auto& [arguments, said] : cases) {
    const CommandResult result = kymo(arguments);
    EXPECT_EQ(result.status, 2) << said;
    EXPECT_NE(result.err.find(said), std::string::npos) << "wanted: " << said << "\ngot: " << result.err;
    EXPECT_NE(result.err.find("--help`"), std::string::npos) << result.err;
  }
}

TEST_F(CommandLine, AnExportTakesThePartThatStatsTakes) {
  static_cast<void>(make_capture("a.kymo", {.seed = 3, .steps = 900, .closes_all = true}));
  for (const std::vector<std::string>& part : std::vector<std::vector<std::string>>{
           {"--time", "1ms..2ms"}, {"--frames", "5..20"}, {"--thread", "thread 1", "--time", "1ms.."}}) {
    std::vector<std::string> exporting{"export", "--to", "csv-spans", "-o", "-", "a.kymo"};
    std::vector<std::string> counting{"stats", "--json", "--decode", "a.kymo"};
    exporting.insert(exporting.end(), part.begin(), part.end());
    counting.insert(counting.end(), part.begin(), part.end());
    const auto stats = nlohmann::json::parse(kymo(counting).out);
    std::uint64_t counted = 0;
    for (const char* const kind : {"sites", "spans"}) {
      for (const auto& row : stats[kind]) {
        counted += row["count"].get<std::uint64_t>();
      }
    }
    const std::string rows = kymo(exporting).out;
    EXPECT_EQ(static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), '\n')) - 1, counted) << part[0];
    EXPECT_GT(counted, 10U);
  }
  const CommandResult nothing = kymo({"export", "--to", "chrome", "-o", "x", "--thread", "none", "a.kymo"});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_NE(nothing.err.find("no thread is called none"), std::string::npos) << nothing.err;
}

TEST_F(CommandLine, AReaderThatHasEnoughEndsItQuietly) {
  static_cast<void>(make_capture("a.kymo", {.seed = 1, .steps = 4000}));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"export", "--to", "csv-spans", "-o", "-", "a.kymo"},
                                             {"export", "--to", "chrome", "-o", "/dev/stdout", "a.kymo"},
                                             {"stats", "--json", "--histogram", "a.kymo"},
                                             {"info", "a.kymo"}}) {
    // The reader has ended before anything is written.
    std::vector<std::string> script{"/bin/sh", "-c",
                                    "mkfifo gone; (exec 3<gone; exec 3<&-) & exec 4>gone; wait; rm gone; \"$@\" >&4; "
                                    "echo $? >status",
                                    "sh"};
    for (const std::string& word : kymo_words(arguments)) {
      script.push_back(word);
    }
    static_cast<void>(run_any(script));
    EXPECT_EQ(read_text(file_named("status")), "0\n") << arguments[0];
    EXPECT_EQ(read_text(file_named("err")).find("roken"), std::string::npos) << read_text(file_named("err"));
  }
}

TEST_F(CommandLine, ADashIsStandardOutput) {
  static_cast<void>(make_capture("a.kymo"));
  const CommandResult table = kymo({"export", "--to", "csv-frames", "-o", "-", "a.kymo"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(table.out.rfind("process,", 0), 0U) << table.out;
  const CommandResult page = kymo({"report", "-o", "-", "a.kymo"});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_EQ(page.out.rfind("<!", 0), 0U) << page.out.substr(0, 80);
  EXPECT_FALSE(std::filesystem::exists(file_named("-")));
}

TEST_F(CommandLine, InfoAsJsonHasEverythingThatItsSchemaNames) {
  static_cast<void>(make_capture("a.kymo", {.seed = 5, .steps = 800}));
  const CommandResult result = kymo({"info", "--json", "a.kymo"});
  EXPECT_EQ(result.status, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_TRUE(json["start_ns"].is_number_integer());
  EXPECT_LT(json["start_ns"].get<std::int64_t>(), json["end_ns"].get<std::int64_t>());
  ASSERT_EQ(json["captures"].size(), 1U);
  const auto& capture = json["captures"][0];
  EXPECT_EQ(capture["path"], "a.kymo");
  EXPECT_EQ(capture["bytes"], std::filesystem::file_size(file_named("a.kymo")));
  EXPECT_EQ(capture["is_closed"], true);
  EXPECT_EQ(capture["recorder"], "model");
  EXPECT_TRUE(capture["blocks"]["events"]["count"].is_number_unsigned());
  EXPECT_TRUE(capture["damages"].empty());
  ASSERT_EQ(json["processes"].size(), 1U);
  EXPECT_EQ(json["processes"][0]["pid"], 100);
  EXPECT_EQ(json["processes"][0]["alignment"], "same_boot");
  EXPECT_EQ(json["processes"][0]["infos"]["cpu"], "a model");
  ASSERT_EQ(json["tracks"].size(), 5U);
  EXPECT_EQ(json["tracks"][0]["kind"], "thread");
  EXPECT_GT(json["tracks"][0]["recorded_scopes"].get<int>(), 0);
  EXPECT_TRUE(json["tracks"][0]["dropped_scopes"].is_number_unsigned());
  ASSERT_EQ(json["metrics"].size(), 1U);
  EXPECT_EQ(json["metrics"][0]["unit"], "1");
  EXPECT_EQ(json["frame_streams"].size(), 1U);
  EXPECT_EQ(json["site_count"], 12);
  EXPECT_TRUE(json["open_spans"].is_array());
  EXPECT_TRUE(json["warnings"].is_array());
}

TEST_F(CommandLine, StatsAsJsonHasEverythingThatItsSchemaNames) {
  static_cast<void>(make_capture("a.kymo", {.seed = 6, .steps = 800}));
  const CommandResult result = kymo({"stats", "--json", "--sort", "name", "a.kymo"});
  EXPECT_EQ(result.status, 0);
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_FALSE(json["sites"].empty());
  for (const auto& site : json["sites"]) {
    for (const char* key : {"count", "total_ns", "self_ns", "min_ns", "p50_ns", "p95_ns", "p99_ns", "p99_9_ns",
                            "max_ns", "line", "unbalanced"}) {
      EXPECT_TRUE(site[key].is_number_integer()) << key;
    }
    EXPECT_TRUE(site["mean_ns"].is_number());
    for (const char* key : {"name", "function", "file"}) {
      EXPECT_TRUE(site[key].is_string()) << key;
    }
    EXPECT_LE(site["min_ns"].get<std::int64_t>(), site["p50_ns"].get<std::int64_t>());
    EXPECT_LE(site["p99_ns"].get<std::int64_t>(), site["p99_9_ns"].get<std::int64_t>());
    EXPECT_LE(site["p99_9_ns"].get<std::int64_t>(), site["max_ns"].get<std::int64_t>());
  }
  EXPECT_TRUE(std::is_sorted(json["sites"].begin(), json["sites"].end(), [](const auto& a, const auto& b) {
    return a["name"].template get<std::string>() < b["name"].template get<std::string>();
  }));
  ASSERT_EQ(json["frame_streams"].size(), 1U);
  EXPECT_GT(json["frame_streams"][0]["count"].get<int>(), 0);
  ASSERT_EQ(json["metrics"].size(), 1U);
  EXPECT_EQ(json["metrics"][0]["name"], "load");
  for (const char* key : {"min", "mean", "max", "last"}) {
    EXPECT_TRUE(json["metrics"][0][key].is_number()) << key;
  }
  EXPECT_FALSE(json["spans"].empty());
}

TEST_F(CommandLine, SitesAreSortedByEveryColumn) {
  static_cast<void>(make_capture("a.kymo", {.seed = 6, .steps = 800}));
  for (const std::string column :
       {"self", "total", "count", "mean", "min", "p50", "p95", "p99", "p99.9", "max", "line"}) {
    const CommandResult result = kymo({"stats", "--json", "--sort", column == "line" ? "where" : column, "a.kymo"});
    ASSERT_EQ(result.status, 0) << column << result.err;
    std::string key = column == "p99.9" ? "p99_9" : column;
    key += column == "count" || column == "line" ? "" : "_ns";
    std::vector<double> values;
    const auto json = nlohmann::json::parse(result.out);
    for (const auto& site : json["sites"]) {
      values.push_back((column == "line" ? -1.0 : 1.0) * site[key].get<double>());
    }
    EXPECT_GT(values.size(), 5U);
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend())) << column;
  }
  const CommandResult unknown = kymo({"stats", "--sort", "cpu", "a.kymo"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("kymo record --threads"), std::string::npos) << unknown.err;
}

TEST_F(CommandLine, ThreadsAreKeptApartAlsoWhereTheyShareAName) {
  static_cast<void>(make_capture("a.kymo", {.seed = 7, .steps = 2000}));
  static_cast<void>(make_capture("b.kymo", {.seed = 8, .steps = 2000, .pid = 200}));
  using Figures = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;  // count and self time by site
  const auto of = [&](const std::vector<std::string>& options, const char* list) {
    std::vector<std::string> arguments{"stats", "--json", "a.kymo", "b.kymo"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto json = nlohmann::json::parse(kymo(arguments).out);
    Figures figures;
    for (const auto& row : json[list]) {
      auto& [count, self_ns] = figures[row["name"].get<std::string>()];
      count += row["count"].get<std::uint64_t>();
      self_ns += row["self_ns"].get<std::uint64_t>();
    }
    return figures;
  };
  const Figures all = of({}, "sites");
  EXPECT_GT(all.size(), 5U);
  EXPECT_EQ(of({"--by", "thread"}, "threads"), all);
  EXPECT_EQ(of({"--by", "thread", "--thread", "thread 1"}, "threads"), of({"--thread", "thread 1"}, "sites"));
  EXPECT_EQ(of({"--by", "thread", "--time", "0s..20us"}, "threads"), of({"--time", "0s..20us"}, "sites"));
  std::set<std::pair<int, std::string>> threads;
  const auto json = nlohmann::json::parse(kymo({"stats", "--by", "thread", "--json", "a.kymo", "b.kymo"}).out);
  for (const auto& row : json["threads"]) {
    threads.insert({row["pid"].get<int>(), row["thread"].get<std::string>()});
  }
  EXPECT_EQ(threads.count({100, "thread 1"}) + threads.count({200, "thread 1"}), 2U);
  EXPECT_EQ(kymo({"stats", "--by", "thread", "a.kymo"}).out.find("thread 1 1"), std::string::npos);
  EXPECT_NE(kymo({"stats", "--by", "thread", "a.kymo", "b.kymo"}).out.find("thread 1 1"), std::string::npos);
}

TEST_F(CommandLine, StatsFromSummariesAndFromEventsAreTheSame) {
  static_cast<void>(make_capture("a.kymo", {.seed = 7, .steps = 3000}));
  EXPECT_EQ(kymo({"stats", "a.kymo"}).out, kymo({"stats", "--decode", "a.kymo"}).out);
}

TEST_F(CommandLine, TablesAreAlignedAndNamesCannotSteerTheTerminal) {
  static_cast<void>(make_capture("a.kymo", {.seed = 8, .steps = 500, .prefix = "\x1b[31m\n\xff\"\xc2\x9b "}));
  for (const char* command : {"info", "stats"}) {
    const CommandResult result = kymo({command, "a.kymo"});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << command;
    EXPECT_EQ(result.out.find("\xc2\x9b"), std::string::npos) << command;
    EXPECT_NE(result.out.find("\\x1b[31m\\x0a\xEF\xBF\xBD\""), std::string::npos) << result.out;
    const CommandResult json = kymo({command, "--json", "a.kymo"});
    EXPECT_TRUE(nlohmann::json::accept(json.out)) << command;
  }
  static_cast<void>(make_capture("b.kymo", {.seed = 8, .steps = 500}));
  const std::string table = kymo({"stats", "--top", "3", "b.kymo"}, {{"LC_ALL", "C"}}).out;
  const std::size_t begin = table.find("\nscope") + 1;
  const std::size_t first = table.find('\n', begin);
  const std::size_t second = table.find('\n', first + 1);
  EXPECT_EQ(first - begin, second - first - 1) << table;
  EXPECT_NE(table.find("more; --top"), std::string::npos);
}

TEST_F(CommandLine, DropsAreOnTop) {
  static_cast<void>(make_capture("a.kymo", {.seed = 9, .steps = 1000}));
  const std::string info = kymo({"info", "a.kymo"}).err;
  EXPECT_NE(info.find("were dropped"), std::string::npos) << info;
  const std::string stats = kymo({"stats", "a.kymo"}).err;
  EXPECT_EQ(stats.substr(0, stats.find('\n')), info.substr(0, info.find('\n'))) << "scopes that are open count as well";
}

TEST_F(CommandLine, SeveralCapturesOfAProcessAreOneProcess) {
  std::filesystem::create_directory(file_named("all"));
  static_cast<void>(make_capture("all/1.kymo", {.seed = 1, .pid = 5}));
  static_cast<void>(make_capture("all/2.kymo", {.seed = 2, .start_ns = 900'000'000'000, .pid = 5}));
  const std::string one = kymo({"stats", "all/1.kymo"}).out;
  const std::string both = kymo({"stats", "all"}).out;
  EXPECT_NE(one.find(" on 3 threads, "), std::string::npos) << one;
  EXPECT_NE(both.find(" on 3 threads, "), std::string::npos) << both;
  static_cast<void>(make_capture("all/3.kymo", {.seed = 2, .pid = 6}));
  const std::string three = kymo({"stats", "all"}).out;
  EXPECT_NE(three.find(" in 2 processes, "), std::string::npos) << three;
  const auto json = nlohmann::json::parse(kymo({"stats", "--json", "all"}).out);
  EXPECT_EQ(json["sites"][0]["processes"], 2);
  EXPECT_EQ(json["metrics"][0]["processes"], 2);
}

TEST_F(CommandLine, InAPipeThereIsNoProgressBar) {
  static_cast<void>(make_capture("a.kymo", {.seed = 9, .steps = 4000}));
  const CommandResult result = kymo({"stats", "--decode", "a.kymo"});
  EXPECT_EQ(result.err.find('\r'), std::string::npos);
  EXPECT_EQ(result.out.find('\r'), std::string::npos);
}

TEST_F(CommandLine, AFullDiskBehindStdoutIsAnError) {
  static_cast<void>(make_capture("a.kymo"));
  EXPECT_EQ(kymo({"info", "a.kymo"}, {}, ">/dev/full 2>err").status, 1);
}

TEST_F(CommandLine, ExportWritesATraceOfEverySpan) {
  static_cast<void>(make_capture("a.kymo", {.seed = 10, .steps = 1500, .closes_all = true}));
  static_cast<void>(make_capture("b.kymo", {.seed = 11, .steps = 500, .pid = 200, .closes_all = true}));
  EXPECT_EQ(kymo({"export", "--to", "chrome", "-o", "trace.json", "a.kymo", "b.kymo"}).status, 0);
  const auto trace = nlohmann::json::parse(read_text(file_named("trace.json")));
  std::size_t scopes = 0;
  std::set<int> processes;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["name"].get<std::string>().rfind("site", 0) == 0) {
      ++scopes;
      processes.insert(event["pid"].get<int>());
    }
  }
  std::size_t expected = 0;
  for (const ModelOptions& options : {ModelOptions{.seed = 10, .steps = 1500, .closes_all = true},
                                      ModelOptions{.seed = 11, .steps = 500, .pid = 200, .closes_all = true}}) {
    const RecordingModel model(options);
    for (const TrueSpan& span : model.truth().spans) {
      expected += span.name.rfind("site", 0) == 0 ? 1U : 0U;
    }
  }
  EXPECT_EQ(scopes, expected);
  EXPECT_EQ(processes, (std::set<int>{100, 200}));
  EXPECT_EQ(kymo({"export", "--to", "chrome", "-o", "/nonexistent/trace.json", "a.kymo"}).status, 1);
}

TEST_F(CommandLine, MergePutsCapturesTogetherAndOverwritesNothing) {
  static_cast<void>(make_capture("a.kymo", {.seed = 12, .steps = 500, .pid = 1}));
  static_cast<void>(make_capture("b.kymo", {.seed = 13, .steps = 500, .pid = 2}));
  EXPECT_EQ(kymo({"merge", "-o", "all.kymo", "a.kymo", "b.kymo"}).status, 0);
  const CommandResult again = kymo({"merge", "-o", "all.kymo", "a.kymo", "b.kymo"});
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.out.find("all-1.kymo"), std::string::npos) << again.out;
  auto merged = nlohmann::json::parse(kymo({"stats", "--json", "all.kymo"}).out);
  auto apart = nlohmann::json::parse(kymo({"stats", "--json", "a.kymo", "b.kymo"}).out);
  // Larger blocks hold more scopes beside those that their thread dropped.
  for (nlohmann::json* const sites : {&merged["sites"], &apart["sites"]}) {
    for (nlohmann::json& site : *sites) {
      site.erase("self_is_bound");
    }
  }
  EXPECT_EQ(merged["sites"], apart["sites"]);
  EXPECT_EQ(merged["metrics"], apart["metrics"]);
  EXPECT_EQ(nlohmann::json::parse(kymo({"info", "--json", "all.kymo"}).out)["processes"].size(), 2U);
}

TEST_F(CommandLine, RecoverOfAClosedCaptureLeavesItAsItIs) {
  const std::string before = read_text(make_capture("a.kymo"));
  const CommandResult result = kymo({"recover", "a.kymo"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("nothing to recover"), std::string::npos);
  EXPECT_EQ(read_text(file_named("a.kymo")), before);
}

TEST_F(CommandLine, RecoverOfACaptureWithoutAnEndClosesItAndKeepsAllOfIt) {
  static_cast<void>(make_capture("a.kymo", {.seed = 14, .steps = 1500}, false));
  const auto before = nlohmann::json::parse(kymo({"stats", "--json", "a.kymo"}).out);
  const CommandResult result = kymo({"recover", "a.kymo"});
  EXPECT_EQ(result.status, 0) << result.err;
  const auto after = nlohmann::json::parse(kymo({"stats", "--json", "a.kymo"}).out);
  EXPECT_EQ(after["sites"], before["sites"]);
  EXPECT_EQ(after["spans"], before["spans"]);
  EXPECT_EQ(after["metrics"], before["metrics"]);
  EXPECT_EQ(nlohmann::json::parse(kymo({"info", "--json", "a.kymo"}).out)["captures"][0]["is_closed"], true);
}

TEST_F(CommandLine, DoctorListsEverySensorAndWhyItDoesNotWork) {
  const CommandResult result = kymo({"doctor", "--json", "--sensors", "memory,nvml,rapl"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  for (const auto& sensor : report["sensors"]) {
    EXPECT_EQ(sensor["state"] == "works", sensor["trouble"] == "") << sensor;
    if (sensor["sensor"] == "memory") {
      EXPECT_EQ(sensor["state"], "works");
      EXPECT_GT(sensor["metrics"], 0);
      EXPECT_GT(sensor["read_ns"], 0);
      EXPECT_GT(sensor["fastest_hz"], 0);
      EXPECT_GT(sensor["read_cpu_ns"], 0);
      // What it advises is what `record` takes.
      EXPECT_EQ(kymo({"record", "-o", "advised.kymo", "--sensors", "memory", "--sensor-hz", sensor["sensor_hz"], "--",
                      "/bin/true"})
                    .status,
                0);
    }
  }
  const CommandResult nowhere = kymo({"doctor", "--json", "--root", directory_.path().string()});
  ASSERT_EQ(nowhere.status, 0) << nowhere.err;
  const auto empty_report = nlohmann::json::parse(nowhere.out);
  for (const auto& sensor : empty_report["sensors"]) {
    EXPECT_EQ(sensor["state"], "no") << sensor;
    EXPECT_NE(sensor["trouble"], "");
  }
  EXPECT_EQ(kymo({"doctor", "--sensors", "nothing"}).status, 2);
}

TEST_F(CommandLine, DoctorFitsTheTerminal) {
  const test::TemporaryDirectory nothing;
  const std::pair<std::string, std::size_t> cases[]{{"/", 40}, {nothing.path().string(), 80}};
  for (const auto& [root, columns] : cases) {
    const std::string shown = on_terminal({"doctor", "--root", root}, columns);
    EXPECT_LE(widest_line(shown), columns) << shown;
    EXPECT_NE(shown.find("clock: "), std::string::npos);
    EXPECT_TRUE(root != "/" || shown.find("fastest") != std::string::npos) << shown;
  }
}

TEST_F(CommandLine, TopWithoutATerminalPrintsWhatThereIsOnce) {
  const CommandResult machine = kymo({"top", "-i", "0.05", "--sensors", "memory"});
  ASSERT_EQ(machine.status, 0) << machine.err;
  EXPECT_NE(machine.out.find("memory_available"), std::string::npos);
  EXPECT_EQ(machine.out.find('\033'), std::string::npos) << "no terminal's codes in a pipe";
  const auto json = nlohmann::json::parse(kymo({"top", "-i", "0.05", "--sensors", "memory", "--json"}).out);
  bool has_memory = false;
  for (const auto& metric : json["metrics"]) {
    has_memory = has_memory || (metric["name"] == "memory_available" && metric["unit"] == "B" && metric["value"] > 0);
  }
  EXPECT_TRUE(has_memory) << json;
  bool has_parent = false;
  for (const auto& process : json["processes"]) {
    has_parent = has_parent || process["pid"] == ::getpid();
  }
  EXPECT_TRUE(has_parent || json["processes"].size() == 200) << "the processes by CPU";
  EXPECT_EQ(kymo({"top", "no-such-capture.kymo"}).status, 1);
  EXPECT_EQ(kymo({"top", "-i", "0"}).status, 2);
}

}  // namespace
}  // namespace kymo::test
