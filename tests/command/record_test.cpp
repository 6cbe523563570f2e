// kymo record, recover and trigger with programs that really record.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <tuple>

#include <fcntl.h>
#include <unistd.h>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

#include "base/system/file.hpp"
#include "capture/recover/spool_file.hpp"
#include "command_fixture.hpp"
#include "record/pool/spool_layout.hpp"
#include "support/rounds.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

class Record : public CommandTest {
 protected:
  [[nodiscard]] nlohmann::json stats_of(const std::string& capture) const {
    return nlohmann::json::parse(kymo({"stats", "--json", capture}).out);
  }
  [[nodiscard]] nlohmann::json info_of(const std::string& capture) const {
    return nlohmann::json::parse(kymo({"info", "--json", capture}).out);
  }
  /// How many scopes of a name a capture has.
  [[nodiscard]] std::uint64_t count_of(const std::string& capture, const std::string& name) const {
    const auto stats = stats_of(capture);
    for (const auto& site : stats["sites"]) {
      if (site["name"] == name) {
        return site["count"];
      }
    }
    return 0;
  }
  /// The process that says something of such a key about itself.
  [[nodiscard]] static nlohmann::json process_with(const nlohmann::json& info, const std::string& key) {
    for (const auto& process : info["processes"]) {
      if (process["infos"].contains(key)) {
        return process;
      }
    }
    ADD_FAILURE() << "no process has " << key;
    return {};
  }
  /// Whether the sampler of a `kymo record -o NAME.kymo` that runs has a value of a metric by now.
  [[nodiscard]] bool has_metric_by_now(const std::string& name, const std::string& metric) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string machine = entry.path().string() + "/~machine.kymo";
      if (entry.path().filename().string().rfind(name + ".kymo.parts-", 0) == 0 && std::filesystem::exists(machine) &&
          std::filesystem::file_size(machine) > 0) {
        const CaptureReader reader(machine);
        const auto& metrics = reader.declarations().metrics;
        return std::any_of(metrics.begin(), metrics.end(),
                           [&](const MetricDeclaration& declared) { return declared.name == metric; });
      }
    }
    return false;
  }
  [[nodiscard]] bool has_parts() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().string().find(".parts-") != std::string::npos) {
        return true;
      }
    }
    return false;
  }
};

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

