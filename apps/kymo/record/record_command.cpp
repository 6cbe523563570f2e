// kymo record: runs a command and combines the recordings of all its processes in one capture.
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/record/child_tree.hpp"
#include "apps/kymo/record/energy_report.hpp"
#include "apps/kymo/record/recorded_machine.hpp"
#include "apps/kymo/record/recorded_parts.hpp"
#include "apps/kymo/record/recorded_threads.hpp"
#include "apps/kymo/record/running_process.hpp"
#include "apps/kymo/record/spool_holder.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/ranges.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/text/pattern_list.hpp"
#include "capture/merge/merge.hpp"
#include "control/environment.hpp"
#include "control/run_facts.hpp"
#include "stats/energy/energy.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;

/// What kernels permit by default (kernel.perf_event_max_sample_rate).
constexpr std::uint32_t most_stacks_hz = 100'000;
constexpr std::uint32_t usual_stacks_hz = 999;

struct RecordOptions {
  std::string output = "kymo.kymo";
  bool is_quiet = false;
  std::string hz;
  std::vector<std::string> sensor_hz;
  std::string sites;
  std::string facts;
  SamplingOptions sampling;
  std::optional<ThreadsMode> asked_threads;  ///< else KYMO_THREADS
  ThreadsMode threads = ThreadsMode::states;
  std::string stacks;  ///< the rate; empty: none
  std::uint32_t stacks_hz = 0;
  bool reports_energy = false;
  std::string price;
  std::string co2;
  EnergyFactors factors;
  pid_t process = 0;             ///< one that runs already; 0: none
  std::int64_t duration_ns = 0;  ///< of its recording; 0: until it ends
  std::vector<std::string> command;
};

/// Throws Failure if no capture can be created at the path, because the command's work cannot be repeated for another
/// path.
void expect_file_name(const std::string& output) {
  std::error_code ignored;
  const fs::file_status status = fs::status(output, ignored);
  if (!fs::path(output).has_filename() || fs::is_directory(status)) {
    throw Failure(fmt::format("cannot write {}: it is a directory; name a file in it", printable(output)));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Failure(fmt::format("cannot write {}: it is no file, and a capture needs one", printable(output)));
  }
}

/// Performs a step after the command was started. If it fails, the command is still waited for.
template <typename Action>
bool attempt(const Action& action) {
  try {
    action();
    return true;
  } catch (const std::exception& failure) {
    say("kymo: {}\n", printable(failure.what()));
    return false;
  }
}

/// Quotes a word for a shell.
std::string quoted(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
    return word;
  }
  std::string result = "'";
  for (const char character : word) {
    result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return result + "'";
}

/// The facts of a process that this one observed.
capture::MergeOptions::Facts describe(pid_t process, const std::vector<std::string>& command) {
  capture::MergeOptions::Facts facts;
  Declarations machine = control::describe_run();
  facts.process = machine.processes.front();
  facts.process.pid = static_cast<std::uint64_t>(process);
  facts.process.command_line.clear();
  for (const std::string& word : command) {
    facts.process.command_line += (facts.process.command_line.empty() ? "" : " ") + quoted(word);
  }
  for (InfoDeclaration& info : machine.infos) {
    // These facts describe this program, not the command. The command's capture, if any, knows its own start time
    // better.
    if (info.key != "executable" && info.key != "build_id" && info.key != "started") {
      facts.infos.emplace_back(std::move(info.key), std::move(info.value));
    }
  }
  if (base::wants_fact("command_line")) {
    facts.infos.emplace_back("record.command", facts.process.command_line);
  } else {
    facts.process.command_line.clear();
  }
  return facts;
}

