// Options shared by several subcommands.
#include "apps/kymo/shared/arguments.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "base/time_math.hpp"
#include "capture/read/capture_files.hpp"

namespace kymo::command {

namespace fs = std::filesystem;

namespace {

/// The place a path leads to; the path itself where there is none.
fs::path canonical_place(const fs::path& path) {
  std::error_code error;
  const fs::path place = fs::canonical(path, error);
  return error ? path : place;
}

/// The paths without those that name a capture or a directory once more, or a capture of a directory that is named too.
std::vector<std::string> without_repeats(const std::vector<std::string>& paths) {
  std::set<fs::path> places;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      places.insert(canonical_place(path));
    }
  }
  std::set<fs::path> taken;
  std::vector<std::string> kept;
  for (const std::string& path : paths) {
    const fs::path place = canonical_place(path);
    std::error_code error;
    const bool is_in_directory = place.extension() == ".kymo" && !fs::is_directory(place, error) &&
                                 (places.count(canonical_place(fs::path(path).parent_path() / ".")) != 0 ||
                                  places.count(place.parent_path()) != 0);
    if (is_in_directory || !taken.insert(place).second) {
      say("warning: {} is named more than once and counts once\n", path);
    } else {
      kept.push_back(path);
    }
  }
  return kept;
}

}  // namespace

void add_capture_arguments(CLI::App& command, CaptureArguments& arguments) {
  command
      .add_option_function<std::vector<std::string>>(
          "CAPTURE", [&arguments](const std::vector<std::string>& paths) { arguments.paths = without_repeats(paths); },
          "Captures, or directories of captures")
      ->required();
  command.add_flag("--sync", arguments.align_by_sync_points,
                   "Align captures of different machines by the sync points they share, not by wall clock");
}

void add_redact_argument(CLI::App& command, bool& redacts) {
  command.add_flag("--redact", redacts,
                   "Leave out host, command line, facts that may tell who ran what, and directories of files");
}

void cut_directories(const std::vector<std::string>& captures, std::string& text) {
  for (const std::string& path : captures) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    for (std::size_t at = text.find(path); !directory.empty() && at != std::string::npos; at = text.find(path)) {
      text.erase(at, directory.size());
    }
  }
}

void add_force_argument(CLI::App& command, bool& is_forced) {
  command.add_flag("--force", is_forced, "Overwrite whatever file is there, except one that is being read");
}

void add_selection_arguments(CLI::App& command, SelectionArguments& options, const std::string& of_sites) {
  command.add_option("--site", options.sites, of_sites)->option_text("PATTERN")->allow_extra_args(false);
  command.add_option("--thread", options.threads, "Only tracks whose name fits; may be repeated")
      ->option_text("PATTERN")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--frames", [&options](const std::string& text) { options.frames = parse_frames(text); },
          "Only these frames of the main frame stream, numbered from 1, both included: 10..20, 10.., ..20, 7")
      ->option_text("A..B")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_frames(text)
                       ? std::string()
                       : text + " is no range of frames: 10..20, 10.., ..20 or 7, the lower one first, numbered from 1";
          },
          ""));
  command
      .add_option_function<std::string>(
          "--time", [&options](const std::string& text) { options.time = parse_time(text); },
          "Only this stretch, counted from the start of the recording: 1.5s..2s, 250ms.., ..3min")
      ->option_text("FROM..TO")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_time(text)
                       ? std::string()
                       : text +
                             " is no stretch of time: 1.5s..2s, 250ms.. or ..3min, the earlier end first, units ns, us, ms, s, min, h";
          },
          ""));
  command.add_option("--phase", options.phase, "Only the phase that begins with this sync point")
      ->option_text("N")
      ->check(is_whole());
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

SelectionOptions selection_of(const Timeline& timeline, const SelectionArguments& options) {
  SelectionOptions chosen;
  chosen.sites = options.sites;
  chosen.threads = options.threads;
  chosen.frames = options.frames;
  chosen.phase = options.phase;
  if (options.time) {
    const std::int64_t zero_ns = timeline.range().start_ns;
    chosen.time.start_ns = base::add_length(zero_ns, options.time->start_ns);
    chosen.time.end_ns = options.time->end_ns ? base::add_length(zero_ns, *options.time->end_ns) : chosen.time.end_ns;
  }
  return chosen;
}

std::string output_path(const std::string& named) {
  return named == "-" ? "/dev/stdout" : named;
}

Timeline open_timeline(const CaptureArguments& arguments) {
  TimelineOptions options;
  options.align_by_sync_points = arguments.align_by_sync_points;
  options.redacts = arguments.redacts;
  return Timeline(arguments.paths, options);
}

ListedCaptures list_captures(const CaptureArguments& arguments) {
  ListedCaptures listed;
  std::vector<std::string>& paths = listed.paths;
  for (const std::string& path : arguments.paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      paths.push_back(path);
      continue;
    }
    const std::vector<std::string> found = capture::captures_in(path);
    if (found.empty()) {
      throw Failure(fmt::format("{}: the directory holds no captures (files *.kymo)", path));
    }
    paths.insert(paths.end(), found.begin(), found.end());
  }
  const auto empty = std::stable_partition(paths.begin(), paths.end(),
                                           [](const std::string& path) { return !capture::is_empty_file(path); });
  if (empty != paths.begin()) {
    listed.empty.assign(empty, paths.end());
    paths.erase(empty, paths.end());
  }
  return listed;
}

std::string describe_empty_file(const std::string& path) {
  return fmt::format("{}: is empty: nothing was recorded into it", printable(path));
}

}  // namespace kymo::command
