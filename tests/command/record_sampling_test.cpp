// What kymo record samples beside the command: the machine, its processes, its GPUs and their energy.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <tuple>

#include "record_fixture.hpp"
#include "support/wait_until.hpp"

namespace kymo::test {
namespace {

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

}  // namespace
}  // namespace kymo::test