TEST_F(Record, TheMachineAndTheProcessTreeAreSampledMeanwhile) {
  const CommandResult result = kymo({"record", "-o", "run.kymo", "--hz", "200,50,10", "--sensors",
                                     "memory,process,disk", "--", "/bin/sh", "-c", busy_loop()});
  EXPECT_EQ(result.status, 0) << result.err;
  std::map<std::string, nlohmann::json> metrics;
  const auto stats = stats_of("run.kymo");
  for (const auto& metric : stats["metrics"]) {
    metrics[metric["name"].get<std::string>()] = metric;
  }
  ASSERT_TRUE(metrics.count("process_rss") == 1 && metrics.count("process_cpu_time") == 1) << result.err;
  EXPECT_GT(metrics["process_rss"]["max"].get<double>(), 100'000.0);
  EXPECT_GT(metrics["process_cpu_time"]["max"].get<double>(), 0.0);
  EXPECT_FALSE(metrics.count("cpu_util") != 0) << "it was not asked for";
  const auto info = info_of("run.kymo");
  for (const auto& metric : info["metrics"]) {
    EXPECT_NE(metric["source"].get<std::string>() + metric["name"].get<std::string>(), metric["name"]) << "no source";
  }
  EXPECT_EQ(process_with(info, "sampler.fast_hz")["infos"]["sampler.fast_hz"], "200");
}

TEST_F(Record, SeveralAtOnceAllHaveTheMachineUnlessToldOtherwise) {
  if (!std::filesystem::exists("/proc/self/stat")) {
    GTEST_SKIP() << "the machine of the test is made of Linux's files";
  }
  const std::string root = file_named("machine");
  std::filesystem::create_directories(root + "/sys/class/hwmon/hwmon0");
  std::filesystem::create_symlink("/proc", root + "/proc");
  std::ofstream(root + "/sys/class/hwmon/hwmon0/name") << "board\n";
  std::ofstream(root + "/sys/class/hwmon/hwmon0/power1_input") << "12500000\n";
  set_environment({});
  struct Run {
    std::string name;
    std::string mode;
    bool has_machine;
    std::unique_ptr<ChildProcess> process = {};
  };
  std::vector<Run> runs;
  for (auto& [name, mode, has_machine] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"first", "shared", true},
                                                               {"second", "own", true},
                                                               {"third", "", true},
                                                               {"fourth", "shared", false},
                                                               {"fifth", "off", false}}) {
    std::vector<std::string> words{"record", "-o", name + ".kymo", "--root", root, "--sensors", "cpu,hwmon,process"};
    if (!mode.empty()) {
      words.push_back("--machine=" + mode);
    }
    for (const char* const word : {"--", "/bin/sh", "-c", "while [ ! -e done ]; do sleep 0.01; done"}) {
      words.emplace_back(word);
    }
    runs.push_back({name, mode, has_machine});
    runs.back().process = std::make_unique<ChildProcess>(shell(kymo_words(words), ">" + name + ".out 2>&1"));
    ASSERT_TRUE(test::wait_until([&, &name = name, &is_there = has_machine] {
      return has_metric_by_now(name, "process_rss") &&
             (!is_there || (has_metric_by_now(name, "cpu_util") && has_metric_by_now(name, "power")));
    })) << name;
  }
  std::ofstream(file_named("done")) << "now\n";
  for (const Run& run : runs) {
    EXPECT_EQ(run.process->wait(), 0) << run.name;
    std::set<std::string> metrics;
    const nlohmann::json info = info_of(run.name + ".kymo");
    for (const auto& metric : info["metrics"]) {
      metrics.insert(metric["name"].get<std::string>());
    }
    EXPECT_EQ(metrics.count("cpu_util"), run.has_machine ? 1U : 0U) << run.name;
    EXPECT_EQ(metrics.count("power"), run.has_machine ? 1U : 0U) << run.name;
    EXPECT_EQ(metrics.count("process_rss"), 1U) << run.name;
    const bool says_who = read_text(file_named(run.name + ".out")).find("samples this machine") != std::string::npos;
    EXPECT_EQ(says_who, run.name == "fourth") << run.name;
  }
  EXPECT_NE(kymo({"record", "--machine=mine", "--", "/bin/true"}).err.find("own, shared or off"), std::string::npos);
}

TEST_F(Record, ProgramsThatSampleThemselvesAtOnceAllHaveTheMachine) {
  std::vector<std::unique_ptr<ChildProcess>> processes;
  const auto metrics_of = [this](const std::string& name) {
    std::set<std::string> metrics;
    const CaptureReader reader(file_named(name + ".kymo"));
    for (const MetricDeclaration& metric : reader.declarations().metrics) {
      metrics.insert(metric.name);
    }
    return metrics;
  };
  for (const std::string name : {"first", "second", "off"}) {
    Environment environment{{"KYMO_RECORD", name + ".kymo"}};
    if (name == "off") {
      environment.emplace_back("KYMO_MACHINE", "off");
    }
    set_environment(environment);
    processes.push_back(
        std::make_unique<ChildProcess>(shell({RECORDED_PROGRAM, "await", "ready-" + name}, ">" + name + ".out 2>&1")));
    static_cast<void>(wait_for("ready-" + name));
    ASSERT_TRUE(test::wait_until([&] {
      const std::set<std::string> metrics = metrics_of(name);
      return metrics.count("process_rss") == 1 && (name == "off" || metrics.count("memory_used") == 1);
    })) << name;
  }
  EXPECT_EQ(metrics_of("off").count("memory_used"), 0U);
  for (const auto& process : processes) {
    process->signal(SIGTERM);
    EXPECT_EQ(process->wait(), 42);
  }
}

TEST_F(Record, ASourceThatHangsKeepsItNotFromEnding) {
  if (!std::filesystem::exists("/proc/self/stat")) {
    GTEST_SKIP() << "NVIDIA's library is loaded on Linux only";
  }
  std::filesystem::create_symlink(STALLED_NVML, file_named("libnvidia-ml.so.1"));
  const CommandResult result =
      kymo({"record", "-o", "run.kymo", "--", "/bin/sh", "-c", "while [ ! -e mark ]; do sleep 0.01; done; exit 5"},
           {{"LD_LIBRARY_PATH", directory_.path().string()}, {"STALLED_NVML_MARK", file_named("mark")}});
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_NE(result.err.find("does not answer"), std::string::npos) << result.err;
  EXPECT_EQ(info_of("run.kymo")["captures"][0]["is_closed"], true);
  EXPECT_FALSE(has_parts());
}

