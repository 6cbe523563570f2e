// What the commands write, and what they leave alone: files of the user, closed and full descriptors.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "capture/write/capture_writer.hpp"
#include "command_fixture.hpp"

namespace kymo::test {
namespace {

class Output : public CommandTest {
 protected:
  void write_file(const std::string& name, const std::string& text) const { std::ofstream(file_named(name)) << text; }
};

TEST_F(Output, NoCommandOverwritesAFileThatKymoDidNotWrite) {
  static_cast<void>(make_capture("run.kymo"));
  const std::string capture = read_text(file_named("run.kymo"));
  const std::vector<std::vector<std::string>> commands{
      {"export", "--to", "chrome", "-o", "thesis", "run.kymo"},
      {"export", "--to", "perfetto", "-o", "thesis", "run.kymo"},
      {"export", "--to", "collapsed", "-o", "thesis", "run.kymo"},
      {"export", "--to", "csv-spans", "-o", "thesis", "run.kymo"},
      {"export", "--to", "csv-frames", "-o", "thesis", "run.kymo"},
      {"export", "--to", "csv-metrics", "-o", "thesis", "run.kymo"},
      {"export", "--to", "arrow", "-o", "thesis", "run.kymo"},
      {"export", "--to", "parquet", "-o", "thesis", "run.kymo"},
      {"export", "--to", "openmetrics", "-o", "thesis", "run.kymo"},
      {"report", "-o", "thesis", "run.kymo"},
      {"compare", "--html", "thesis", "run.kymo", "run.kymo"},
  };
  for (std::vector<std::string> command : commands) {
    const std::string what = command[0] + " " + command[2];
    write_file("thesis", "years of work");
    CommandResult result = kymo(command);
    EXPECT_EQ(result.status, 1) << what;
    EXPECT_NE(result.err.find("--force"), std::string::npos) << what << ": " << result.err;
    EXPECT_EQ(read_text(file_named("thesis")), "years of work") << what;
    command.emplace_back("--force");
    result = kymo(command);
    EXPECT_NE(result.status, 1) << what << ": " << result.err;
    EXPECT_NE(read_text(file_named("thesis")), "years of work") << what;
    // Its own capture not even then.
    const auto target = std::find(command.begin(), command.end(), "thesis");
    *target = "run.kymo";
    EXPECT_EQ(kymo(command).status, 1) << what;
    EXPECT_EQ(read_text(file_named("run.kymo")), capture) << what;
  }
}

TEST_F(Output, FilesOfTheSameKindAreRenewed) {
  static_cast<void>(make_capture("run.kymo"));
  static_cast<void>(make_capture("other.kymo", {.seed = 2, .steps = 500}));
  for (const std::string format : {"chrome", "perfetto", "csv-spans", "csv-frames", "csv-metrics", "arrow"}) {
    const std::string out = "out." + format;
    EXPECT_NE(kymo({"export", "--to", format, "-o", out, "other.kymo"}).status, 1) << format;
    const std::string before = read_text(file_named(out));
    const CommandResult result = kymo({"export", "--to", format, "-o", out, "run.kymo"});
    EXPECT_NE(result.status, 1) << format << ": " << result.err;
    EXPECT_NE(read_text(file_named(out)), before) << format;
  }
  EXPECT_NE(kymo({"report", "-o", "page.html", "other.kymo"}).status, 1);
  EXPECT_NE(kymo({"report", "-o", "page.html", "run.kymo"}).status, 1);
  EXPECT_EQ(kymo({"export", "--to", "chrome", "-o", "page.html", "run.kymo"}).status, 1) << "of another kind";
}

constexpr const char* hostile =
    "\x1b]0;title\a\x7f\b\xc2\x9b"
    "31m\x9b";

void expect_harmless(const CommandResult& result, const std::vector<std::string>& command) {
  const std::string shown = result.out + result.err;
  EXPECT_NE(shown, "") << command[0];
  for (const char* const control : {"\x1b", "\a", "\b", "\x7f", "\xc2\x9b"}) {
    EXPECT_EQ(shown.find(control), std::string::npos)
        << ::testing::PrintToString(command) << ::testing::PrintToString(std::string(control)) << shown.substr(0, 2000);
  }
  for (std::size_t at = shown.find('\x9b'); at != std::string::npos; at = shown.find('\x9b', at + 1)) {
    EXPECT_TRUE(at > 0 && (static_cast<unsigned char>(shown[at - 1]) & 0x80U) != 0) << command[0] << ": not UTF-8";
  }
}

/// 40 frames with a scope each, of which one is slow, and sampled stacks of it: all under one name.
void write_named(const std::string& path, const std::string& name,
                 const std::vector<std::pair<const char*, std::uint64_t>>& closing_facts = {}) {
  capture::CaptureWriterOptions options;
  Declarations& declared = options.declarations;
  declared.processes = {{ProcessId{1}, 7, "here", "boot", "", name}};
  declared.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 70, name}};
  declared.frame_streams = {{FrameStreamId{1}, ProcessId{1}, ""}};
  declared.threads = {{ThreadId{1}, ProcessId{1}, 7, 70, name}};
  declared.modules = {{ModuleId{1}, ProcessId{1}, 0, 0, name, ""}};
  declared.functions = {{FunctionId{1}, ModuleId{1}, 16, name, name}};
  declared.stacks = {{StackId{1}, {}, FunctionId{1}, 7}};
  declared.sites.resize(1);
  declared.sites[0].id = SiteId{1};
  declared.sites[0].name = declared.sites[0].function = declared.sites[0].file = name;
  EventBatch batch;
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  std::int64_t now_ns = batch.start_ns = 1'000'000'000;
  for (int frame = 0; frame < 40; ++frame) {
    batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, now_ns});
    run.events.push_back({now_ns, SiteId{1}, 0, 0});
    batch.stack_samples.push_back({ThreadId{1}, StackId{1}, 0, now_ns + 1'000'000, 0});
    now_ns += frame == 20 ? 50'000'000 : 10'000'000;
    run.events.push_back({now_ns - 1'000, {}, 0, 0});
  }
  batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, now_ns});
  run.end_sequence = run.events.size();
  batch.end_ns = now_ns;
  capture::CaptureWriter writer(path, std::move(options));
  writer.write(batch);
  for (const auto& [key, value] : closing_facts) {
    writer.set_closing_fact(key, value);
  }
  writer.finish();
}

