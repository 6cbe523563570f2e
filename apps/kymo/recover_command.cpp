// kymo recover: makes the capture of a killed process whole.
#include "capture/recovery.hpp"

#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "progress.hpp"
#include "units.hpp"
#include "warnings.hpp"

namespace kymo::command {

namespace {

struct RecoverArguments {
  CaptureArguments captures;
  std::string output;
  bool keeps_spool = false;
  bool is_json = false;
};

int run(const RecoverArguments& arguments) {
  const std::vector<std::string> captures = list_captures(arguments.captures);
  if (!arguments.output.empty() && captures.size() > 1) {
    throw Failure("-o names one file, and there are several captures to recover");
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  int exit_code = to_int(ExitCode::ok);
  for (const std::string& path : captures) {
    capture::RecoveryReport report;
    try {
      Progress progress("recovering");
      capture::RecoverOptions options;
      options.output = arguments.output;
      options.keeps_spool = arguments.keeps_spool;
      options.on_progress = [&progress](std::uint64_t done, std::uint64_t total) {
        progress.update(total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total));
      };
      report = capture::recover(path, options);
    } catch (const std::exception& failure) {
      // The others can still be recovered.
      fmt::print(stderr, "kymo: {}\n", printable(failure.what()));
      exit_code = to_int(ExitCode::failed);
      continue;
    }
    for (const std::string& note : report.notes) {
      fmt::print(stderr, "warning: {}: {}\n", printable(path), printable(note));
    }
    if (!report.notes.empty() && exit_code == to_int(ExitCode::ok)) {
      exit_code = to_int(ExitCode::damaged);
    }
    if (arguments.is_json) {
      rows.push_back({{"capture", path},
                      {"output", report.output},
                      {"was_closed", report.was_closed},
                      {"recovered_scope_events", report.recovered_scope_events},
                      {"notes", report.notes}});
    } else if (report.was_closed) {
      fmt::print("{}: was closed; there is nothing to recover\n", printable(path));
    } else {
      fmt::print("{}: {} were only in shared memory and are in {} now\n", printable(path),
                 format_plural(report.recovered_scope_events, "scope event"), printable(report.output));
    }
  }
  if (arguments.is_json) {
    print_json(rows);
  }
  return exit_code;
}

}  // namespace

void add_recover_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RecoverArguments>();
  CLI::App* const command = app.add_subcommand(
      "recover", "Folds what a killed process left in shared memory into its capture, and closes it");
  command->add_option("CAPTURE", options->captures.paths, "Captures, or directories of captures")->required();
  command->add_option("-o,--output", options->output, "Write here and leave the capture as it is")->option_text("FILE");
  command->add_flag("--keep-spool", options->keeps_spool, "Leave the shared memory in place");
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Until the machine restarts, everything a process recorded before it was killed can be recovered.\n\n"
      "Examples:\n"
      "  kymo recover run.kymo\n"
      "  kymo recover captures/\n"
      "  kymo recover -o whole.kymo run.kymo");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
