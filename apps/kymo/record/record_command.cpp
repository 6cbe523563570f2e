// kymo record: runs a command and combines the recordings of all its processes in one capture.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/record/child_tree.hpp"
#include "apps/kymo/record/energy_report.hpp"
#include "apps/kymo/record/recorded_machine.hpp"
#include "apps/kymo/record/recorded_parts.hpp"
#include "apps/kymo/record/spool_holder.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/text/pattern_list.hpp"
#include "capture/merge/merge.hpp"
#include "control/environment.hpp"
#include "control/run_facts.hpp"
#include "stats/energy/energy.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;

struct RecordOptions {
  std::string output = "kymo.kymo";
  bool is_quiet = false;
  std::string hz;
  std::vector<std::string> sensor_hz;
  std::string sites;
  std::string facts;
  SamplingOptions sampling;
  bool reports_energy = false;
  std::string price;
  std::string co2;
  EnergyFactors factors;
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

/// The facts of the run and the resources it used.
capture::MergeOptions::Facts describe(const ChildTree& tree, const std::vector<std::string>& command) {
  capture::MergeOptions::Facts facts;
  Declarations machine = control::describe_run();
  facts.process = machine.processes.front();
  facts.process.pid = static_cast<std::uint64_t>(tree.pid());
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
  const TreeUsage& usage = tree.usage();
  const auto add = [&facts](const char* key, std::uint64_t value) {
    facts.infos.emplace_back(key, std::to_string(value));
  };
  if (base::wants_fact("command_line")) {
    facts.infos.emplace_back("record.command", facts.process.command_line);
  } else {
    facts.process.command_line.clear();
  }
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

/// What the capture holds.
void report_capture(const RecordOptions& options, const Parts& parts, const RecordedMachine& machine,
                    const capture::MergeReport& report) {
  const std::size_t recordings = parts.captures.size() - (machine.path().empty() ? 0 : 1);
  if (recordings == 0) {
    say("kymo: {} recorded nothing itself (no process called kymo::enable()); {} holds {}, {}\n",
        printable(options.command.front()), printable(report.output),
        machine.path().empty() ? "the facts of the run" : "what the machine felt meanwhile",
        format_bytes(report.bytes));
  } else {
    say("kymo: {}: {}, {}, {}\n", printable(report.output), format_plural(report.scopes, "scope"),
        format_plural(recordings, "recording"), format_bytes(report.bytes));
  }
}

/// Everything after the command's end. Returns false if the parts could not be merged.
bool finish(const RecordOptions& options, const ChildTree& tree, const SpoolHolder& holder,
            const RecordedMachine& machine, PartsDirectory& directory) {
  try {
    holder.save(directory.path());
    Parts parts = look_at_parts(directory.path());
    const capture::MergeReport report =
        gather_parts(parts, directory.path(), options.output, {describe(tree, options.command)}, parts.complaints);
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
      report_capture(options, parts, machine, report);
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
  if (const int error = tree.start(options.command, environment); error != 0) {
    say("kymo: {}: {}\n", printable(options.command.front()), std::strerror(error));
    return to_int(error == ENOENT ? ExitCode::not_found : ExitCode::not_executable);
  }
  attempt([&] { machine.start(directory.path(), tree.pid()); });
  tree.wait([&holder] { return holder.descriptors(); }, [&holder] { holder.receive(); });
  attempt([&] { machine.stop(); });
  const bool is_finished = finish(options, tree, holder, machine, directory);
  return is_finished || tree.exit_code() != 0 ? tree.exit_code() : to_int(ExitCode::record_failed);
}

/// Adds the command to the usage line, which is neither an option nor a positional of kymo's.
class RecordFormatter final : public CLI::Formatter {
 public:
  RecordFormatter() { column_width(34); }
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: kymo record [OPTIONS] -- COMMAND [ARGUMENTS...]\n";
  }
};

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
      ->add_option("--hz", options->hz,
                   "Sampling rates of the fast, medium and slow tier (100,10,1); 0 turns one off, a single 0 all")
      ->option_text("FAST,MEDIUM,SLOW");
  command
      ->add_option("--sensor-hz", options->sensor_hz,
                   "Rates of single sensors, as `kymo doctor` advises them; nvml.fast is one's part of a tier")
      ->option_text("NAME=HZ,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--sites", options->sites,
                   "Record only sites whose names match a pattern, and none that match one behind a '-':\n"
                   "'render*,-*log*'; sets KYMO_SITES")
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
      "  kymo record --report-energy --price 0.30EUR/kWh --co2 350g/kWh -- ./train\n"
      "  kymo record --sites 'render*,-*log*' -- ./game\n"
      "  KYMO_SCOPE_EVERY=10 kymo record -o long.kymo -- ./game");
  command->callback([options, command, &recorded, &exit_code] {
    options->command = command->remaining();
    if (!options->command.empty() && options->command.front().rfind('-', 0) == 0) {
      throw CLI::ExtrasError({options->command.front()});
    }
    options->command.insert(options->command.end(), recorded.begin(), recorded.end());
    if (options->command.empty()) {
      throw CLI::RequiredError("COMMAND");
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
      for (const std::string& rate : options->sensor_hz) {
        options->sampling.sensor_hz.push_back(parse_sensor_hz(rate));
      }
      exit_code = run(*options);
    } catch (const std::exception& failure) {
      say("kymo: {}\n", failure.what());
      exit_code = to_int(ExitCode::record_failed);
    }
  });
}

}  // namespace kymo::command