TEST_F(Output, WhatWasLostOfStacksAndRunStatesIsSaidByEveryCommandThatReadsThem) {
  write_named(file_named("run.kymo"), "work",
              {{"stacks_lost", 3}, {"stacks_overruns", 1}, {"stacks_left_out", 4}, {"threads_lost_records", 5}});
  const std::vector<std::string> warnings{
      "the kernel lost the stacks of 3 samples", "kymo record read too late 1 time: samples may be missing",
      "4 samples left out: kymo record follows no more", "5 records of what threads did were lost"};
  const std::vector<std::vector<std::string>> commands{
      {"info", "run.kymo"},
      {"stats", "run.kymo"},
      {"stats", "--functions", "run.kymo"},
      {"explain", "run.kymo"},
      {"compare", "run.kymo", "run.kymo"},
      {"export", "--to", "perfetto", "-o", "trace", "run.kymo"},
      {"report", "-o", "page.html", "run.kymo"},
  };
  for (const std::vector<std::string>& command : commands) {
    const std::string said = kymo(command).err;
    for (const std::string& warning : warnings) {
      EXPECT_NE(said.find(warning), std::string::npos) << command[0] << ": " << warning << "\nnot in: " << said;
    }
  }
  const std::string page = read_text(file_named("page.html"));
  for (const std::string& warning : warnings) {
    EXPECT_NE(page.find(warning), std::string::npos) << warning;
  }
}

