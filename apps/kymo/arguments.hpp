// Options that several subcommands have.
#pragma once

#include <string>
#include <vector>

#include <kymo/sampler.hpp>
#include <kymo/timeline.hpp>

namespace CLI {
class App;
}

namespace kymo::command {

/// Captures and how to put them on one axis.
struct CaptureArguments {
  std::vector<std::string> paths;
  bool align_by_sync_points = false;
  bool redacts = false;
};

/// Adds CAPTURE... and --sync to a subcommand.
void add_capture_arguments(CLI::App& command, CaptureArguments& arguments);

/// Adds --redact to a subcommand whose output is given away.
void add_redact_argument(CLI::App& command, CaptureArguments& arguments);

/// Adds --force to a subcommand whose -o may name a file that is there.
void add_force_argument(CLI::App& command, bool& is_forced);

/// Adds --sensors and --root to a subcommand.
void add_sensor_arguments(CLI::App& command, SensorOptions& options);

/// Opens what the arguments name. Failure where that cannot be.
[[nodiscard]] Timeline open_timeline(const CaptureArguments& arguments);

/// The captures that the arguments name: files as they are, and what directories hold.
[[nodiscard]] std::vector<std::string> list_captures(const CaptureArguments& arguments);

}  // namespace kymo::command