/// The facts of the run and the resources it used.
capture::MergeOptions::Facts describe(const ChildTree& tree, const std::vector<std::string>& command) {
  capture::MergeOptions::Facts facts = describe(tree.pid(), command);
  const TreeUsage& usage = tree.usage();
  const auto add = [&facts](const char* key, std::uint64_t value) {
    facts.infos.emplace_back(key, std::to_string(value));
  };
  if (WIFSIGNALED(tree.wait_status())) {
    add("record.signal", static_cast<std::uint64_t>(WTERMSIG(tree.wait_status())));
  } else {
    add("record.exit_status", static_cast<std::uint64_t>(WEXITSTATUS(tree.wait_status())));
  }
  add("record.wall_ns", usage.wall_ns);
  add("record.user_cpu_ns", usage.user_cpu_ns);
  add("record.system_cpu_ns", usage.system_cpu_ns);
  add("record.max_resident_bytes", usage.max_resident_bytes);
  add("record.minor_faults", usage.minor_faults);
  add("record.major_faults", usage.major_faults);
  add("record.block_reads", usage.block_reads);
  add("record.block_writes", usage.block_writes);
  add("record.voluntary_switches", usage.voluntary_switches);
  add("record.involuntary_switches", usage.involuntary_switches);
  return facts;
}

/// Reads the samples of the finished capture only, which costs no more the more scopes it has.
void report_energy(const RecordOptions& options, const std::string& path) {
  const Timeline timeline(path);
  stats::EnergyOptions totals;
  totals.only_totals = true;
  say("kymo: {}\n", describe_run_energy(stats::gather_energy(timeline, totals), timeline.range(), options.factors));
}

