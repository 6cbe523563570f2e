// kymo record, recover and trigger with programs that really record.
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

#include "base/system/file.hpp"
#include "capture/recover/spool_file.hpp"
#include "record/pool/spool_layout.hpp"
#include "record_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

TEST_F(Record, PutsWhatTheCommandRecordsIntoOneClosedCapture) {
  const CommandResult result = kymo({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "scopes", "1000"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("run.kymo"), std::string::npos);
  EXPECT_EQ(count_of("run.kymo", "work"), 1000U);
  const auto info = info_of("run.kymo");
  EXPECT_EQ(info["captures"][0]["is_closed"], true);
  ASSERT_EQ(info["processes"].size(), 2U) << "the program, and kymo that sampled the machine";
  const auto& infos = info["processes"][0]["infos"];
  EXPECT_EQ(infos["record.exit_status"], "0");
  EXPECT_GT(std::stoull(infos["record.wall_ns"].get<std::string>()), 0U);
  EXPECT_GT(std::stoull(infos["record.max_resident_bytes"].get<std::string>()), 100'000U);
  EXPECT_TRUE(infos.contains("kernel"));
  EXPECT_TRUE(infos.contains("started"));
  EXPECT_FALSE(has_parts());
  const std::string stats = kymo({"stats", "run.kymo"}).out;
  EXPECT_NE(stats.find(" on 1 thread, nothing dropped"), std::string::npos) << "kymo's process is none: " << stats;
}

TEST_F(Record, EndsAsTheCommandDid) {
  EXPECT_EQ(kymo({"record", "--", "/bin/sh", "-c", "exit 0"}).status, 0);
  EXPECT_EQ(kymo({"record", "--", "/bin/sh", "-c", "exit 3"}).status, 3);
  EXPECT_EQ(kymo({"record", "--", "/bin/sh", "-c", "kill -9 $$"}).status, 128 + SIGKILL);
  EXPECT_EQ(kymo({"record", "--", "/bin/sh", "-c", "kill -TERM $$"}).status, 128 + SIGTERM);
  EXPECT_EQ(kymo({"record", "--", "./no-such-command"}).status, 127);
  EXPECT_EQ(kymo({"record", "--", "/etc/passwd"}).status, 126);
  EXPECT_EQ(kymo({"record", "-o", "x.kymo", "/bin/sh", "-c", "exit 5"}).status, 5) << "without the dashes";
  EXPECT_FALSE(has_parts());
}

TEST_F(Record, SignalsThatAreIgnoredAreIgnoredByTheCommandToo) {
  const auto ignored_by = [this](const std::string& program) {
    return run_any({"/bin/sh", "-c", "trap '' CHLD PIPE XFSZ; exec " + program + " /bin/grep SigIgn /proc/self/status"})
        .out;
  };
  const std::string plain = ignored_by("/usr/bin/env");
  EXPECT_NE(plain, run_any({"/bin/grep", "SigIgn", "/proc/self/status"}).out);
  EXPECT_EQ(ignored_by(std::string(KYMO_COMMAND) + " record -q -o run.kymo --"), plain);
  EXPECT_EQ(
      run_any({KYMO_COMMAND, "record", "-q", "-o", "run.kymo", "--", "/bin/grep", "SigIgn", "/proc/self/status"}).out,
      run_any({"/bin/grep", "SigIgn", "/proc/self/status"}).out);
}

TEST_F(Record, ItSaysThatTheFileGotAnotherNameEvenWhereItIsQuiet) {
  EXPECT_EQ(kymo({"record", "-q", "--hz", "0", "-o", "run.kymo", "--", "/bin/true"}).err, "");
  EXPECT_EQ(kymo({"record", "-q", "--hz", "0", "-o", "run.kymo", "--", "/bin/true"}).err,
            "kymo: run.kymo is there already: this recording is run-1.kymo\n");
}

TEST_F(Record, KeepsTheCommandsOwnInputAndOutput) {
  const CommandResult result = run_any(
      {"/bin/sh", "-c", std::string("echo in | ") + KYMO_COMMAND + " record -q -- /bin/sh -c 'cat; echo problem >&2'"});
  EXPECT_EQ(result.out, "in\n");
  EXPECT_NE(result.err.find("problem"), std::string::npos);
}

TEST_F(Record, OfACommandThatDoesNotRecordHoldsTheFactsOfTheRun) {
  const CommandResult result = kymo({"record", "-o", "run.kymo", "--", "/bin/sh", "-c", "exit 4"});
  EXPECT_EQ(result.status, 4);
  EXPECT_NE(result.err.find("recorded nothing"), std::string::npos);
  const auto info = info_of("run.kymo");
  ASSERT_EQ(info["processes"].size(), 2U);
  nlohmann::json command = process_with(info, "record.exit_status");
  EXPECT_EQ(command["command_line"], "/bin/sh -c 'exit 4'");
  EXPECT_EQ(command["infos"]["record.exit_status"], "4");
  EXPECT_NE(command["boot_id"], "");
  const std::string stats = kymo({"stats", "run.kymo"}).out;
  EXPECT_NE(stats.find(", no scopes, nothing dropped"), std::string::npos) << stats;
  EXPECT_NE(stats.find("`kymo explain` tells where the run's time went"), std::string::npos) << stats;
}

TEST_F(Record, ChosenSitesAloneAreRecordedAndTheReportsSayThatOthersWereLeftOut) {
  EXPECT_EQ(kymo({"record", "-o", "run.kymo", "--hz", "0", "--sites", "-w?rk", "--", RECORDED_PROGRAM, "scopes", "10"})
                .status,
            0);
  EXPECT_EQ(info_of("run.kymo")["processes"][0]["infos"]["site_filter"], "-w?rk");
  const CommandResult stats = kymo({"stats", "run.kymo"});
  EXPECT_EQ(stats.out.find("\nwork"), std::string::npos) << stats.out;
  EXPECT_NE(stats.err.find("sites were left out (KYMO_SITES=-w?rk)"), std::string::npos) << stats.err;
  const CommandResult bad = kymo({"record", "--sites", "a,,b", "--", "/bin/sh", "-c", "echo ran"});
  EXPECT_NE(bad.status, 0);
  EXPECT_EQ(bad.out, "");
}

TEST_F(Record, ForksAndExecsJoin) {
  if (is_emulated) {
    GTEST_SKIP() << no_threads_after_fork;
  }
  if (has_sanitizer) {
    GTEST_SKIP() << no_fork_beside_allocations;
  }
  EXPECT_EQ(kymo({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "family"}).status, 0);
  EXPECT_EQ(count_of("run.kymo", "parent"), 1U);
  EXPECT_EQ(count_of("run.kymo", "child"), 1U);
  EXPECT_EQ(count_of("run.kymo", "work"), 3U);
  std::set<std::uint64_t> pids;
  const auto info = info_of("run.kymo");
  for (const auto& process : info["processes"]) {
    pids.insert(process["pid"].get<std::uint64_t>());
  }
  EXPECT_EQ(pids.size(), 3U) << "kymo, the program and its child; the exec keeps its number";
  const std::string stats = kymo({"stats", "run.kymo"}).out;
  EXPECT_NE(stats.find(" threads in 3 processes, nothing dropped"), std::string::npos) << "one by its exec: " << stats;
}

TEST_F(Record, ACommandThatIsKilledLosesNothingThatWasClosed) {
  EXPECT_EQ(kymo({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "kill", "5000"}).status, 128 + SIGKILL);
  EXPECT_EQ(count_of("run.kymo", "work"), 5000U);
  EXPECT_EQ(info_of("run.kymo")["processes"][0]["infos"]["record.signal"], std::to_string(SIGKILL));
}

TEST_F(Record, WithoutRoomInSharedMemoryItHoldsTheSpoolItself) {
  const std::vector<std::string> small_shm{
      "unshare", "-m", "/bin/sh", "-c", "mount -t tmpfs -o size=64k none /dev/shm && exec \"$@\"", "sh"};
  std::vector<std::string> probe = small_shm;
  probe.emplace_back("true");
  if (run_any(probe).status != 0) {
    GTEST_SKIP() << "this user may not mount anything";
  }
  std::vector<std::string> command = small_shm;
  for (const std::string& word : kymo_words({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "kill", "5000"})) {
    command.push_back(word);
  }
  EXPECT_EQ(run_any(command).status, 128 + SIGKILL);
  EXPECT_EQ(count_of("run.kymo", "work"), 5000U);
  EXPECT_FALSE(has_parts());
}

TEST_F(Record, PassesSignalsOn) {
  set_environment({});
  ChildProcess process(shell(kymo_words({"record", "-o", "run.kymo", "--", RECORDED_PROGRAM, "await", "ready"})));
  static_cast<void>(wait_for("ready"));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 42);
  EXPECT_EQ(count_of("run.kymo", "work"), 100U);
}

TEST_F(Record, WhereTheOutputCannotBeWrittenTheCommandIsNotRun) {
  const CommandResult result = kymo({"record", "-o", "/nonexistent/run.kymo", "--", "/bin/sh", "-c", "echo ran"});
  EXPECT_EQ(result.status, 125);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("/nonexistent/run.kymo"), std::string::npos);
}

