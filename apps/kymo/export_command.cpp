// kymo export: captures in the formats of other tools.
#include <map>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "exchange/chrome_export.hpp"
#include "progress.hpp"
#include "timeline/timeline_implementation.hpp"
#include "warnings.hpp"

namespace kymo::command {

namespace {

struct ExportOptions {
  CaptureArguments captures;
  std::string format = "chrome";
  std::string output;
};

stats::DropTotals drops_of(const Timeline& timeline) {
  stats::DropTotals drops;
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    for (const TrackTotals& track : timeline.capture(i).end().tracks) {
      drops.add(track);
    }
  }
  return drops;
}

int run(const ExportOptions& options) {
  const Timeline timeline = open_timeline(options.captures);
  {
    Progress progress("exporting");
    timeline::BatchCursor cursor(timeline, {}, BatchParts::everything);
    bool has_declared = false;
    exchange::export_chrome_trace(
        [&](EventBatch& batch) {
          if (!has_declared) {
            batch.declarations = timeline.declarations();
            batch.start_ns = timeline.range().start_ns;
            batch.end_ns = batch.start_ns;
            has_declared = true;
            return true;
          }
          progress.update(cursor.share_done());
          return cursor.next(batch);
        },
        options.output);
  }
  const Warnings warnings = find_warnings(timeline, drops_of(timeline));
  warnings.print();
  return warnings.exit_code();
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* const command = app.add_subcommand("export", "Writes captures in another tool's format");
  add_capture_arguments(*command, options->captures);
  command
      ->add_option("--to", options->format,
                   "Format: chrome (Trace Event JSON, for Perfetto, chrome://tracing, speedscope)")
      ->required()
      ->check(CLI::IsMember({"chrome"}))
      ->option_text("FORMAT");
  command->add_option("-o,--output", options->output, "File to write; what it held before is replaced")
      ->required()
      ->option_text("FILE");
  command->footer(
      "Examples:\n"
      "  kymo export --to chrome -o trace.json run.kymo\n"
      "  kymo export --to chrome -o trace.json captures/\n"
      "  kymo export --to chrome -o /dev/stdout run.kymo | gzip > trace.json.gz");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
