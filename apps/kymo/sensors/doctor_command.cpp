// kymo doctor: shows which sources of this machine can be sampled, and causes and remedies for the others.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <kymo/sampler.hpp>

#include "apps/kymo/record/spool_table.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "capture/recover/leftovers.hpp"
#include "control/sampling.hpp"
#include "record/clock/clock.hpp"
#include "sense/sampler/machine_lock.hpp"
#include "sense/sampler/read_times.hpp"
#include "sense/sampler/sensors.hpp"
#include "sense/sampler/stop_signal.hpp"
#include "sense/sampler/tier_thread.hpp"
#include "threads/stacks/call_frames.hpp"
#include "threads/states/source.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using sense::Sensor;

struct DoctorOptions {
  SensorOptions sensors;
  bool is_json = false;
};

constexpr std::size_t reads = 11;
constexpr std::size_t advice_indent = 4;

/// The result of examining a sensor.
struct SensorFinding {
  std::string name;
  Tier tier = Tier::fast;
  std::size_t metrics = 0;      ///< number with a value so far
  sense::ReadCost read;         ///< medians
  std::int64_t renewal_ns = 0;  ///< minimum over its metrics; 0: unknown
  std::string trouble;
  std::string advice;

  [[nodiscard]] const char* state() const { return metrics == 0 ? "no" : trouble.empty() ? "works" : "partly"; }
  [[nodiscard]] double fastest_hz() const { return sense::fastest_sensible_hz(read, renewal_ns); }
  /// The value of `kymo record --sensor-hz` that reads it so often.
  [[nodiscard]] std::string option() const {
    return fmt::format("{}.{}={}", name, sense::name_of(tier), format_value(fastest_hz()));
  }
};

/// A sensor and the results of its reads so far.
class Examination {
 public:
  explicit Examination(std::unique_ptr<Sensor> sensor) : sensor_(std::move(sensor)) {}

  void read() {
    times_.read(*sensor_);
    has_had_value_.resize(sensor_->metrics().size());
    for (std::size_t metric = 0; metric < has_had_value_.size(); ++metric) {
      const sense::Reading& reading = sensor_->readings()[metric];
      has_had_value_[metric] = has_had_value_[metric] || (reading.has_value && !std::isnan(reading.value));
    }
  }

  [[nodiscard]] SensorFinding finding() {
    SensorFinding finding;
    finding.name = sensor_->name();
    finding.tier = sensor_->tier();
    finding.read = times_.median();
    finding.trouble = sensor_->trouble();
    finding.advice = sensor_->advice();
    bool is_renewal_known = true;
    for (std::size_t i = 0; i < has_had_value_.size(); ++i) {
      if (has_had_value_[i]) {
        const std::int64_t renewal_ns = sensor_->metrics()[i].renewal_ns;
        is_renewal_known = is_renewal_known && renewal_ns != 0;
        finding.renewal_ns = finding.metrics++ == 0 ? renewal_ns : std::min(finding.renewal_ns, renewal_ns);
      }
    }
    finding.renewal_ns = is_renewal_known ? finding.renewal_ns : 0;
    if (finding.metrics == 0 && finding.trouble.empty()) {
      finding.trouble = "there is nothing of it on this machine";
    }
    return finding;
  }

 private:
  std::unique_ptr<Sensor> sensor_;
  sense::ReadTimes times_;
  std::vector<bool> has_had_value_;
};

std::vector<SensorFinding> examine(const SensorOptions& options) {
  std::vector<Examination> examinations;
  for (auto& sensor : sense::make_sensors(options)) {
    examinations.emplace_back(std::move(sensor));
  }
  for (std::size_t i = 0; i < reads; ++i) {
    for (Examination& examination : examinations) {
      examination.read();
    }
    // Rates need time between two reads.
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
  }
  std::vector<SensorFinding> findings;
  findings.reserve(examinations.size());
  for (Examination& examination : examinations) {
    findings.push_back(examination.finding());
  }
  return findings;
}