TEST_F(Output, NamesOfSampledFunctionsAndCausesCannotSteerTheTerminalEither) {
  write_named(file_named("run.kymo"), hostile);
  const std::vector<std::vector<std::string>> commands{
      {"stats", "--functions", "run.kymo"},
      {"stats", "--functions", "--json", "run.kymo"},
      {"stats", "--lines", "run.kymo"},
      {"stats", "--lines", "--json", "run.kymo"},
      {"explain", "run.kymo"},
      {"explain", "--finding", "1", "--evidence", "run.kymo"},
      {"explain", "--json", "run.kymo"},
      {"export", "--to", "collapsed", "--samples", "-o", "/dev/stdout", "run.kymo"},
      {"export", "--to", "firefox", "-o", "/dev/stdout", "run.kymo"},
  };
  for (const std::vector<std::string>& command : commands) {
    const CommandResult result = kymo(command);
    EXPECT_EQ(result.status, 0) << ::testing::PrintToString(command) << result.err;
    expect_harmless(result, command);
  }
  // Binary files hold names as they are, and what is said about writing them does not.
  for (const std::string format : {"pprof", "arrow"}) {
    const std::vector<std::string> command{"export", "--to", format, "-o", "file", "--force", "run.kymo"};
    const CommandResult result = kymo(command);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ((result.out + result.err).find('\x1b'), std::string::npos) << format;
    EXPECT_GT(read_text(file_named("file")).size(), 100U) << format;
  }
}

TEST_F(Output, NamesCannotSteerTheTerminalThatShowsThem) {
  static_cast<void>(make_capture("run.kymo", {.seed = 1, .steps = 500, .prefix = hostile}));
  static_cast<void>(make_capture("other.kymo", {.seed = 2, .steps = 500, .prefix = hostile}));
  const std::string named = "a\x1b[2J\x9b.kymo";
  write_file(named, "no capture");
  std::vector<std::vector<std::string>> commands{
      {"info", "run.kymo"},
      {"info", named},
      {"info", "not there\x1b[2J"},
      {"info\x1b[2J"},
      {"info", "--option\x1b[2J"},
      {"stats", "run.kymo"},
      {"stats", "--site", "\x1b[2J", "run.kymo"},
      {"stats", "--tree", "run.kymo"},
      {"stats", "--slowest-frames", "3", "run.kymo"},
      {"stats", "--phases", "run.kymo"},
      {"stats", "--histogram", "run.kymo"},
      {"stats", "--metrics", "--with", "load", "run.kymo"},
      {"stats", "--energy", "run.kymo"},
      {"compare", "run.kymo", "other.kymo"},
      {"compare", "--csv", "run.kymo", "other.kymo"},
      {"recover", "run.kymo"},
      {"merge", "-o", "merged\x1b[2J.kymo", "run.kymo", "other.kymo"},
      {"report", "-o", "/dev/stdout", "run.kymo"},
      {"record", "-o", "x.kymo", "--", "no such\x1b[2J"},
      {"import", named},
      {"trigger", "1\x1b[2J"},
  };
  for (const char* const command : {"info", "stats", "compare"}) {
    commands.push_back({command, "--json", "run.kymo", "other.kymo"});
  }
  for (const char* const format : {"chrome", "collapsed", "csv-spans", "csv-frames", "csv-metrics", "openmetrics"}) {
    commands.push_back({"export", "--to", format, "-o", "/dev/stdout", "run.kymo"});
  }
  for (const std::vector<std::string>& command : commands) {
    const CommandResult result = kymo(command);
    expect_harmless(result, command);
  }
}

TEST_F(Output, PipesAndStandardOutputAreWrittenTo) {
  static_cast<void>(make_capture("run.kymo"));
  const CommandResult result = kymo({"export", "--to", "collapsed", "-o", "/dev/stdout", "run.kymo"});
  EXPECT_NE(result.status, 1) << result.err;
  EXPECT_NE(result.out, "");
}

