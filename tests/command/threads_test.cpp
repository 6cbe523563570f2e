// Run states from the kernel to `kymo stats`, beside what the recorded program says of itself.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <kymo/batch_cursor.hpp>

#include "base/system/clock.hpp"
#include "command/command_fixture.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

using Json = nlohmann::json;

class ThreadsTest : public CommandTest {
 protected:
  void SetUp() override {
    const Json source = Json::parse(kymo({"doctor", "--json", "--sensors", "memory"}).out)["thread_states"];
    if (source["source"] != "perf_event_open") {
      GTEST_SKIP() << source["trouble"];
    }
  }

  /// What took parts of the run of a program that joins threads, and their shares. "exit": the last of these ends it.
  std::map<std::string, double> shares_of_joins(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"record", "--hz", "0", "-q", "-o", "run.kymo", "--", JOINING_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const CommandResult recorded = kymo(words);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    const Json run = Json::parse(kymo({"explain", "run.kymo", "--json"}).out)["run"];
    std::map<std::string, double> shares;
    for (const Json& part : run["parts"]) {
      shares[part["text"]] += part["share"].get<double>();
    }
    std::filesystem::remove(file_named("run.kymo"));
    return shares;
  }

  /// The rows of `kymo stats` by site, of the program recorded with these options.
  std::map<std::string, Json> record(const std::vector<std::string>& options = {},
                                     const std::string& file = "run.kymo") {
    std::vector<std::string> words{"record", "--hz", "0", "-q", "-o", file};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", THREADS_PROGRAM});
    const CommandResult recorded = kymo(words);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    return read(recorded, file);
  }

  std::map<std::string, Json> read(const CommandResult& recorded, const std::string& file) {
    std::istringstream lines(recorded.out);
    std::string name;
    double switches = 0;
    for (double ns = 0; lines >> name >> ns >> switches;) {
      cpu_ns_[name] = ns;
      switches_[name] = switches;
    }
    std::map<std::string, Json> sites;
    const Json all = Json::parse(kymo({"stats", "--json", file}).out);
    for (const Json& site : all["sites"]) {
      sites[site["name"]] = site;
    }
    return sites;
  }

  /// The same of the program that records itself.
  std::map<std::string, Json> record_itself(const std::string& file, const Environment& more = {},
                                            const std::vector<std::string>& under = {}) {
    Environment variables{{"KYMO_RECORD", file}, {"KYMO_SENSORS", "threads"}};
    variables.insert(variables.end(), more.begin(), more.end());
    std::vector<std::string> words = under;
    words.emplace_back(THREADS_PROGRAM);
    const CommandResult recorded = run_any(words, variables);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    return read(recorded, file);
  }

  /// Records until `agrees` holds, five times at most: a busy machine interrupts the program between two of its clocks
  /// now and then. Returns the last recording's rows.
  template <typename Agrees>
  std::map<std::string, Json> record_until(Agrees&& agrees, bool is_by_itself = false) {
    std::map<std::string, Json> sites;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const std::string file = "run" + std::to_string(attempt) + ".kymo";
      sites = is_by_itself ? record_itself(file) : record({}, file);
      if (agrees(sites)) {
        return sites;
      }
    }
    ADD_FAILURE() << "in no recording did the times agree; in the last: " << Json(sites);
    return sites;
  }

  /// Whether a site's CPU time is that of its thread's own clock within 1 % or 50 us a scope. The clock also counts
  /// each switch to the thread, before the kernel reports it: 10 us on a virtual machine whose CPUs are busy.
  [[nodiscard]] bool has_own_cpu_time(const Json& site) const {
    const double expected_ns = cpu_ns_.at(site["name"]);
    return std::abs(site["run_states"]["running_ns"].get<double>() - expected_ns) <=
           std::max(50'000.0 * site["count"].get<double>(), expected_ns / 100) + 20'000 * switches_.at(site["name"]);
  }

  std::map<std::string, double> cpu_ns_;
  std::map<std::string, double> switches_;
};

/// One that kept the only processor would keep it from whoever stops it.
TEST_F(ThreadsTest, ARecorderInRealTimeEndsWithItsCommand) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  ASSERT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  std::size_t cpu = 0;
  while (!CPU_ISSET(cpu, &cpus)) {
    ++cpu;
  }
  const std::vector<std::string> in_real_time{"timeout",           "-s",   "KILL", "60", "taskset", "-c",
                                              std::to_string(cpu), "chrt", "-f",   "1"};
  const auto run_so = [&](const std::vector<std::string>& command) {
    std::vector<std::string> words = in_real_time;
    words.insert(words.end(), command.begin(), command.end());
    return run_any(words).status;
  };
  if (run_so({"true"}) != 0) {
    GTEST_SKIP() << "nothing may run in real time here";
  }
  EXPECT_EQ(run_so(kymo_words({"record", "--hz", "0", "-q", "-o", "run.kymo", "--", "sleep", "0.1"})), 0);
}