/// What a capture holds without any recording of the program's own.
std::string describe_content(const RecordedMachine& machine, const RecordedThreads& threads) {
  std::vector<std::string_view> parts;
  if (threads.has_stacks()) {
    parts.emplace_back("its stacks");
  }
  if (threads.has_states()) {
    parts.emplace_back("what its threads did");
  }
  if (!machine.path().empty()) {
    parts.emplace_back("what the machine felt");
  }
  if (parts.empty()) {
    return "the facts of the run";
  }
  const std::string_view last = parts.back();
  parts.pop_back();
  return parts.empty() ? std::string(last) : fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

void report_capture(const RecordOptions& options, const Parts& parts, const RecordedMachine& machine,
                    const RecordedThreads& threads, const capture::MergeReport& report) {
  const std::size_t recordings =
      parts.captures.size() - (machine.path().empty() ? 0 : 1) - (threads.path().empty() ? 0 : 1);
  if (options.process != 0) {
    say("kymo: {} holds what the threads of process {} did, {}\n", printable(report.output), options.process,
        format_bytes(report.bytes));
  } else if (recordings == 0) {
    const std::string output = printable(report.output);
    const std::string next =
        threads.has_states() ? fmt::format("; `kymo explain {}` tells where its time went", output) : std::string();
    say("kymo: {} recorded nothing itself (no process called kymo::enable()); {} holds {}, {}{}\n",
        printable(options.command.front()), output, describe_content(machine, threads), format_bytes(report.bytes),
        next);
  } else {
    say("kymo: {}: {}, {}, {}\n", printable(report.output), format_plural(report.scopes, "scope"),
        format_plural(recordings, "recording"), format_bytes(report.bytes));
  }
}

/// Everything after the command's end. Returns false if the parts could not be merged.
bool finish(const RecordOptions& options, const capture::MergeOptions::Facts& facts, const RecordedMachine& machine,
            const RecordedThreads& threads, PartsDirectory& directory) {
  try {
    Parts parts = look_at_parts(directory.path());
    const capture::MergeReport report =
        gather_parts(parts, directory.path(), options.output, {facts}, parts.complaints);
    remove_spools(parts);
    for (const std::string& note : report.notes) {
      say("kymo: warning: {}\n", printable(note));
    }
    for (const std::string& complaint : parts.complaints) {
      say("kymo: warning: {}\n", printable(complaint));
    }
    for (const std::string& path : parts.being_written) {
      directory.keep();
      say("kymo: warning: {} is still being written; {} holds what was in it by now\n", printable(path),
          printable(report.output));
    }
    if (!options.is_quiet) {
      report_capture(options, parts, machine, threads, report);
    } else if (report.output != options.output) {
      // Whoever opens what was named would read another recording.
      say("kymo: {} is there already: this recording is {}\n", printable(options.output), printable(report.output));
    }
    if (options.reports_energy) {
      attempt([&] { report_energy(options, report.output); });
    }
    return true;
  } catch (const std::exception& failure) {
    directory.keep();
    say("kymo: {}\nkymo: what was recorded is in {}; `kymo merge` puts it together\n", printable(failure.what()),
        printable(directory.path()));
    return false;
  }
}

int run(const RecordOptions& options) {
  expect_file_name(options.output);
  if (!options.facts.empty()) {
    // For the processes to be started, and for the facts that kymo itself records.
    ::setenv("KYMO_FACTS", options.facts.c_str(), 1);
  }
  PartsDirectory directory(options.output);
  SpoolHolder holder(directory.path());
  ChildTree tree;
  RecordedMachine machine(options.sampling);
  // The command's processes are no workers of a recording that this one may belong to.
  ::unsetenv("KYMO_STARTER");
  ::unsetenv("KYMO_FOLLOW");
  std::vector<std::pair<std::string, std::string>> environment{{"KYMO_RECORD", directory.path() + "/"}};
  if (!holder.path().empty()) {
    environment.emplace_back("KYMO_SPOOL_HOLDER", holder.path());
  }
  // kymo samples the machine, or nobody does.
  environment.emplace_back("KYMO_MACHINE", "off");
  if (!options.hz.empty()) {
    environment.emplace_back("KYMO_SAMPLE", options.hz);
  }
  if (!options.sites.empty()) {
    environment.emplace_back("KYMO_SITES", options.sites);
  }
  RecordedThreads threads(options.threads, options.stacks_hz, options.sampling.hz[1]);
  const auto attach = [&](pid_t process) { attempt([&] { threads.attach(process); }); };
  if (const int error = tree.start(options.command, environment, attach); error != 0) {
    say("kymo: {}: {}\n", printable(options.command.front()), std::strerror(error));
    return to_int(error == ENOENT ? ExitCode::not_found : ExitCode::not_executable);
  }
  attempt([&] { threads.start(directory.path()); });
  attempt([&] { machine.start(directory.path(), tree.pid()); });
  tree.wait([&holder] { return holder.descriptors(); }, [&holder] { holder.receive(); });
  attempt([&] { threads.stop(); });
  attempt([&] { machine.stop(); });
  attempt([&] { holder.save(directory.path()); });
  const bool is_finished = finish(options, describe(tree, options.command), machine, threads, directory);
  return is_finished || tree.exit_code() != 0 ? tree.exit_code() : to_int(ExitCode::record_failed);
}

/// Records a process that runs already.
int run_attached(const RecordOptions& options) {
  expect_file_name(options.output);
  if (!options.facts.empty()) {
    ::setenv("KYMO_FACTS", options.facts.c_str(), 1);
  }
  RunningProcess process(options.process);
  PartsDirectory directory(options.output);
  RecordedMachine machine(options.sampling);
  RecordedThreads threads(options.threads, options.stacks_hz, options.sampling.hz[1]);
  threads.attach_running(options.process);
  threads.start(directory.path());
  attempt([&] { machine.start(directory.path(), options.process); });
  process.wait(options.duration_ns);
  attempt([&] { threads.stop(); });
  attempt([&] { machine.stop(); });
  const bool is_finished =
      finish(options, describe(options.process, process.command_line()), machine, threads, directory);
  return to_int(is_finished ? ExitCode::ok : ExitCode::record_failed);
}

/// Adds the command to the usage line, which is neither an option nor a positional of kymo's.
class RecordFormatter final : public CLI::Formatter {
 public:
  RecordFormatter() { column_width(34); }
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: kymo record [OPTIONS] -- COMMAND [ARGUMENTS...]\n       kymo record [OPTIONS] --pid PID\n";
  }
};