/// Whether this user's threads may use real-time priority.
bool may_use_real_time() {
  bool is_permitted = false;
  pthread_t thread{};
  const auto try_it = [](void* result) -> void* {
    sched_param priority{};
    priority.sched_priority = 1;
    *static_cast<bool*>(result) = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &priority) == 0;
    return nullptr;
  };
  if (::pthread_create(&thread, nullptr, try_it, &is_permitted) == 0) {
    ::pthread_join(thread, nullptr);
  }
  return is_permitted;
}

void print_findings(const std::vector<SensorFinding>& findings) {
  Table table({{"sensor", Align::left},
               {"tier", Align::left},
               {"state", Align::left},
               {"metrics", Align::right, 3},
               {"one read", Align::right, 1},
               {"computing", Align::right, 1},
               {"renewed", Align::right, 2},
               {"fastest"}});
  for (const SensorFinding& finding : findings) {
    const bool works = finding.metrics != 0;
    table.add({finding.name, sense::name_of(finding.tier), finding.state(), works ? format_count(finding.metrics) : "",
               works ? format_duration(finding.read.wall_ns) : "", works ? format_duration(finding.read.cpu_ns) : "",
               finding.renewal_ns != 0 ? format_duration(static_cast<double>(finding.renewal_ns)) : "",
               works ? fmt::format("{} Hz", format_value(finding.fastest_hz())) : ""});
  }
  table.print();
  std::string last;
  for (const SensorFinding& finding : findings) {
    const std::string text = fmt::format("{}: {}", finding.name, printable(finding.trouble));
    // A sensor of several tiers has one trouble.
    if (finding.trouble.empty() || text == last) {
      continue;
    }
    fmt::print("{}", last.empty() ? "\n" : "");
    print_wrapped(text);
    if (!finding.advice.empty()) {
      print_wrapped(printable(finding.advice), Style::plain, advice_indent);
    }
    last = text;
  }
}

/// Names the option for what can be read more often than at the default rates.
void print_options(const std::vector<SensorFinding>& findings) {
  std::vector<std::string> faster;
  for (const SensorFinding& finding : findings) {
    const double usual_hz = control::default_sample_rates[static_cast<std::size_t>(finding.tier)];
    if (finding.metrics != 0 && finding.fastest_hz() > usual_hz &&
        std::find(faster.begin(), faster.end(), finding.option()) == faster.end()) {
      faster.push_back(finding.option());
    }
  }
  if (!faster.empty()) {
    fmt::print("\n");
    print_wrapped("to read more often than usual: kymo record --sensor-hz and, with commas between them, some of");
    print_wrapped(fmt::format("{}", fmt::join(faster, " ")), Style::plain, advice_indent);
  }
}

void print_reason(const threads::Refusal& refusal) {
  print_wrapped(printable(refusal.reason), Style::plain, advice_indent);
  if (!refusal.advice.empty()) {
    print_wrapped(fmt::format("needs {}", printable(refusal.advice)), Style::plain, advice_indent);
  }
}

/// Where the run states and stacks of threads come from, and what would permit more.
void print_thread_source(const threads::Refusal& refusal, const threads::Refusal& wakes) {
  if (refusal.error == 0) {
    print_wrapped("run states of threads: exact, and stacks: sampled on demand, by perf_event_open");
    if (threads::has_call_frames()) {
      print_wrapped("callers on sampled stacks: by call frame information (libdw), else by frame pointers");
    } else {
      print_wrapped("callers on sampled stacks: by frame pointers alone, which most packages lack");
      print_wrapped("libdw1 and libelf1, and on x86-64 a kymo that was built with libdw-dev, find all", Style::plain,
                    advice_indent);
    }
    if (wakes.error == 0) {
      print_wrapped("which thread ended another's wait: known, by the tracepoint sched_waking");
    } else {
      print_wrapped("which thread ended another's wait: not known");
      print_reason(wakes);
    }
    return;
  }
  print_wrapped("run states and stacks of threads: not permitted; each thread's CPU time is sampled instead");
  print_reason(refusal);
}