TEST_F(Output, AGridLeavesADirectoryOfTheUsersAlone) {
  if (test::is_emulated) {
    GTEST_SKIP() << "qemu-user does not run the processes of a grid";
  }
  std::filesystem::create_directories(file_named("mine/runs"));
  write_file("mine/runs/data", "precious");
  write_file("mine/results.csv", "precious");
  write_file("plan.json", R"({"command": ["/bin/true"], "parameters": {"n": [1]}, "repetitions": 1})");
  const CommandResult refused = kymo({"bench", "run", "plan.json", "-o", "mine"});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "mine", "--restart"}).status, 1);
  EXPECT_EQ(read_text(file_named("mine/results.csv")), "precious");
  write_file("diary/journal.jsonl", "");
  std::filesystem::create_directories(file_named("diary"));
  write_file("diary/journal.jsonl", "dear diary,\nno newline at the end");
  for (const char* const option : {"--restart", "--force"}) {
    EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "diary", option}).status, 1) << option;
    EXPECT_EQ(read_text(file_named("diary/journal.jsonl")), "dear diary,\nno newline at the end");
  }
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "mine", "--force"}).status, 0);
  EXPECT_EQ(read_text(file_named("mine/runs/data")), "precious");
  EXPECT_EQ(kymo({"bench", "run", "plan.json", "-o", "mine"}).status, 0) << "its own grid goes on";
}

TEST_F(Output, ClosedAndFullDescriptorsLeaveExitCodesAsTheyAre) {
  static_cast<void>(make_capture("run.kymo"));
  for (const std::string closed : {">out 2>&-", ">out 2>/dev/full", ">out 2>&- <&-", "<&- >&- 2>&-"}) {
    const CommandResult result = kymo({"record", "-o", "new.kymo", "--", "/bin/sh", "-c", "exit 7"}, {}, closed);
    EXPECT_EQ(result.status, 7) << closed;
    EXPECT_EQ(kymo({"record", "--", "./no-such-command"}, {}, closed).status, 127) << closed;
    EXPECT_EQ(kymo({"info", "no-such.kymo"}, {}, closed).status, 1) << closed;
    EXPECT_EQ(kymo({"no-such-command"}, {}, closed).status, 2) << closed;
  }
  for (const std::string closed : {">/dev/full 2>err", ">&- 2>err", ">/dev/full 2>&-", ">&- 2>&-"}) {
    EXPECT_EQ(kymo({"info", "run.kymo"}, {}, closed).status, 1) << closed;
  }
  EXPECT_EQ(kymo({"info", "run.kymo"}, {}, ">out 2>&-").status, kymo({"info", "run.kymo"}).status);
}

TEST_F(Output, WhatCannotBePrintedEndsWithOneAndTheReason) {
  static_cast<void>(make_capture("run.kymo", {.seed = 1, .steps = 2000}));
  write_file("trace.json", R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]})");
  const std::vector<std::vector<std::string>> commands{{},
                                                       {"--help"},
                                                       {"--version"},
                                                       {"stats", "--help"},
                                                       {"info", "run.kymo"},
                                                       {"stats", "run.kymo"},
                                                       {"stats", "--json", "run.kymo"},
                                                       {"stats", "--json", "--histogram", "run.kymo"},
                                                       {"explain", "run.kymo"},
                                                       {"compare", "run.kymo", "run.kymo"},
                                                       {"merge", "-o", "merged.kymo", "run.kymo"},
                                                       {"recover", "run.kymo"},
                                                       {"import", "-o", "imported.kymo", "trace.json"},
                                                       {"export", "--to", "csv-spans", "-o", "-", "run.kymo"},
                                                       {"completions", "bash"},
                                                       {"doctor", "--sensors", "memory"},
                                                       {"top", "--once", "-i", "0.05", "run.kymo"}};
  for (const std::vector<std::string>& command : commands) {
    for (const auto& [output, reason] :
         {std::pair(">/dev/full", "No space left on device\n"), {">&-", "Bad file descriptor\n"}}) {
      const CommandResult result = kymo(command, {}, output + std::string(" 2>err"));
      EXPECT_EQ(result.status, 1) << ::testing::PrintToString(command) << output;
      const std::size_t said = result.err.find(reason);
      ASSERT_NE(said, std::string::npos) << ::testing::PrintToString(command) << output << result.err;
      EXPECT_EQ(result.err.find(reason, said + 1), std::string::npos) << "once: " << result.err;
      EXPECT_EQ(result.err.find("write to file"), std::string::npos) << result.err;
    }
  }
}

