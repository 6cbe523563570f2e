// kymo recover: completes the capture of a killed process.
#include "capture/recover/recovery.hpp"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <kymo/exchange.hpp>

#include "apps/kymo/record/recorded_parts.hpp"
#include "apps/kymo/record/spool_table.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "capture/recover/leftovers.hpp"

namespace kymo::command {

namespace {

struct RecoverArguments {
  CaptureArguments captures;
  std::string output;
  std::string format;
  bool keeps_spool = false;
  bool is_forced = false;
  bool takes_all = false;
  bool is_dry_run = false;
  bool is_json = false;
};

/// The path of a capture's NVMT trace: next to it, run.nvmt for run.kymo and for run.nvmt.kymo.
std::string nvmt_path(const std::string& capture) {
  std::filesystem::path path(capture);
  if (path.extension() == ".kymo") {
    path.replace_extension();
  }
  if (path.extension() != ".nvmt") {
    path += ".nvmt";
  }
  return path.string();
}

/// Writes a recovered capture's metrics as an NVMT trace.
std::string write_nvmt(const std::string& capture) {
  std::string path = nvmt_path(capture);
  const NvmtExportReport report = export_nvmt(Timeline(capture), path);
  for (const std::string& what : report.left_out) {
    say("warning: {}: NVMT has no room for {}\n", printable(path), printable(what));
  }
  return path;
}

/// The results for the named captures.
struct Outcome {
  int exit_code = to_int(ExitCode::ok);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();

  void fail(const std::exception& failure) {
    say("kymo: {}\n", printable(failure.what()));
    exit_code = to_int(ExitCode::failed);
  }
  void warn(const std::string& path, const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
      say("warning: {}: {}\n", printable(path), printable(note));
    }
    if (!notes.empty() && exit_code == to_int(ExitCode::ok)) {
      exit_code = to_int(ExitCode::damaged);
    }
  }
};

void recover_capture(const RecoverArguments& arguments, const std::string& path, Outcome& outcome) {
  Progress progress("recovering");
  capture::RecoverOptions options;
  options.output = arguments.output;
  options.keeps_spool = arguments.keeps_spool;
  options.is_forced = arguments.is_forced;
  options.on_progress = [&progress](std::uint64_t done, std::uint64_t total) {
    progress.update(total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total));
  };
  const capture::RecoveryReport report = capture::recover(path, options);
  const std::string nvmt = arguments.format == "nvmt" ? write_nvmt(report.output) : std::string();
  outcome.warn(path, report.notes);
  if (arguments.is_json) {
    outcome.rows.push_back({{"capture", path},
                            {"output", report.output},
                            {"was_closed", report.was_closed},
                            {"recovered_scope_events", report.recovered_scope_events},
                            {"notes", report.notes}});
    if (!nvmt.empty()) {
      outcome.rows.back()["nvmt"] = nvmt;
    }
    return;
  }
  if (report.was_closed) {
    fmt::print("{}: was closed; there is nothing to recover\n", printable(path));
  } else if (report.recovered_scope_events == 0) {
    fmt::print("{}: shared memory has no scope that the file lacks; {} is closed now\n", printable(path),
               printable(report.output));
  } else {
    fmt::print("{}: {} were only in shared memory and are in {} now\n", printable(path),
               format_plural(report.recovered_scope_events, "scope event"), printable(report.output));
  }
  if (!nvmt.empty()) {
    fmt::print("{}: written\n", printable(nvmt));
  }
}

/// Joins the parts left by a killed `kymo record`.
void join_parts(const RecoverArguments& arguments, const std::string& path, const std::string& parts,
                Outcome& outcome) {
  const std::string output = arguments.output.empty() ? path : arguments.output;
  if (!arguments.output.empty() && std::filesystem::exists(output)) {
    throw Failure(fmt::format("{}: exists; the parts of a recording go to a new file", output));
  }
  const JoinedParts joined = join_left_parts(parts, output, arguments.keeps_spool);
  outcome.warn(joined.merge.output, joined.merge.notes);
  outcome.warn(joined.merge.output, joined.complaints);
  if (arguments.is_json) {
    outcome.rows.push_back({{"parts", parts}, {"output", joined.merge.output}, {"recordings", joined.recordings}});
  } else {
    fmt::print("{}: {} of a `kymo record` that was killed are in {} now\n", printable(parts),
               format_plural(joined.recordings, "recording"), printable(joined.merge.output));
  }
}