int run(const DoctorOptions& options) {
  const std::vector<SensorFinding> findings = examine(options.sensors);
  const bool is_real_time = may_use_real_time();
  const pid_t holder = sense::MachineLock(options.sensors.root).holder();
  const char* const counter = record::counter_name();
  const threads::Refusal refusal = threads::check_switch_events();
  const threads::Refusal wakes = threads::check_wake_events();
  const std::vector<capture::Leftover> spools = capture::list_leftovers();
  if (options.is_json) {
    Json rows = Json::array();
    for (const SensorFinding& finding : findings) {
      rows.push_back({{"sensor", finding.name},
                      {"tier", sense::name_of(finding.tier)},
                      {"state", finding.state()},
                      {"metrics", finding.metrics},
                      {"read_ns", finding.read.wall_ns},
                      {"read_cpu_ns", finding.read.cpu_ns},
                      {"renewal_ns", finding.renewal_ns},
                      {"fastest_hz", finding.fastest_hz()},
                      {"sensor_hz", finding.metrics != 0 ? finding.option() : ""},
                      {"trouble", finding.trouble},
                      {"advice", finding.advice}});
    }
    Json memory = Json::array();
    for (const capture::Leftover& spool : spools) {
      memory.push_back(command::to_json(spool));
    }
    print_json({{"sensors", std::move(rows)},
                {"shared_memory", std::move(memory)},
                {"clock", counter},
                {"thread_states",
                 {{"source", refusal.error == 0 ? "perf_event_open" : "schedstat"},
                  {"callers", threads::has_call_frames() ? "call frame information" : "frame pointers"},
                  {"trouble", refusal.reason},
                  {"advice", refusal.advice},
                  {"wakes", wakes.error == 0},
                  {"wakes_trouble", wakes.reason},
                  {"wakes_advice", wakes.advice}}},
                {"may_use_real_time", is_real_time},
                {"machine_holder", holder}});
    return to_int(ExitCode::ok);
  }
  print_findings(findings);
  print_options(findings);
  fmt::print("\nclock: {}\n", counter);
  if (is_real_time) {
    print_wrapped("real-time scheduling of the sampler: permitted");
  } else {
    print_wrapped(
        "real-time scheduling of the sampler: not permitted; samples are late by some milliseconds now and then on a "
        "busy machine");
    print_wrapped("sudo setcap cap_sys_nice+ep PROGRAM, or `ulimit -r 1`, permits it", Style::plain, advice_indent);
  }
  print_thread_source(refusal, wakes);
  if (holder != 0) {
    print_wrapped(fmt::format("process {} samples this machine for all that share it (KYMO_MACHINE=shared)", holder));
  }
  if (!spools.empty()) {
    fmt::print("\n");
    print_wrapped(fmt::format("events in {}; `kymo recover --all` clears up after processes that are dead:",
                              capture::shared_memory));
    print_leftovers(spools);
  }
  return to_int(ExitCode::ok);
}

}  // namespace

void add_doctor_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* const command =
      app.add_subcommand("doctor", "Shows what can be sampled on this machine, what not, why, and what to do about it");
  add_sensor_arguments(*command, options->sensors);
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "\"One read\" is the median time of some reads, and \"computing\" is its CPU time: the rest waits for a driver.\n"
      "\"Renewed\" is how often the source makes new values, where it is known. Beyond the \"fastest\" sensible rate,\n"
      "reads give nothing new, compute for over a twentieth of a core, or last for over half of the time between two.\n"
      "`kymo record --sensor-hz` sets a sensor's rate.\n\n"
      "Examples:\n"
      "  kymo doctor\n"
      "  kymo doctor --json | jq '.sensors[] | select(.state != \"works\")'");
  command->callback([options, &exit_code] { exit_code = run_checked([&] { return run(*options); }); });
}

}  // namespace kymo::command