TEST_F(Record, NeverOverwritesACapture) {
  static_cast<void>(kymo({"record", "-o", "run.kymo", "--", "/bin/true"}));
  const std::string before = read_text(file_named("run.kymo"));
  const CommandResult again = kymo({"record", "-o", "run.kymo", "--", "/bin/true"});
  EXPECT_EQ(read_text(file_named("run.kymo")), before);
  EXPECT_NE(again.err.find("run-1.kymo"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file_named("run-1.kymo")));
}

TEST_F(Record, RecoverFoldsInWhatAKilledProgramLeft) {
  const CommandResult killed = run_any({RECORDED_PROGRAM, "kill", "3000"}, {{"KYMO_RECORD", "run.kymo"}});
  EXPECT_EQ(killed.status, -SIGKILL);
  // Before it is recovered, reading it shows the same.
  EXPECT_EQ(count_of("run.kymo", "work"), 3000U);
  const CommandResult result = kymo({"recover", "run.kymo"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(info_of("run.kymo")["captures"][0]["is_closed"], true);
  EXPECT_EQ(count_of("run.kymo", "work"), 3000U);
}

TEST_F(Record, WhatAKilledRecordLeftIsFoundAndJoinedByRecover) {
  // The command and its kymo are killed with their group, as by a batch system.
  set_environment({});
  const std::vector<std::string> words =
      kymo_words({"record", "-o", "run.kymo", "--hz", "0", "--", RECORDED_PROGRAM, "await", "ready"});
  ChildProcess process(shell(words, ">record.out 2>&1"));
  const auto program = static_cast<pid_t>(std::strtol(wait_for("ready").c_str(), nullptr, 10));
  EXPECT_NE(kymo({"recover", "run.kymo"}).err.find("is at work on it"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_named("run.kymo"))) << "its recorder lives";
  EXPECT_TRUE(has_parts());
  ::kill(process.pid(), SIGKILL);
  ::kill(program, SIGKILL);
  EXPECT_EQ(process.wait(), -SIGKILL);
  CommandResult result;
  // The program is nobody's child here: its end shows when its lock is gone.
  EXPECT_TRUE(test::wait_until([&] {
    result = kymo({"recover", "run.kymo"});
    return result.status == 0;
  }));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("run.kymo"), std::string::npos);
  EXPECT_EQ(count_of("run.kymo", "work"), 100U);
  EXPECT_FALSE(has_parts());
}

TEST_F(Record, TriggerLeavesTheSpoolOfAnEarlierProcessOfThatNumberAlone) {
  ASSERT_EQ(run_any({RECORDED_PROGRAM, "kill", "10"}, {{"KYMO_RECORD", "run.kymo"}}).status, -SIGKILL);
  const std::string id = CaptureReader(file_named("run.kymo")).header().spool_id;
  const std::string spool = capture::find_spool_file(id).path;
  // As if the number had come round.
  ChildProcess sleeping({"/bin/sleep", "60"});
  const std::string reused = "/dev/shm/kymo-" + std::to_string(sleeping.pid()) + "-" + id + ".spool";
  std::filesystem::rename(spool, reused);
  const base::FileDescriptor file(::open(reused.c_str(), O_RDWR | O_CLOEXEC));
  const auto pid = static_cast<std::uint64_t>(sleeping.pid());
  ASSERT_EQ(::pwrite(file.get(), &pid, sizeof pid, offsetof(record::SpoolHeader, owner_pid)), 8);
  const CommandResult result = kymo({"trigger", "--timeout", "1", std::to_string(pid)});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("does not record"), std::string::npos) << result.err;
  EXPECT_EQ(kymo({"recover", "run.kymo"}).status, 0);
  EXPECT_EQ(count_of("run.kymo", "work"), 10U);
}

