// Options shared by several subcommands.
#pragma once

#include <string>
#include <vector>

#include <kymo/sampler.hpp>
#include <kymo/timeline.hpp>

namespace CLI {
class App;
}

namespace kymo::command {

/// Captures and how to align them on one axis.
struct CaptureArguments {
  std::vector<std::string> paths;
  bool align_by_sync_points = false;
  bool redacts = false;
};

/// Adds CAPTURE... and --sync to a subcommand.
void add_capture_arguments(CLI::App& command, CaptureArguments& arguments);

/// Adds --redact to a subcommand whose output is meant for others.
void add_redact_argument(CLI::App& command, CaptureArguments& arguments);

/// Adds --force to a subcommand whose -o may name an existing file.
void add_force_argument(CLI::App& command, bool& is_forced);

/// Adds --sensors and --root to a subcommand.
void add_sensor_arguments(CLI::App& command, SensorOptions& options);

/// Opens the captures. Throws Failure if that is not possible.
[[nodiscard]] Timeline open_timeline(const CaptureArguments& arguments);

/// The paths of the captures: named files, and the contents of named directories.
[[nodiscard]] std::vector<std::string> list_captures(const CaptureArguments& arguments);

}  // namespace kymo::command