/// What is recorded of the command's threads without their doing.
void add_thread_arguments(CLI::App& command, const std::shared_ptr<RecordOptions>& options) {
  command
      .add_option_function<std::string>(
          "--threads",
          [options](const std::string& mode) { options->asked_threads = threads::parse_threads_mode(mode); },
          "What the command's threads did: states (running, pushed off, blocked; the default), stacks (as --stacks\n"
          "besides) or off; KYMO_THREADS says the same. Where the kernel refuses: each thread's CPU time at the medium rate")
      ->option_text("states|stacks|off")
      ->check([](const std::string& mode) {
        return threads::parse_threads_mode(mode) ? std::string() : std::string("needs states, stacks or off");
      });
  command
      .add_flag("--stacks{999}", options->stacks,
                "Sample the call stacks of whatever runs, 999 times in a second of CPU time, or --stacks=RATE times;\n"
                "`kymo stats --functions` shows them")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const auto hz = parse_number<std::uint32_t>(text);
            return hz && *hz >= 1 && *hz <= most_stacks_hz ? std::string()
                                                           : fmt::format("needs a rate from 1 to {}", most_stacks_hz);
          },
          ""));
}

/// A process in place of a command.
void add_process_arguments(CLI::App& command, const std::shared_ptr<RecordOptions>& options) {
  CLI::Option* const process =
      command
          .add_option(
              "--pid", options->process,
              "Record the threads of this process, which runs already, instead of a command; it notices nothing")
          ->option_text("PID")
          ->check(is_between(1, INT_MAX));
  command
      .add_option_function<std::string>(
          "--for", [options](const std::string& text) { options->duration_ns = *parse_duration(text); },
          "With --pid: for so long; else until it ends, or Ctrl-C")
      ->option_text("10s")
      ->needs(process)
      ->check([](const std::string& text) {
        const auto duration_ns = parse_duration(text);
        return duration_ns && *duration_ns > 0 ? std::string() : std::string("needs a duration such as 10s");
      });
}

}  // namespace

