// kymo export: captures in the formats of other tools.
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <kymo/exchange.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "progress.hpp"
#include "say.hpp"
#include "units.hpp"
#include "warnings.hpp"

namespace kymo::command {

namespace {

struct ExportCommand {
  CaptureArguments captures;
  std::string format = "chrome";
  std::string output;
  std::uint64_t pid = 0;
  bool is_forced = false;
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

ProcessId find_process(const Timeline& timeline, std::uint64_t pid) {
  for (const TimelineProcess& process : timeline.processes()) {
    if (process.declaration.pid == pid) {
      return process.declaration.id;
    }
  }
  throw Failure(fmt::format("no process {} is in the captures; kymo info lists those that are", pid));
}

void export_nvmt(const Timeline& timeline, const ExportCommand& options) {
  NvmtExportReport report;
  {
    Progress progress("exporting");
    NvmtExportOptions nvmt;
    nvmt.process = options.pid == 0 ? 0 : find_process(timeline, options.pid);
    nvmt.replaces_any = options.is_forced;
    nvmt.on_progress = [&progress](double share) { progress.update(share); };
    report = kymo::export_nvmt(timeline, options.output, nvmt);
  }
  for (const std::string& what : report.left_out) {
    say("warning: NVMT has no room for {}\n", printable(what));
  }
}

void export_vor(const Timeline& timeline, const ExportCommand& options) {
  VorExportReport report;
  {
    Progress progress("exporting");
    VorExportOptions vor;
    vor.process = options.pid == 0 ? 0 : find_process(timeline, options.pid);
    vor.replaces_any = options.is_forced;
    vor.on_progress = [&progress](double share) { progress.update(share); };
    report = kymo::export_vor(timeline, options.output, vor);
  }
  for (const std::string& what : report.losses) {
    say("warning: not in the .vor stream: {}\n", printable(what));
  }
}

/// A format whose export takes no options of its own.
struct Format {
  std::string_view word;
  std::string_view what;
  void (*write)(const Timeline&, const std::string&, const kymo::ExportOptions&);
};

constexpr std::array<Format, 7> formats{{
    {"chrome", "Trace Event JSON, for Perfetto, chrome://tracing, speedscope", export_chrome_trace},
    {"perfetto", "Perfetto's protobuf trace: smaller and quicker to open", export_perfetto_trace},
    {"collapsed", "stacks with their self time in ns, for flame-graph tools", export_collapsed_stacks},
    {"csv-spans", "a row a span", export_spans_csv},
    {"csv-frames", "a row a frame", export_frames_csv},
    {"csv-metrics", "a row a sample", export_metrics_csv},
    {"openmetrics", "the latest value of every metric, for Prometheus", export_openmetrics},
}};
/// Formats that hold one process.
struct ProcessFormat {
  std::string_view word;
  std::string_view what;
  void (*write)(const Timeline&, const ExportCommand&);
};

constexpr std::array<ProcessFormat, 2> process_formats{{
    {"nvmt", "the Jetson trace: what one process sampled of its machine", export_nvmt},
    {"vor", "a .vor stream: frames with their metrics and scopes", export_vor},
}};

std::vector<std::string> format_words() {
  std::vector<std::string> words;
  words.reserve(formats.size() + process_formats.size());
  for (const Format& format : formats) {
    words.emplace_back(format.word);
  }
  for (const ProcessFormat& format : process_formats) {
    words.emplace_back(format.word);
  }
  return words;
}

std::string format_help() {
  std::string help = "Formats:\n";
  for (const Format& format : formats) {
    help += fmt::format("  {:<13}{}\n", format.word, format.what);
  }
  for (const ProcessFormat& format : process_formats) {
    help += fmt::format("  {:<13}{}\n", format.word, format.what);
  }
  return help;
}

int run(const ExportCommand& options) {
  const Timeline timeline = open_timeline(options.captures);
  for (const Format& format : formats) {
    if (format.word == options.format) {
      Progress progress("exporting");
      format.write(timeline, options.output,
                   {[&progress](double share) { progress.update(share); }, options.is_forced});
    }
  }
  for (const ProcessFormat& format : process_formats) {
    if (format.word == options.format) {
      format.write(timeline, options);
    }
  }
  const Warnings warnings = find_warnings(timeline, drops_of(timeline));
  warnings.print();
  return warnings.exit_code();
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExportCommand>();
  CLI::App* const command = app.add_subcommand("export", "Writes captures in another tool's format");
  add_capture_arguments(*command, options->captures);
  command->add_option("--to", options->format, "Format to write; they are listed below")
      ->required()
      ->check(CLI::IsMember(format_words()))
      ->option_text("FORMAT");
  command
      ->add_option("-o,--output", options->output,
                   "File to write; one that is there is replaced where kymo exported it, as told below")
      ->required()
      ->option_text("FILE");
  add_redact_argument(*command, options->captures);
  add_force_argument(*command, options->is_forced);
  command
      ->add_option("--process", options->pid,
                   "nvmt, vor: the process whose machine or frames they are, where there are several")
      ->option_text("PID");
  command->footer(
      format_help() +
      "\nAn empty file is overwritten, and a file that an export to the same format wrote: kymo knows its own chrome,\n"
      "perfetto and csv files by how they begin. Of collapsed, openmetrics, nvmt and vor files nobody can tell who\n"
      "wrote them; they and all other files are overwritten with --force only. Pipes and /dev/stdout are written to.\n"
      "\nExamples:\n"
      "  kymo export --to chrome -o trace.json run.kymo\n"
      "  kymo export --to perfetto -o run.pftrace captures/\n"
      "  kymo export --to collapsed -o /dev/stdout run.kymo | flamegraph.pl > run.svg\n"
      "  kymo export --to nvmt -o run.nvmt run.kymo\n"
      "  kymo export --to chrome -o /dev/stdout run.kymo | gzip > trace.json.gz");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
