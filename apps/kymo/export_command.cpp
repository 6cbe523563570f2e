// kymo export: captures in the formats of other tools.
#include <map>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "exchange/chrome_export.hpp"
#include "exchange/nvmt_export.hpp"
#include "exchange/vor_export.hpp"
#include "progress.hpp"
#include "timeline/timeline_implementation.hpp"
#include "units.hpp"
#include "warnings.hpp"

namespace kymo::command {

namespace {

struct ExportOptions {
  CaptureArguments captures;
  std::string format = "chrome";
  std::string output;
  std::uint64_t pid = 0;
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

void export_chrome(const Timeline& timeline, const ExportOptions& options) {
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

ProcessId find_process(const Timeline& timeline, std::uint64_t pid) {
  for (const TimelineProcess& process : timeline.processes()) {
    if (process.declaration.pid == pid) {
      return process.declaration.id;
    }
  }
  throw Failure(fmt::format("no process {} is in the captures; kymo info lists those that are", pid));
}

void export_nvmt(const Timeline& timeline, const ExportOptions& options) {
  exchange::NvmtExportReport report;
  {
    Progress progress("exporting");
    exchange::NvmtExportOptions nvmt;
    nvmt.process = options.pid == 0 ? 0 : find_process(timeline, options.pid);
    nvmt.on_progress = [&progress](double share) { progress.update(share); };
    report = exchange::export_nvmt(timeline, options.output, nvmt);
  }
  for (const std::string& what : report.left_out) {
    fmt::print(stderr, "warning: NVMT has no room for {}\n", printable(what));
  }
}

void export_vor(const Timeline& timeline, const ExportOptions& options) {
  exchange::VorExportReport report;
  {
    Progress progress("exporting");
    exchange::VorExportOptions vor;
    vor.process = options.pid == 0 ? 0 : find_process(timeline, options.pid);
    vor.on_progress = [&progress](double share) { progress.update(share); };
    report = exchange::export_vor(timeline, options.output, vor);
  }
  for (const std::string& what : report.losses) {
    fmt::print(stderr, "warning: not in the .vor stream: {}\n", printable(what));
  }
}

int run(const ExportOptions& options) {
  const Timeline timeline = open_timeline(options.captures);
  if (options.format == "nvmt") {
    export_nvmt(timeline, options);
  } else if (options.format == "vor") {
    export_vor(timeline, options);
  } else {
    export_chrome(timeline, options);
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
                   "Format: chrome (Trace Event JSON, for Perfetto, chrome://tracing, speedscope), nvmt (the Jetson "
                   "trace: what one process sampled of its machine), vor (frames, their metrics and scopes)")
      ->required()
      ->check(CLI::IsMember({"chrome", "nvmt", "vor"}))
      ->option_text("FORMAT");
  command->add_option("-o,--output", options->output, "File to write; what it held before is replaced")
      ->required()
      ->option_text("FILE");
  command
      ->add_option("--process", options->pid,
                   "nvmt, vor: the process whose machine or frames they are, where there are several")
      ->option_text("PID");
  command->footer(
      "Examples:\n"
      "  kymo export --to chrome -o trace.json run.kymo\n"
      "  kymo export --to chrome -o trace.json captures/\n"
      "  kymo export --to nvmt -o run.nvmt run.kymo\n"
      "  kymo export --to vor -o run.vor run.kymo\n"
      "  kymo export --to chrome -o /dev/stdout run.kymo | gzip > trace.json.gz");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