/// Recorded by `kymo record`, or by itself.
class ThreadsTimesTest : public ThreadsTest, public testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(Recorded, ThreadsTimesTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "ByItself" : "ByKymoRecord"; });

TEST_P(ThreadsTimesTest, ScopesHaveTheCpuTimeOfTheThreadsOwnClock) {
  const std::vector<std::string> names{"compute", "sleep", "share"};
  std::map<std::string, Json> sites = record_until(
      [&](std::map<std::string, Json>& found) {
        return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
          return found[name]["run_states"]["scopes"] == found[name]["count"] && has_own_cpu_time(found[name]);
        });
      },
      GetParam());
  for (const std::string& name : names) {
    EXPECT_EQ(sites[name]["run_states"]["scopes"], sites[name]["count"]) << name;
    EXPECT_EQ(sites[name]["run_states"]["total_ns"], sites[name]["total_ns"]) << name;
  }
  // Who is pushed off on its way to sleep is not blocked meanwhile.
  const Json& sleep = sites["sleep"]["run_states"];
  EXPECT_GE(sleep["blocked_ns"].get<std::int64_t>() + sleep["runnable_ns"].get<std::int64_t>(), 10 * 2'900'000);
  EXPECT_GT(sleep["blocked_ns"], 10 * 1'000'000);
  EXPECT_GT(sites["share"]["run_states"]["runnable_ns"], 20'000'000) << "two processes on one CPU take turns";
  EXPECT_LE(sites["share"]["run_states"]["blocked_ns"], 1'000'000);
  const Json& states = sites["compute"]["run_states"];
  EXPECT_EQ(states["running_ns"].get<std::int64_t>() + states["runnable_ns"].get<std::int64_t>() +
                states["blocked_ns"].get<std::int64_t>(),
            states["total_ns"].get<std::int64_t>());
}

TEST_P(ThreadsTimesTest, WhoWaitsForALockIsBlocked) {
  const auto agrees = [](std::map<std::string, Json>& sites) {
    const Json& wait = sites["wait for shared"];
    // Who gets no CPU until the lock is free does not wait for it.
    if (wait.is_null() || wait["run_states"].is_null()) {
      return false;
    }
    const double waited_ns = wait["total_ns"];
    return wait["count"] == 1 && waited_ns > 20e6 &&
           std::abs(wait["run_states"]["blocked_ns"].get<double>() - waited_ns) <= waited_ns / 10;
  };
  record_until(agrees, GetParam());
}

/// The kernel tells times of its own clock.
TEST_F(ThreadsTest, StatesAreOnTheClockOfTheProcessInATimeNamespaceToo) {
  const std::vector<std::string> hour_ahead{"unshare", "-T", "--monotonic", "3600", "--fork"};
  const auto run_ahead = [&](const std::vector<std::string>& command) {
    std::vector<std::string> words = hour_ahead;
    words.insert(words.end(), command.begin(), command.end());
    return run_any(words);
  };
  if (run_ahead({"true"}).status != 0) {
    GTEST_SKIP() << "this user may not make a time namespace";
  }
  const auto check = [this](std::map<std::string, Json> sites) {
    const Json& compute = sites["compute"];
    ASSERT_TRUE(compute.contains("run_states")) << compute;
    EXPECT_EQ(compute["run_states"]["scopes"], compute["count"]) << compute;
    EXPECT_GT(compute["run_states"]["running_ns"], cpu_ns_["compute"] / 2) << compute;
  };
  check(record_itself("itself.kymo", {}, hour_ahead));
  const CommandResult recorded =
      run_ahead(kymo_words({"record", "--hz", "0", "-q", "-o", "run.kymo", "--", THREADS_PROGRAM}));
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  check(read(recorded, "run.kymo"));
}

