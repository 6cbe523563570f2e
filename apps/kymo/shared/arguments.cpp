// Options shared by several subcommands.
#include "apps/kymo/shared/arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/command.hpp"

namespace kymo::command {

namespace fs = std::filesystem;

void add_capture_arguments(CLI::App& command, CaptureArguments& arguments) {
  command.add_option("CAPTURE", arguments.paths, "Captures, or directories of captures")->required();
  command.add_flag("--sync", arguments.align_by_sync_points,
                   "Align captures of different machines by the sync points they share, not by wall clock");
}

void add_redact_argument(CLI::App& command, CaptureArguments& arguments) {
  command.add_flag("--redact", arguments.redacts,
                   "Leave out host, command line, facts that may tell who ran what, and directories of files");
}

void add_force_argument(CLI::App& command, bool& is_forced) {
  command.add_flag("--force", is_forced, "Overwrite whatever file is there, except one that is being read");
}

void add_sensor_arguments(CLI::App& command, SensorOptions& options) {
  command
      .add_option("--sensors", options.sensors,
                  "Sensors to read, as `kymo doctor` lists them (all); -NAME leaves one out")
      ->option_text("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--root", options.root, "Read the machine's files below this directory (/)")->option_text("DIR");
}

Timeline open_timeline(const CaptureArguments& arguments) {
  TimelineOptions options;
  options.align_by_sync_points = arguments.align_by_sync_points;
  options.redacts = arguments.redacts;
  return Timeline(arguments.paths, options);
}

std::vector<std::string> list_captures(const CaptureArguments& arguments) {
  std::vector<std::string> captures;
  for (const std::string& path : arguments.paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      captures.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path)) {
      std::error_code ignored;
      if (entry.path().extension() == ".kymo" && entry.is_regular_file(ignored)) {
        found.push_back(entry.path().string());
      }
    }
    if (found.empty()) {
      throw Failure(fmt::format("{}: the directory holds no captures (files *.kymo)", path));
    }
    std::sort(found.begin(), found.end());
    captures.insert(captures.end(), found.begin(), found.end());
  }
  return captures;
}

}  // namespace kymo::command