/// Clears leftovers in shared memory.
int clear_all(const RecoverArguments& arguments) {
  std::vector<capture::Leftover> leftovers = capture::list_leftovers();
  if (!arguments.is_json && !leftovers.empty()) {
    print_leftovers(leftovers);
  }
  int exit_code = to_int(ExitCode::ok);
  std::uint64_t cleared_bytes = 0;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (capture::Leftover& leftover : leftovers) {
    const bool is_cleared = !arguments.is_dry_run && capture::clear_leftover(leftover, arguments.is_forced);
    cleared_bytes += is_cleared ? leftover.bytes : 0;
    const bool is_wanted =
        leftover.state == capture::Leftover::State::unwritten || leftover.state == capture::Leftover::State::covered;
    if (!arguments.is_dry_run && !is_cleared && is_wanted) {
      say("kymo: {}: {}\n", printable(leftover.path), printable(leftover.note));
      exit_code = to_int(ExitCode::failed);
    }
    rows.push_back(command::to_json(leftover));
    rows.back()["is_cleared"] = is_cleared;
  }
  if (arguments.is_json) {
    print_json(rows);
  } else if (leftovers.empty()) {
    fmt::print("there is nothing in {}\n", capture::shared_memory);
  } else if (!arguments.is_dry_run) {
    fmt::print("{} given back\n", format_bytes(cleared_bytes));
  }
  return exit_code;
}

int run(const RecoverArguments& arguments) {
  if (arguments.takes_all) {
    return clear_all(arguments);
  }
  const auto [captures, empty] = list_captures(arguments.captures);
  if (!arguments.output.empty() && captures.size() > 1) {
    throw Failure("-o names one file, and there are several captures to recover");
  }
  for (const std::string& file : empty) {
    say("warning: {}\n", describe_empty_file(file));
  }
  Outcome outcome;
  for (const std::string& path : captures) {
    // Continue with the others after a failure.
    try {
      const std::vector<std::string> parts = find_left_parts(path);
      if (parts.empty() || std::filesystem::exists(path)) {
        recover_capture(arguments, path, outcome);
      }
      for (const std::string& directory : parts) {
        join_parts(arguments, path, directory, outcome);
      }
    } catch (const std::exception& failure) {
      outcome.fail(failure);
    }
  }
  if (arguments.is_json) {
    print_json(outcome.rows);
  }
  return outcome.exit_code;
}

}  // namespace

void add_recover_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<RecoverArguments>();
  CLI::App* const command = app.add_subcommand(
      "recover", "Folds what a killed process left in shared memory into its capture, and closes it");
  CLI::Option* const captures =
      command->add_option("CAPTURE", options->captures.paths, "Captures, or directories of captures");
  command->add_option("-o,--output", options->output, "Write here and leave the capture as it is")->option_text("FILE");
  command
      ->add_option(
          "--to", options->format,
          "Also write what the machine felt in another format, beside the capture: nvmt (run.nvmt for run.kymo "
          "and for run.nvmt.kymo)")
      ->check(is_one_of({"nvmt"}, "format"))
      ->option_text("FORMAT");
  command->add_flag("--keep-spool", options->keeps_spool, "Leave the shared memory in place");
  command->add_flag("--force", options->is_forced,
                    "Recover what may still be written or have a spool that cannot be seen from here; replace FILE");
  CLI::Option* const all =
      command->add_flag("--all", options->takes_all,
                        "Recover everything that dead processes left in shared memory, and delete what nobody needs");
  // It would delete a spool that is to be kept, and recover more than the captures that are named.
  for (CLI::Option* const of_captures :
       {captures, command->get_option("--output"), command->get_option("--to"), command->get_option("--keep-spool")}) {
    all->excludes(of_captures);
  }
  command->add_flag("--dry-run", options->is_dry_run, "With --all: list it, change nothing")->needs(all);
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Until the machine restarts, everything a process recorded before it was killed can be recovered. Where a\n"
      "`kymo record` was killed, CAPTURE is what it was to write.\n\n"
      "Examples:\n"
      "  kymo recover run.kymo\n"
      "  kymo recover captures/\n"
      "  kymo recover --all --dry-run\n"
      "  kymo recover --to nvmt run.nvmt.kymo\n"
      "  kymo recover -o whole.kymo run.kymo");
  command->callback([options, &exit_code] {
    if (options->captures.paths.empty() && !options->takes_all) {
      throw CLI::RequiredError("CAPTURE or --all");
    }
    exit_code = run(*options);
  });
}

}  // namespace kymo::command