void add_record_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  const std::vector<std::string>& recorded = invocation.passed_on;
  auto options = std::make_shared<RecordOptions>();
  CLI::App* const command =
      app.add_subcommand("record", "Runs a command; everything it and its children record comes into one capture");
  command
      ->add_option("-o,--output", options->output,
                   "File to write (kymo.kymo); where it exists, one with a suffix is made")
      ->option_text("FILE");
  command->add_flag("-q,--quiet", options->is_quiet, "Say nothing when all went well");
  command
      ->add_option(
          "--hz", options->hz,
          "Sampling rates of the fast, medium and slow tier (100,10,1); 0 turns one off, a single 0 all, but no "
          "sensor with a rate of its own")
      ->option_text("FAST,MEDIUM,SLOW");
  command
      ->add_option("--sensor-hz", options->sensor_hz,
                   "Rates of single sensors, as `kymo doctor` advises them; nvml.fast is one's part of a tier")
      ->option_text("NAME=HZ,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--sites", options->sites,
                   "Record only scopes and instrumented functions whose names match a pattern, and none\n"
                   "that match one behind a '-': 'render*,-*log*'; sets KYMO_SITES")
      ->option_text("PATTERN,-PATTERN,...")
      ->check([](const std::string& text) {
        return control::parse_sites(text) ? std::string() : std::string("needs patterns such as render*,-*log*");
      });
  command
      ->add_option("--facts", options->facts,
                   "Keep only facts whose names match a pattern, and none that match one behind a '-': none,\n"
                   "'-host,-command_line,-executable'; sets KYMO_FACTS")
      ->option_text("PATTERN,-PATTERN,...")
      ->check([](const std::string& text) {
        return control::parse_sites(text) ? std::string() : std::string("needs patterns such as -host,-command_line");
      });
  CLI::Option* const energy =
      command->add_flag("--report-energy", options->reports_energy,
                        "End with a line on the energy that this machine used meanwhile, all its programs together");
  command->add_option("--price", options->price, "With --report-energy: what a kilowatt hour costs")
      ->option_text("0.30EUR/kWh")
      ->needs(energy);
  command->add_option("--co2", options->co2, "With --report-energy: the grams of CO2 of a kilowatt hour")
      ->option_text("350g/kWh")
      ->needs(energy);
  add_sensor_arguments(*command, options->sampling.sensors);
  command
      ->add_option_function<std::string>(
          "--machine",
          [options](const std::string& mode) { options->sampling.machine = *sense::parse_machine_mode(mode); },
          "Who samples the machine: this kymo (own, the default), one of all that record here and say shared, or\n"
          "nobody (off); the command's processes are sampled in any case")
      ->option_text("own|shared|off")
      ->check([](const std::string& mode) {
        return sense::parse_machine_mode(mode) ? std::string() : std::string("needs own, shared or off");
      });
  add_thread_arguments(*command, options);
  add_process_arguments(*command, options);
  command->prefix_command();
  command->formatter(std::make_shared<RecordFormatter>());
  command->footer(
      "Programs join that call kymo::enable() (or kymo_enable()), their forks and what they execute as well. The other KYMO_*\n"
      "variables work as ever. Signals are passed on, and kymo ends as the command did. The CPU time, memory and faults of\n"
      "all its processes are in the capture's facts (`kymo info`). Meanwhile kymo samples the machine and the command's\n"
      "process tree; `kymo doctor` says what can be sampled here.\n\n"
      "Examples:\n"
      "  kymo record -- ./train --steps 100\n"
      "  kymo record -o run.kymo -- mpirun -n 4 ./solver\n"
      "  kymo record --hz 1000,100,10 --sensors cpu,memory,process -- make -j2\n"
      "  kymo record --sensor-hz nvml.fast=1000 -- ./train\n"
      "  kymo record --stacks -- python3 simulate.py\n"
      "  kymo record --stacks --pid 4711 --for 10s\n"
      "  kymo record --report-energy --price 0.30EUR/kWh --co2 350g/kWh -- ./train\n"
      "  kymo record --sites 'render*,-*log*' -- ./game\n"
      "  KYMO_SCOPE_EVERY=10 kymo record -o long.kymo -- ./game");
  command->callback([options, command, &recorded, &exit_code] {
    options->command = command->remaining();
    if (!options->command.empty() && options->command.front().rfind('-', 0) == 0) {
      throw CLI::ExtrasError({options->command.front()});
    }
    options->command.insert(options->command.end(), recorded.begin(), recorded.end());
    if (options->command.empty() && options->process == 0) {
      throw CLI::RequiredError("COMMAND");
    }
    if (!options->command.empty() && options->process != 0) {
      throw CLI::ValidationError("--pid", "is in place of a command");
    }
    try {
      if (!options->hz.empty()) {
        options->sampling.hz = parse_hz(options->hz);
      }
      if (!options->price.empty()) {
        options->factors.price = parse_price(options->price);
      }
      if (!options->co2.empty()) {
        options->factors.co2 = parse_co2(options->co2);
      }
      options->threads = options->asked_threads ? *options->asked_threads
                                                : threads::threads_mode_of_environment().value_or(ThreadsMode::states);
      if (options->stacks.empty() && options->threads == ThreadsMode::stacks) {
        options->stacks_hz = usual_stacks_hz;
      } else {
        options->stacks_hz = parse_number<std::uint32_t>(options->stacks).value_or(0);
      }
      for (const std::string& rate : options->sensor_hz) {
        options->sampling.sensor_hz.push_back(parse_sensor_hz(rate));
      }
      exit_code = options->process != 0 ? run_attached(*options) : run(*options);
    } catch (const std::exception& failure) {
      say("kymo: {}\n", failure.what());
      exit_code = to_int(ExitCode::record_failed);
    }
  });
}

}  // namespace kymo::command