TEST_F(Output, WhatIsPrintedNeverGetsIntoAFileThatTookItsDescriptor) {
  static_cast<void>(make_capture("run.kymo"));
  EXPECT_NE(kymo({"report", "-o", "page.html", "run.kymo"}, {}, "<&- >&- 2>&-").status, -6);
  const std::string page = read_text(file_named("page.html"));
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0U);
  EXPECT_EQ(page.find("warning: "), std::string::npos);
}

TEST_F(Output, ADirectoryAsRecordingsNameIsRefusedBeforeTheCommandRuns) {
  std::filesystem::create_directories(file_named("folder"));
  for (const char* const name : {"folder", "folder/", "missing/", "missing/run.kymo", "/dev/null"}) {
    const CommandResult result = kymo({"record", "-o", name, "--", "/bin/sh", "-c", "touch ran"});
    EXPECT_EQ(result.status, 125) << name << ": " << result.err;
    EXPECT_FALSE(std::filesystem::exists(file_named("ran"))) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(file_named("folder")));
}

TEST_F(Output, FactsThatAreLeftOutAreNowhereInACapture) {
  const auto holds = [this](const std::string& file, const std::string& text) {
    const CommandResult info = kymo({"info", "--json", file});
    return info.out.find(text) != std::string::npos;
  };
  const std::vector<std::string> command{RECORDED_PROGRAM, "scopes", "10", "--password=hunter2"};
  const auto record = [&](std::vector<std::string> words, const Environment& environment) {
    words.insert(words.begin(), "record");
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    const CommandResult result = kymo(words, environment);
    EXPECT_EQ(result.status, 0) << result.err;
  };
  record({"-o", "all.kymo"}, {});
  EXPECT_TRUE(holds("all.kymo", "hunter2") && holds("all.kymo", "recorded_program") && holds("all.kymo", "kernel"));
  record({"-o", "option.kymo", "--facts", "-command_line,-executable"}, {});
  EXPECT_FALSE(holds("option.kymo", "hunter2") || holds("option.kymo", "recorded_program"));
  EXPECT_TRUE(holds("option.kymo", "kernel"));
  record({"-o", "none.kymo"}, {{"KYMO_FACTS", "none"}});
  EXPECT_FALSE(holds("none.kymo", "hunter2") || holds("none.kymo", "recorded_program") || holds("none.kymo", "kernel"));
  EXPECT_TRUE(holds("none.kymo", "record.exit_status")) << "what the run came to is no fact about its user";
  record({"-o", "garbled.kymo"}, {{"KYMO_FACTS", "a,,b"}});
  EXPECT_FALSE(holds("garbled.kymo", "hunter2")) << "one that makes no sense keeps nothing";
}

TEST_F(Output, RedactedCopiesDoNotTellWhoRanWhat) {
  ASSERT_EQ(kymo({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "scopes", "10", "--password=hunter2"}).status, 0);
  const std::string capture = file_named("run.kymo");
  const std::string host = nlohmann::json::parse(kymo({"info", "--json", capture}).out)["processes"][0]["host"];
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"export", "--to", "chrome", "-o", "out", capture},
        {"export", "--to", "perfetto", "-o", "out", capture},
        {"export", "--to", "openmetrics", "-o", "out", capture},
        {"report", "-o", "out", capture},
        {"compare", "--html", "out", capture, capture}}) {
    std::vector<std::string> redacted = command;
    redacted.insert(redacted.end(), {"--redact", "--force"});
    const CommandResult result = kymo(redacted);
    EXPECT_NE(result.status, 1) << result.err;
    const std::string out = read_text(file_named("out"));
    EXPECT_NE(out, "");
    for (const std::string& secret : {std::string("hunter2"), "\"" + host + "\"", " on " + host,
                                      directory_.path().string(), std::string(RECORDED_PROGRAM)}) {
      EXPECT_EQ(out.find(secret), std::string::npos) << command[0] << " " << command[2] << ": " << secret;
    }
  }
  EXPECT_EQ(kymo({"merge", "--redact", "-o", "merged.kymo", capture}).status, 0);
  const std::string merged = kymo({"info", "--json", "merged.kymo"}).out;
  EXPECT_EQ(merged.find("hunter2"), std::string::npos);
  EXPECT_EQ(merged.find("\"" + host + "\""), std::string::npos);
}