/// The kernel describes its tracepoints in a file system that not every machine mounts.
TEST_F(ThreadsTest, WhoEndedAWaitIsKnownAndExplainsSlowFrames) {
  const auto run_traced = [&](const std::vector<std::string>& command) {
    std::vector<std::string> words{
        "unshare",
        "-m",
        "sh",
        "-c",
        "{ [ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; } && exec \"$@\"",
        "sh"};
    words.insert(words.end(), command.begin(), command.end());
    return run_any(words);
  };
  const CommandResult doctor = run_traced(kymo_words({"doctor", "--json", "--sensors", "memory"}));
  if (doctor.status != 0 || !Json::parse(doctor.out)["thread_states"]["wakes"].get<bool>()) {
    GTEST_SKIP() << "this user may not mount tracefs or use its tracepoints";
  }
  const CommandResult recorded =
      run_traced(kymo_words({"record", "--hz", "0", "-q", "-o", "run.kymo", "--", WOKEN_PROGRAM}));
  ASSERT_EQ(recorded.status, 0) << recorded.err;

  const Timeline timeline(file_named("run.kymo"));
  std::map<std::string, std::size_t> wakes;
  BatchCursor cursor(timeline, {}, BatchParts::others);
  for (EventBatch batch; cursor.next(batch);) {
    for (const ThreadWake& wake : batch.wakes) {
      const auto& threads = timeline.declarations().threads;
      ++wakes[threads.at(wake.waker.index()).name + " wakes " + threads.at(wake.thread.index()).name];
    }
  }
  // Of 100 dishes: on a busy machine main finds some cooked when it begins to wait. It waits for the mutex, too.
  EXPECT_GE(wakes["cook wakes woken_program"], 30U);
  EXPECT_LE(wakes["cook wakes woken_program"], 250U);

  const Json all = Json::parse(kymo({"explain", "--json", "--over", "30ms", "run.kymo"}).out);
  const Json& why = all["explanations"].at(0);
  EXPECT_GE(why["slow"], 10);
  // On a busy machine the cook is pushed off its CPU as well.
  double share = 0;
  for (const Json& finding : why["findings"]) {
    const bool is_cook =
        finding["text"].get<std::string>().rfind("waiting in \"await dish\" for cook in \"boil\"", 0) == 0;
    share += is_cook ? finding["share"].get<double>() : 0;
  }
  EXPECT_GT(share, 0.5) << why;
}

