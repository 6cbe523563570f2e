// kymo merge: combines several captures.
#include "capture/merge/merge.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "timeline/unwritten.hpp"

namespace kymo::command {

namespace {

struct MergeArguments {
  CaptureArguments captures;
  std::string output;
  int level = 3;
};

int run(const MergeArguments& arguments) {
  std::vector<std::filesystem::path> inputs;
  Warnings unread;
  std::vector<std::string> complaints;
  std::vector<std::string> new_complaints;
  {
    const Timeline timeline = open_timeline(arguments.captures);
    for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
      inputs.emplace_back(timeline.capture(i).path());
    }
    unread = find_unread(timeline);
    complaints = timeline.complaints();
  }
  unread.print();
  capture::MergeReport report;
  {
    Progress progress("merging");
    capture::MergeOptions options;
    options.compression_level = arguments.level;
    options.redacts = arguments.captures.redacts;
    options.align_by_sync_points = arguments.captures.align_by_sync_points;
    options.find_unwritten = [&](CaptureReader& reader) {
      std::vector<std::string> found;
      std::vector<EventBatch> batches = timeline::find_unwritten(reader, found);
      for (std::string& text : found) {
        // What opening it complained of is said already.
        if (std::find(complaints.begin(), complaints.end(), text) == complaints.end()) {
          new_complaints.push_back(std::move(text));
        }
      }
      return batches;
    };
    options.on_progress = progress.callback();
    report = capture::merge(inputs, arguments.output, options);
  }
  report.notes.insert(report.notes.end(), new_complaints.begin(), new_complaints.end());
  for (const std::string& note : report.notes) {
    say("warning: {}\n", printable(note));
  }
  fmt::print("{}: {} of {}, {}\n", printable(report.output), format_plural(report.scopes, "scope"),
             format_plural(inputs.size(), "capture"), format_bytes(report.bytes));
  return to_int(report.notes.empty() && complaints.empty() ? ExitCode::ok : ExitCode::damaged);
}

}  // namespace

void add_merge_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<MergeArguments>();
  CLI::App* const command =
      app.add_subcommand("merge", "Puts several captures into one file on one time axis, packed with zstd");
  add_capture_arguments(*command, options->captures);
  command->add_option("-o,--output", options->output, "File to write; where it exists, one with a suffix is made")
      ->required()
      ->option_text("FILE")
      ->check(is_no_stream());
  add_redact_argument(*command, options->captures.redacts);
  command->add_option("--level", options->level, "Level of zstd, 1 to 19 (3)")
      ->check(is_between(1, 19))
      ->option_text("N");
  command->footer(
      "Captures of one boot share its clock exactly; others are aligned by wall clock or, with --sync, by the sync points\n"
      "they share. How far off that may be is in the merged capture; `kymo info` shows it.\n\n"
      "Examples:\n"
      "  kymo merge -o job.kymo rank0.kymo rank1.kymo\n"
      "  kymo merge --sync -o fleet.kymo captures/\n"
      "  kymo merge --level 12 -o small.kymo run.kymo");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