TEST_F(Record, TheGpusNameDriverAndPowerLimitAreFactsThatCanBeLeftOut) {
  if (!std::filesystem::exists("/proc/self/stat")) {
    GTEST_SKIP() << "NVIDIA's library is loaded on Linux only";
  }
  std::filesystem::create_symlink(FAKE_NVML, file_named("libnvidia-ml.so.1"));
  set_environment({{"LD_LIBRARY_PATH", directory_.path().string()}});
  using Facts = std::pair<std::string, std::string>;
  for (const auto& [name, facts] : {Facts("with", "*"), Facts("without", "-gpu.*")}) {
    ChildProcess process(
        shell(kymo_words({"record", "-o", name + ".kymo", "--sensors", "nvml", "--facts=" + facts, "--", "/bin/sh",
                          "-c", "while [ ! -e done-" + name + " ]; do sleep 0.01; done"})));
    ASSERT_TRUE(test::wait_until([&, &name = name] { return has_metric_by_now(name, "gpu_util"); })) << name;
    std::ofstream(file_named("done-" + name)) << "now\n";
    EXPECT_EQ(process.wait(), 0);
  }
  const auto facts_of = [this](const std::string& capture) {
    std::map<std::string, std::string> facts;
    const nlohmann::json info = info_of(capture);
    for (const auto& process : info["processes"]) {
      for (const auto& [key, value] : process["infos"].items()) {
        if (key.rfind("gpu.", 0) == 0) {
          facts[key] = value;
        }
      }
    }
    return facts;
  };
  const std::map<std::string, std::string> expected{{"gpu.driver", "535.104.05"},
                                                    {"gpu.0.name", "NVIDIA H100 PCIe"},
                                                    {"gpu.0.power_limit", "350 W"},
                                                    {"gpu.1.name", "NVIDIA A100-SXM4-80GB"},
                                                    {"gpu.1.power_limit", "312.5 W"}};
  EXPECT_EQ(facts_of("with.kymo"), expected);
  EXPECT_TRUE(facts_of("without.kymo").empty());
  EXPECT_NE(kymo({"info", "with.kymo"}).out.find("NVIDIA H100 PCIe"), std::string::npos);
  EXPECT_EQ(kymo({"merge", "--redact", "-o", "clean.kymo", "with.kymo"}).status, 0);
  EXPECT_EQ(facts_of("clean.kymo"), expected) << "they say nothing about the user";
}

TEST_F(Record, ASensorWithARateOfItsOwnIsSampledWhereAllElseIsOff) {
  set_environment({});
  ChildProcess process(shell(kymo_words({"record", "-o", "run.kymo", "--hz", "0", "--sensor-hz", "memory=50", "--",
                                         "/bin/sh", "-c", "while [ ! -e done ]; do sleep 0.01; done"})));
  EXPECT_TRUE(test::wait_until([&] { return has_metric_by_now("run", "memory_available"); }));
  EXPECT_FALSE(has_metric_by_now("run", "cpu_util"));
  std::ofstream(file_named("done")) << "now\n";
  EXPECT_EQ(process.wait(), 0);
}

