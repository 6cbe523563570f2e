// Options shared by several subcommands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kymo/sampler.hpp>
#include <kymo/statistics.hpp>
#include <kymo/timeline.hpp>

#include "apps/kymo/shared/ranges.hpp"

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

/// The selected part of the captures.
struct SelectionArguments {
  std::vector<std::string> sites;
  std::vector<std::string> threads;
  std::optional<FrameRange> frames;
  std::optional<RelativeRange> time;
  std::optional<std::uint64_t> phase;

  [[nodiscard]] bool has_selection() const { return !sites.empty() || !threads.empty() || frames || time || phase; }
};

/// Adds CAPTURE... and --sync to a subcommand. A capture that is named twice counts once, which is said.
void add_capture_arguments(CLI::App& command, CaptureArguments& arguments);

/// Adds --redact to a subcommand whose output is meant for others.
void add_redact_argument(CLI::App& command, bool& redacts);
/// Reduces the paths of captures in a text to their names.
void cut_directories(const std::vector<std::string>& captures, std::string& text);

/// Adds --site, --thread, --frames, --time and --phase. `of_sites` is the help of --site.
void add_selection_arguments(CLI::App& command, SelectionArguments& options, const std::string& of_sites);

/// The selected part of a timeline.
[[nodiscard]] SelectionOptions selection_of(const Timeline& timeline, const SelectionArguments& options);

/// Adds --force to a subcommand whose -o may name an existing file.
void add_force_argument(CLI::App& command, bool& is_forced);

/// Adds --sensors and --root to a subcommand.
void add_sensor_arguments(CLI::App& command, SensorOptions& options);

/// The path of an output: "-" is standard output.
[[nodiscard]] std::string output_path(const std::string& named);

/// Opens the captures. Throws Failure if that is not possible.
[[nodiscard]] Timeline open_timeline(const CaptureArguments& arguments);

struct ListedCaptures {
  std::vector<std::string> paths;
  std::vector<std::string> empty;  ///< files left out because they are empty and others are not
};

/// The paths of the captures: named files, and the contents of named directories. Throws Failure if a directory holds
/// none, and CaptureError if it cannot be listed.
[[nodiscard]] ListedCaptures list_captures(const CaptureArguments& arguments);

/// What is said of a file left out because it is empty.
[[nodiscard]] std::string describe_empty_file(const std::string& path);

}  // namespace kymo::command