TEST_F(Output, WarningsThatManyCapturesShareAreOneLine) {
  std::filesystem::create_directory(file_named("all"));
  for (int i = 1; i <= 5; ++i) {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 7, "here", "boot-1", "", "program"});
    const capture::CaptureWriter writer(file_named("all/" + std::to_string(i) + ".kymo"), std::move(options));
  }
  const std::string said = kymo({"info", "all/"}).err;
  EXPECT_EQ(said.find("warning: all/1.kymo and 4 more: was not closed"), 0U) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  std::filesystem::remove(file_named("all/1.kymo"));
  std::filesystem::remove(file_named("all/2.kymo"));
  const std::string of_few = kymo({"info", "all/"}).err;
  EXPECT_EQ(std::count(of_few.begin(), of_few.end(), '\n'), 3) << of_few;
}

TEST_F(Output, TheTracksOfInfoAddUpToItsWarning) {
  {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 7, "here", "boot-1", "", "program"});
    capture::CaptureWriter writer(file_named("run.kymo"), std::move(options));
    EventBatch batch;
    batch.start_ns = batch.end_ns = 5'000'000'000;
    batch.runs.emplace_back().dropped_scopes = 12;
    writer.write(batch);
    writer.finish();
  }
  const CommandResult text = kymo({"info", "run.kymo"});
  EXPECT_NE(text.out.find("threads without a track"), std::string::npos) << text.out;
  std::uint64_t dropped = 0;
  const auto info = nlohmann::json::parse(kymo({"info", "--json", "run.kymo"}).out);
  for (const auto& track : info["tracks"]) {
    dropped += track["dropped_scopes"].get<std::uint64_t>();
  }
  EXPECT_EQ(dropped, 12U);
}

TEST_F(Output, AnUnclosedCaptureWithoutSharedMemoryNeedNotBeOfAKilledProcess) {
  static_cast<void>(make_capture("run.kymo", {.seed = 1, .steps = 100}, false));
  const CommandResult info = kymo({"info", "run.kymo"});
  EXPECT_NE(info.err.find("or could not write on"), std::string::npos) << info.err;
}

TEST_F(Output, CapturesAreForTheirOwner) {
  const CommandResult result =
      kymo({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "scopes", "10"}, {}, ">out 2>err; umask 022");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(kymo({"merge", "-o", "merged.kymo", "run.kymo"}).status, 1);
  for (const char* const name : {"run.kymo", "merged.kymo"}) {
    struct stat status {};
    ASSERT_EQ(::stat(file_named(name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(Output, ATraceOfARecordedProgramOverwritesNothing) {
  write_file("trace.json", "years of work");
  EXPECT_EQ(run_any({RECORDED_PROGRAM, "scopes", "10"}, {{"KYMO_TRACE", "trace.json"}}).status, 0);
  EXPECT_EQ(read_text(file_named("trace.json")), "years of work");
  EXPECT_TRUE(nlohmann::json::accept(read_text(file_named("trace-1.json"))));
  EXPECT_EQ(run_any({RECORDED_PROGRAM, "scopes", "10"}, {{"KYMO_TRACE", "traces/"}}).status, 0);
  const std::filesystem::path in_directory = *std::filesystem::directory_iterator(file_named("traces"));
  EXPECT_EQ(in_directory.extension(), ".json");
  ASSERT_EQ(::mkfifo(file_named("pipe").c_str(), 0600), 0);
  const CommandResult result = run_any({RECORDED_PROGRAM, "scopes", "10"}, {{"KYMO_TRACE", "pipe"}});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.err.find("nobody reads"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace kymo::test