TEST_F(Record, TriggerHasAFlightRecorderWrite) {
  set_environment({{"KYMO_RECORD", "run.kymo"}, {"KYMO_KEEP", "60s"}});
  ChildProcess process(shell({RECORDED_PROGRAM, "await", "ready"}, ">program.out 2>&1"));
  const std::string pid = std::to_string(std::strtol(wait_for("ready").c_str(), nullptr, 10));
  const CommandResult result = kymo({"trigger", pid});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("run.kymo"), std::string::npos) << result.out;
  EXPECT_EQ(count_of("run.kymo", "work"), 100U);
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 42);
}

TEST_F(Record, AFlightRecordersCaptureAccountsForEveryScope) {
  set_environment({{"KYMO_RECORD", "run.kymo"}, {"KYMO_KEEP", "60s"}, {"KYMO_BUFFER", "1MB"}, {"KYMO_SAMPLE", "0"}});
  ASSERT_EQ(ChildProcess(shell({RECORDED_PROGRAM, "scopes", "300000"})).wait(), 0);
  std::uint64_t recorded = 0;
  std::uint64_t dropped = 0;
  const auto info = info_of("run.kymo");
  for (const auto& track : info["tracks"]) {
    recorded += track["recorded_scopes"].get<std::uint64_t>();
    dropped += track["dropped_scopes"].get<std::uint64_t>();
  }
  EXPECT_EQ(recorded, count_of("run.kymo", "work"));
  EXPECT_EQ(recorded + dropped, 300'000U);
  const std::string stats = kymo({"stats", "run.kymo"}).out;
  EXPECT_EQ(stats.find("nothing dropped") != std::string::npos, dropped == 0) << stats;
  // The closing words of such a capture count drops alone.
  EXPECT_EQ(kymo({"export", "--to", "csv-spans", "-o", "spans.csv", "run.kymo"}).err, kymo({"info", "run.kymo"}).err);
}

TEST_F(Record, AProcessInATimeNamespaceOfItsOwnSaysWhatThatAddsToItsClock) {
  const std::vector<std::string> hour_ahead{"unshare", "-T", "--monotonic", "3600", "--fork"};
  std::vector<std::string> probe = hour_ahead;
  probe.emplace_back("true");
  if (run_any(probe).status != 0) {
    GTEST_SKIP() << "this user may not make a time namespace";
  }
  std::vector<std::string> command = hour_ahead;
  for (const char* const word : {RECORDED_PROGRAM, "scopes", "10"}) {
    command.emplace_back(word);
  }
  EXPECT_EQ(run_any(command, {{"KYMO_RECORD", "ahead.kymo"}}).status, 0);
  EXPECT_EQ(run_any({RECORDED_PROGRAM, "scopes", "10"}, {{"KYMO_RECORD", "here.kymo"}}).status, 0);
  EXPECT_EQ(info_of("ahead.kymo")["processes"][0]["infos"]["clock.namespace_offset_ns"], "3600000000000");
  const Timeline timeline({file_named("here.kymo"), file_named("ahead.kymo")});
  EXPECT_EQ(timeline.processes()[1].alignment, Alignment::same_boot);
  EXPECT_LT(timeline.range().end_ns - timeline.range().start_ns, 1'800'000'000'000);
}

#if defined(__x86_64__)  // elsewhere the counter is the kernel's only clock
TEST_F(Record, WhereTheKernelDoesNotTrustTheCounterItsClockIsRead) {
  const std::vector<std::string> other_clock{
      "unshare",
      "-m",
      "/bin/sh",
      "-c",
      "mount -t tmpfs none /sys/devices/system/clocksource/clocksource0 && exec \"$@\"",
      "sh"};
  const auto run = [&](std::vector<std::string> command) {
    command.insert(command.begin(), other_clock.begin(), other_clock.end());
    return run_any(command, {{"KYMO_RECORD", "clock.kymo"}, {"KYMO_SAMPLE", "0"}}).status;
  };
  if (run({"true"}) != 0) {
    GTEST_SKIP() << "this user may not mount anything";
  }
  EXPECT_EQ(run({RECORDED_PROGRAM, "kill", "20000"}), -SIGKILL);
  EXPECT_EQ(kymo({"recover", "clock.kymo"}).status, 0);
  EXPECT_NE(kymo({"info", "clock.kymo"}).out.find("clock clock_monotonic"), std::string::npos);
  EXPECT_EQ(count_of("clock.kymo", "work"), 20'000U);
  EXPECT_EQ(stats_of("clock.kymo")["sites"][0]["unbalanced"], 0U);
}
#endif

TEST_F(Record, TriggerOfWhatDoesNotRecordIsAnError) {
  ChildProcess sleeping({"/bin/sleep", "60"});
  const CommandResult result = kymo({"trigger", std::to_string(sleeping.pid())});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find(std::to_string(sleeping.pid())), std::string::npos);
  EXPECT_EQ(kymo({"trigger", "2147483647"}).status, 1);
}

}  // namespace
}  // namespace kymo::test