TEST_F(Record, WithoutSamplingOnlyTheCommandIsRecorded) {
  EXPECT_EQ(kymo({"record", "-o", "run.kymo", "--hz", "0", "--threads", "off", "--", RECORDED_PROGRAM, "scopes", "10"})
                .status,
            0);
  EXPECT_EQ(info_of("run.kymo")["processes"].size(), 1U);
  EXPECT_EQ(count_of("run.kymo", "work"), 10U);
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

TEST_F(Record, TheReportOnEnergyIsThatOfStatsTimesTheFactorsOfTheUser) {
  const std::string domain = file_named("machine/sys/class/powercap/intel-rapl:0");
  std::filesystem::create_directories(domain);
  std::ofstream(domain + "/name") << "package-0\n";
  std::ofstream(domain + "/energy_uj") << "1000000000\n";
  std::ofstream(domain + "/max_energy_range_uj") << "262143328850\n";
  // Uses a joule a step, written in place: no reader sees a part of a number.
  const std::string command =
      "i=0; while [ $i -lt 40 ]; do i=$((i+1)); printf '%d\\n' $((1000000000 + i*1000000)) 1<>" + domain +
      "/energy_uj; sleep 0.01; done";
  const CommandResult result =
      kymo({"record", "-o", "run.kymo", "--root", file_named("machine"), "--hz", "100,100,1", "--report-energy",
            "--price", "250EUR/kWh", "--co2", "36kg/kWh", "--", "/bin/sh", "-c", command});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto energy = nlohmann::json::parse(kymo({"stats", "--energy", "--json", "run.kymo"}).out);
  const double joules = energy["total"]["joules"];
  EXPECT_GT(joules, 5);
  EXPECT_LE(joules, 40);
  std::smatch told;
  ASSERT_TRUE(
      std::regex_search(result.err, told,
                        std::regex("energy: this machine used ([0-9.]+) J \u00b1[0-9.]+ [mu]?J in ([0-9.]+) (m?)s: "
                                   "([0-9.]+) W on average; ([0-9.]+) EUR at 250EUR/kWh; ([0-9.]+) g of CO2 at "
                                   "36kg/kWh")))
      << result.err;
  EXPECT_NEAR(std::stod(told[1]), joules, joules / 100);
  EXPECT_NEAR(std::stod(told[4]), joules / energy["power_sources"][0]["known_s"].get<double>(),
              std::stod(told[4]) / 100);
  EXPECT_NEAR(std::stod(told[5]), joules / 3.6e6 * 250, joules / 3.6e6 * 250 / 100);
  EXPECT_NEAR(std::stod(told[6]), joules / 100, joules / 10'000);
}

TEST_F(Record, EnergyThatNothingToldIsNotKnownAndFactorsThatMakeNoSenseAreRefused) {
  std::filesystem::create_directories(file_named("machine"));
  const CommandResult nothing = kymo({"record", "-q", "-o", "run.kymo", "--root", file_named("machine"),
                                      "--report-energy", "--price", "0.3/kWh", "--", "/bin/true"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_NE(nothing.err.find("energy: not known"), std::string::npos) << nothing.err;
  EXPECT_EQ(nothing.err.find("kWh"), std::string::npos) << nothing.err;
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--price", "0.3"},
                                                {"--price", "-1/kWh"},
                                                {"--price", "EUR/kWh"},
                                                {"--price", "1e3\033/kWh"},
                                                {"--co2", "350/kWh"},
                                                {"--co2", "350lb/kWh"}}) {
    std::vector<std::string> words{"record", "--report-energy"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", "echo ran"});
    const CommandResult refused = kymo(words);
    EXPECT_NE(refused.status, 0) << wrong[1];
    EXPECT_EQ(refused.out, "") << wrong[1];
  }
  EXPECT_NE(kymo({"record", "--price", "1/kWh", "--", "/bin/true"}).status, 0) << "it needs --report-energy";
}

TEST_F(Record, SamplingOptionsThatMakeNoSenseAreToldBeforeTheCommandRuns) {
  const CommandResult rate = kymo({"record", "--hz", "5000", "--", "/bin/sh", "-c", "echo ran"});
  EXPECT_NE(rate.status, 0);
  EXPECT_EQ(rate.out, "");
  EXPECT_NE(rate.err.find("0.1 to 1000"), std::string::npos);
  for (const char* const wrong : {"memory", "=5", "memory=fast", "memroy=5", "memory=5000"}) {
    const CommandResult own = kymo({"record", "--sensor-hz", wrong, "--", "/bin/sh", "-c", "echo ran"});
    EXPECT_NE(own.status, 0) << wrong;
    EXPECT_EQ(own.out, "") << wrong;
  }
  const CommandResult sensor = kymo({"record", "--sensors", "memroy", "--", "/bin/sh", "-c", "echo ran"});
  EXPECT_NE(sensor.status, 0);
  EXPECT_EQ(sensor.out, "");
  EXPECT_NE(sensor.err.find("no sensor 'memroy'"), std::string::npos);
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

TEST_F(Record, TriggerOfWhatDoesNotRecordIsAnError) {
  ChildProcess sleeping({"/bin/sleep", "60"});
  const CommandResult result = kymo({"trigger", std::to_string(sleeping.pid())});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find(std::to_string(sleeping.pid())), std::string::npos);
  EXPECT_EQ(kymo({"trigger", "2147483647"}).status, 1);
}

}  // namespace
}  // namespace kymo::test
