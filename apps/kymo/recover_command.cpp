// kymo recover: makes the capture of a killed process whole.
#include "capture/recovery.hpp"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <kymo/exchange.hpp>

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
  std::string format;
  bool keeps_spool = false;
  bool is_json = false;
};

/// Where the NVMT trace of a capture goes: beside it, run.nvmt for run.kymo and for run.nvmt.kymo.
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

/// Writes what a recovered capture holds of its machine.
std::string write_nvmt(const std::string& capture) {
  std::string path = nvmt_path(capture);
  const NvmtExportReport report = export_nvmt(Timeline(capture), path);
  for (const std::string& what : report.left_out) {
    fmt::print(stderr, "warning: {}: NVMT has no room for {}\n", printable(path), printable(what));
  }
  return path;
}

int run(const RecoverArguments& arguments) {
  const std::vector<std::string> captures = list_captures(arguments.captures);
  if (!arguments.output.empty() && captures.size() > 1) {
    throw Failure("-o names one file, and there are several captures to recover");
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  int exit_code = to_int(ExitCode::ok);
  for (const std::string& path : captures) {
    capture::RecoveryReport report;
    std::string nvmt;
    try {
      Progress progress("recovering");
      capture::RecoverOptions options;
      options.output = arguments.output;
      options.keeps_spool = arguments.keeps_spool;
      options.on_progress = [&progress](std::uint64_t done, std::uint64_t total) {
        progress.update(total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total));
      };
      report = capture::recover(path, options);
      if (arguments.format == "nvmt") {
        nvmt = write_nvmt(report.output);
      }
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
      if (!nvmt.empty()) {
        rows.back()["nvmt"] = nvmt;
      }
    } else if (report.was_closed) {
      fmt::print("{}: was closed; there is nothing to recover\n", printable(path));
    } else {
      fmt::print("{}: {} were only in shared memory and are in {} now\n", printable(path),
                 format_plural(report.recovered_scope_events, "scope event"), printable(report.output));
    }
    if (!nvmt.empty() && !arguments.is_json) {
      fmt::print("{}: written\n", printable(nvmt));
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
  command
      ->add_option(
          "--to", options->format,
          "Also write what the machine felt in another format, beside the capture: nvmt (run.nvmt for run.kymo "
          "and for run.nvmt.kymo)")
      ->check(CLI::IsMember({"nvmt"}))
      ->option_text("FORMAT");
  command->add_flag("--keep-spool", options->keeps_spool, "Leave the shared memory in place");
  command->add_flag("--json", options->is_json, "Print JSON");
  command->footer(
      "Until the machine restarts, everything a process recorded before it was killed can be recovered.\n\n"
      "Examples:\n"
      "  kymo recover run.kymo\n"
      "  kymo recover captures/\n"
      "  kymo recover --to nvmt run.nvmt.kymo\n"
      "  kymo recover -o whole.kymo run.kymo");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