TEST_F(ThreadsTest, TheRunOfACommandWithoutScopesGoesToTheChildrenThatItWaitsFor) {
  const CommandResult recorded =
      kymo({"record", "--hz", "0", "-q", "-o", "run.kymo", "--", "sh", "-c", "sleep 0.3; exit 0"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const CommandResult explained = kymo({"explain", "run.kymo", "--json"});
  ASSERT_EQ(explained.status, 0) << explained.err;
  const Json run = Json::parse(explained.out)["run"];
  EXPECT_EQ(run["thread"], "sh");
  double all_ns = run["other_ns"];
  double slept_ns = 0;
  for (const Json& part : run["parts"]) {
    all_ns += part["duration_ns"].get<double>();
    slept_ns += part["text"] == "waiting for sleep, which was blocked" ? part["duration_ns"].get<double>() : 0;
  }
  EXPECT_NEAR(all_ns, run["duration_ns"].get<double>(), 1) << run;
  // On a busy machine the shell may begin to wait after the other has begun to sleep.
  EXPECT_GE(slept_ns, 0.2e9) << run;
  EXPECT_LE(slept_ns, run["duration_ns"].get<double>()) << run;
  EXPECT_NE(run["notes"].dump().find("nothing to compare"), std::string::npos) << run;
}

/// By the ends of the threads. On a busy machine the main thread goes on late after most of them.
TEST_F(ThreadsTest, TheRunOfAProgramGoesToTheThreadsThatItJoins) {
  constexpr int most_tries = 20;
  double by_join = 0;
  for (int i = 0; i < most_tries && by_join < 0.05; ++i) {
    by_join = shares_of_joins({})["waiting for thread worker"];
  }
  EXPECT_GE(by_join, 0.05);
  if (has_sanitizer) {
    return;  // stops all threads when the process ends, which ends their waits before
  }
  double by_exit = 0;
  for (int i = 0; i < most_tries && by_exit < 0.05; ++i) {
    by_exit = shares_of_joins({"exit"})["waiting for thread last"];
  }
  EXPECT_GE(by_exit, 0.05);
}

/// The nice values of processes and threads, from the contents of their `stat` files.
std::vector<int> nice_values(const std::string& stats) {
  std::vector<int> values;
  std::istringstream lines(stats);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    constexpr int behind_name = 17;
    std::string field;
    for (int i = 0; i < behind_name; ++i) {
      fields >> field;
    }
    values.push_back(std::stoi(field));
  }
  return values;
}

TEST_F(ThreadsTest, OnlyTheThreadThatReadsSwitchesGoesBeforeOthersWhereTheUserMay) {
  if (::setpriority(PRIO_PROCESS, 0, -1) != 0) {
    GTEST_SKIP() << "this user may not raise a priority";
  }
  ::setpriority(PRIO_PROCESS, 0, 0);
  // kymo's thread may begin later than the command.
  const std::string script =
      "for i in $(seq 1000); do cat /proc/$PPID/task/*/stat > stats; grep -q ' 0 -20 ' stats && break; sleep 0.01; done;"
      "cat stats; cat /proc/$$/stat";
  const CommandResult recorded = kymo({"record", "--hz", "0", "-q", "-o", "run.kymo", "--", "sh", "-c", script});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::vector<int> values = nice_values(recorded.out);
  EXPECT_EQ(std::count(values.begin(), values.end(), -20), 1) << recorded.out;
  EXPECT_EQ(std::count(values.begin(), values.end(), 0), std::ssize(values) - 1) << recorded.out;
  EXPECT_EQ(values.back(), 0) << "the command's";
}

TEST_F(ThreadsTest, EachThreadHasItsTimesMigrationsAndFaults) {
  ASSERT_EQ(
      kymo({"record", "-q", "--hz", "0,10,0", "--sensors", "process", "-o", "a.kymo", "--", THREADS_PROGRAM}).status,
      0);
  static_cast<void>(record_itself("b.kymo", {{"KYMO_SENSORS", "process"}}));
  for (const char* const file : {"a.kymo", "b.kymo"}) {
    const Json stats = Json::parse(kymo({"stats", "--by", "thread", "--json", file}).out);
    std::size_t first_threads = 0;
    for (const Json& thread : stats["thread_activity"]) {
      if (thread["thread_id"] != stats["threads"][0]["pid"]) {
        continue;
      }
      ++first_threads;
      EXPECT_GT(thread["run_states"]["running_ns"], 100'000'000) << thread << " computes for 130 ms";
      EXPECT_GT(thread["run_states"]["blocked_ns"], 30'000'000) << thread;
      EXPECT_GE(thread["migrations"], 0) << thread;
      EXPECT_TRUE(thread["minor_faults"].is_number_unsigned()) << thread;
      EXPECT_TRUE(thread["major_faults"].is_number_unsigned()) << thread;
    }
    EXPECT_EQ(first_threads, 1U) << stats["thread_activity"];
    std::size_t counters = 0;
    const Json info = Json::parse(kymo({"info", "--json", file}).out);
    for (const Json& metric : info["metrics"]) {
      const bool is_of_first = metric["labels"].value("thread", "") == stats["threads"][0]["pid"].dump();
      counters += is_of_first && metric["name"] == "thread_major_faults" ? 1U : 0U;
    }
    EXPECT_EQ(counters, 1U) << "of the program and kymo record, one counts";
    EXPECT_NE(kymo({"stats", "--by", "thread", file}).out.find("migrations"), std::string::npos);
  }
}

TEST_F(ThreadsTest, AProgramThatIsObservedOrSaysOffRecordsNoneItself) {
  for (const Environment& said : {Environment{{"KYMO_THREADS", "off"}}, Environment{{"KYMO_MACHINE", "off"}}}) {
    const std::string file = said.front().first + ".kymo";
    EXPECT_EQ(record_itself(file, said).at("compute").count("run_states"), 0U);
    EXPECT_EQ(kymo({"info", file}).out.find("threads.source"), std::string::npos);
  }
}

TEST_F(ThreadsTest, AProgramThatTheKernelRefusesSaysSoAndHasTheCoarseFigures) {
  if (is_emulated) {
    GTEST_SKIP() << "an emulator has no filter of system calls";
  }
  const std::int64_t before_ns = base::monotonic_now_ns();
  EXPECT_EQ(record_itself("run.kymo", {}, {WITHOUT_PERF_EVENTS}).at("compute").count("run_states"), 0U);
  EXPECT_GE(Timeline(file_named("run.kymo")).range().start_ns, before_ns);
  const std::string info = kymo({"info", "run.kymo"}).out;
  EXPECT_NE(info.find("thread_cpu_time (coarse)"), std::string::npos) << info;
  EXPECT_NE(info.find("perf_event_open: "), std::string::npos) << info;
}

TEST_F(ThreadsTest, OffRecordsNoneAndTheTableHasNoColumns) {
  const std::map<std::string, Json> sites = record({"--threads", "off"});
  EXPECT_EQ(sites.at("compute").count("run_states"), 0U);
  EXPECT_EQ(kymo({"stats", "run.kymo"}).out.find("CPU time"), std::string::npos);
  record();
  EXPECT_NE(kymo({"stats", "run-1.kymo"}).out.find("CPU time"), std::string::npos);
}

TEST_F(ThreadsTest, TheVariableSaysTheSameAndABadValueIsSaid) {
  const auto run = [this](const std::string& value) {
    return kymo({"record", "--hz", "0", "-o", value + ".kymo", "--", "/bin/true"}, {{"KYMO_THREADS", value}});
  };
  EXPECT_EQ(run("off").err.find("KYMO_THREADS"), std::string::npos);
  EXPECT_EQ(kymo({"info", "off.kymo"}).out.find("threads_switches"), std::string::npos);
  EXPECT_NE(run("states").err.find("what its threads did"), std::string::npos);
  EXPECT_NE(kymo({"info", "states.kymo"}).out.find("threads_switches"), std::string::npos);
  EXPECT_NE(run("everything").err.find("KYMO_THREADS=everything: needs states, stacks or off"), std::string::npos);
  EXPECT_NE(kymo({"record", "--threads", "some", "--", "/bin/true"}).status, 0);
}

TEST_F(ThreadsTest, AnyProgramsThreadsAreInThePerfettoTrace) {
  ASSERT_EQ(kymo({"record", "-q", "--hz", "0", "-o", "run.kymo", "--", "/bin/sleep", "0.05"}).status, 0);
  ASSERT_EQ(kymo({"export", "--to", "perfetto", "-o", "run.pftrace", "run.kymo"}).status, 0);
  const std::string trace = read_text(file_named("run.pftrace"));
  EXPECT_NE(trace.find("states of sleep"), std::string::npos);
  EXPECT_NE(trace.find("blocked"), std::string::npos);
}

TEST_F(ThreadsTest, AnyProgramsThreadsAreInTheChromeTrace) {
  ASSERT_EQ(kymo({"record", "-q", "--hz", "0", "-o", "run.kymo", "--", "/bin/sleep", "0.05"}).status, 0);
  ASSERT_EQ(kymo({"export", "--to", "chrome", "-o", "run.json", "run.kymo"}).status, 0);
  const Json trace = Json::parse(read_text(file_named("run.json")));
  std::map<Json, std::string> rows;
  std::map<Json, double> ends_us;
  double slept_us = 0;
  for (const Json& event : trace["traceEvents"]) {
    const Json place{event["pid"], event.value("tid", Json())};
    if (event["name"] == "thread_name") {
      rows[place] = event["args"]["name"];
    }
    if (event["ph"] != "X" || rows[place].rfind("states of ", 0) != 0) {
      continue;
    }
    EXPECT_GE(event["ts"].get<double>(), ends_us[place]) << "one state after the other";
    ends_us[place] = event["ts"].get<double>() + event["dur"].get<double>();
    EXPECT_TRUE(event["args"]["cpu"].is_number_unsigned());
    const bool sleeps = event["name"] == "blocked" && rows[place].rfind("states of sleep ", 0) == 0;
    slept_us += sleeps ? event["dur"].get<double>() : 0;
  }
  EXPECT_GT(slept_us, 40'000);
}

/// The arguments of a row of csv-spans, in which quotes are doubled.
Json arguments_of(const std::string& row) {
  std::string text = row.substr(row.find('{'), row.rfind('}') - row.find('{') + 1);
  for (std::size_t at = 0; (at = text.find("\"\"", at)) != std::string::npos; ++at) {
    text.erase(at, 1);
  }
  return Json::parse(text);
}

TEST_F(ThreadsTest, EachProcessOfACommandIsASpanWithWhatItTook) {
  const std::string script = "sleep 0.31 & sh -c 'sleep 0.27; exit 7'; wait; true";
  std::map<std::string, Json> by_command;
  std::string rows;
  const auto is_known = [&by_command] {
    return by_command.size() == 4 && by_command["sleep 0.31"].contains("memory_bytes");
  };
  // On a machine that is held up, a process may be gone before it is asked.
  for (int attempt = 0; attempt < 5 && !is_known(); ++attempt) {
    by_command.clear();
    const std::string file = "tree" + std::to_string(attempt) + ".kymo";
    ASSERT_EQ(kymo({"record", "-q", "--hz", "0", "-o", file, "--", "sh", "-c", script}).status, 0);
    rows = kymo({"export", "--to", "csv-spans", "-o", "-", file}).out;
    std::istringstream lines(rows);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      const Json arguments = arguments_of(line);
      if (arguments.contains("command")) {
        by_command[arguments["command"]] = arguments;
      }
    }
    const std::string said = kymo({"stats", file}).out;
    EXPECT_NE(said.find("4 processes were started, "), std::string::npos) << said;
    const std::string redacted = kymo({"export", "--redact", "--to", "csv-spans", "-o", "-", file}).out;
    EXPECT_EQ(redacted.find("0.27"), std::string::npos) << redacted;
    ASSERT_EQ(kymo({"merge", "--redact", "--level", "1", "-o", "redacted" + file, file}).status, 0);
    EXPECT_EQ(kymo({"export", "--to", "csv-spans", "-o", "-", "redacted" + file}).out.find("0.27"), std::string::npos);
  }
  ASSERT_EQ(by_command.size(), 4U) << rows;
  const Json& root = by_command["sh -c " + script];
  const Json& inner = by_command["sh -c sleep 0.27; exit 7"];
  EXPECT_EQ(by_command["sleep 0.31"]["parent"], root["pid"]);
  EXPECT_EQ(inner["parent"], root["pid"]);
  EXPECT_EQ(by_command["sleep 0.27"]["parent"], inner["pid"]);
  EXPECT_GT(by_command["sleep 0.31"]["memory_bytes"], 100'000);
  EXPECT_LT(by_command["sleep 0.31"]["cpu_ns"], 200'000'000) << "it slept";
  EXPECT_GT(by_command["sleep 0.31"]["cpu_ns"], 0);
  if (inner.contains("exit_status")) {  // from Linux 6.15 on
    EXPECT_EQ(inner["exit_status"], 7);
  }
}

TEST_F(ThreadsTest, WhereTheKernelRefusesThereIsTheCpuTimeOfEachThread) {
  const auto refused = [this](const std::vector<std::string>& arguments) {
    std::vector<std::string> words{WITHOUT_PERF_EVENTS};
    const std::vector<std::string> command = kymo_words(arguments);
    words.insert(words.end(), command.begin(), command.end());
    return run_any(words);
  };
  if (is_emulated) {
    GTEST_SKIP() << "an emulator has no filter of system calls";
  }
  const Json source = Json::parse(refused({"doctor", "--json", "--sensors", "memory"}).out)["thread_states"];
  EXPECT_EQ(source["source"], "schedstat");
  EXPECT_NE(source["trouble"].get<std::string>().find("perf_event_open"), std::string::npos);
  EXPECT_NE(source["advice"].get<std::string>().find("seccomp"), std::string::npos);
  const CommandResult recorded =
      refused({"record", "--hz", "0,100,0", "--sensors", "memory", "-o", "run.kymo", "--", THREADS_PROGRAM});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const Json stats = Json::parse(kymo({"stats", "--json", "run.kymo"}).out);
  double running_s = 0;
  for (const Json& metric : stats["metrics"]) {
    running_s = metric["name"] == "thread_running_time" ? std::max(running_s, metric["last"].get<double>()) : running_s;
  }
  EXPECT_GT(running_s, 0.05) << "of the program's first thread, which computed for 130 ms";
  EXPECT_LT(running_s, 10);
  for (const Json& site : stats["sites"]) {
    EXPECT_EQ(site.count("run_states"), 0U) << "what is not known is missing";
  }
  EXPECT_NE(kymo({"info", "run.kymo"}).out.find("schedstat (coarse)"), std::string::npos);
}

TEST_F(ThreadsTest, AKillOfKymoLeavesTheStatesBeforeIt) {
  set_environment({});
  ChildProcess process(shell(kymo_words({"record", "-q", "--hz", "0", "-o", "run.kymo", "--", "/bin/sh", "-c",
                                         "for i in 1 2 3 4 5; do sleep 0.2; done; echo slept >slept; exec sleep 3"})));
  static_cast<void>(wait_for("slept"));
  process.signal(SIGKILL);
  process.wait();
  ASSERT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  ASSERT_EQ(kymo({"export", "--to", "perfetto", "-o", "run.pftrace", "run.kymo"}).status, 0);
  EXPECT_NE(read_text(file_named("run.pftrace")).find("states of sleep"), std::string::npos);
}

}  // namespace
}  // namespace kymo::test
