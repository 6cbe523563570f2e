// kymo export: captures in the formats of other tools.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/flush_output.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/say.hpp"
#if defined(KYMO_HAS_SERVER)
#include "apps/kymo/shared/serving.hpp"
#endif
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "exchange/arrow/batches.hpp"
#include "exchange/exporters.hpp"

namespace kymo::command {

namespace {

struct ExportCommand {
  CaptureArguments captures;
  SelectionArguments selection;
  std::string format = "chrome";
  std::string output;
#if defined(KYMO_HAS_SERVER)
  ListenArguments listen;
#endif
  std::string table;
  std::uint64_t pid = 0;
  bool of_samples = false;
  bool of_waits = false;
  bool is_forced = false;
};

ProcessId find_process(const Timeline& timeline, std::uint64_t pid) {
  for (const TimelineProcess& process : timeline.processes()) {
    if (process.declaration.pid == pid) {
      return process.declaration.id;
    }
  }
  throw Failure(fmt::format("no process {} is in the captures; kymo info lists those that are", pid));
}

std::vector<std::string> table_words() {
  return {exchange::table_names.begin(), exchange::table_names.end()};
}

ArrowTable table_of(const ExportCommand& options) {
  if (options.table.empty()) {
    return ArrowTable::spans;
  }
  const auto& names = exchange::table_names;
  return static_cast<ArrowTable>(std::find(names.begin(), names.end(), options.table) - names.begin());
}

std::vector<std::string> format_words() {
  std::vector<std::string> words;
  for (const exchange::Exporter& exporter : exchange::exporters()) {
    words.emplace_back(exporter.word);
  }
  return words;
}

std::string format_help() {
  std::string help = "Formats:\n";
  for (const exchange::Exporter& exporter : exchange::exporters()) {
    help += fmt::format("  {:<13}{}\n", exporter.word, exporter.what);
  }
  return help;
}

#if defined(KYMO_HAS_SERVER)
/// Answers a scraper instead of writing a file.
int serve_metrics(const ExportCommand& options) {
  if (options.format != "openmetrics" || !options.output.empty() || options.selection.has_selection()) {
    throw std::invalid_argument("--listen is for --to openmetrics, in place of -o, and for whole captures");
  }
  serve::ServerOptions server;
  apply(options.listen, server);
  // What cannot be opened and what is damaged is told here, not to a scraper.
  find_unread(open_timeline(options.captures)).print();
  server.metrics = live_metrics([captures = options.captures] { return open_timeline(captures); });
  serve_until_ended(std::move(server), [](const serve::Server& running) {
    say("serving metrics; Ctrl-C ends it\n");
    if (!running.token().empty()) {
      say("a scraper has to send: Authorization: Bearer {}\n", running.token());
    }
    fmt::print("{}\n", metrics_url(running));
    flush_output();
  });
  return to_int(ExitCode::ok);
}
#endif

int run(const ExportCommand& options) {
  const Timeline timeline = open_timeline(options.captures);
  const auto formats = exchange::exporters();
  const auto format = std::find_if(formats.begin(), formats.end(),
                                   [&](const exchange::Exporter& exporter) { return exporter.word == options.format; });
  const std::vector<std::string> left_out = say_unread_on_failure(timeline, [&] {
    Progress progress("exporting");
    return exchange::export_timeline(*format, timeline, options.output,
                                     {[&progress](double share) { progress.update(share); }, options.is_forced,
                                      selection_of(timeline, options.selection)},
                                     options.pid == 0 ? ProcessId{} : find_process(timeline, options.pid),
                                     table_of(options),
                                     options.of_samples ? exchange::StacksOf::samples
                                     : options.of_waits ? exchange::StacksOf::waits
                                                        : exchange::StacksOf::scopes);
  });
  for (const std::string& what : left_out) {
    say("warning: left out of the {} file: {}\n", format->word, printable(what));
  }
  const Warnings warnings = find_warnings(timeline, drops_of(timeline));
  warnings.print();
  return warnings.exit_code();
}

}  // namespace

void add_export_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<ExportCommand>();
  CLI::App* const command = app.add_subcommand("export", "Writes captures in another tool's format");
  add_capture_arguments(*command, options->captures);
  command->add_option("--to", options->format, "Format to write; they are listed below")
      ->required()
      ->check(is_one_of(format_words(), "format"))
      ->option_text("FORMAT");
  command
      ->add_option(
          "-o,--output", options->output,
          "File to write, - is standard output; one that is there is replaced where kymo exported it, as told below")
      ->option_text("FILE");
#if defined(KYMO_HAS_SERVER)
  add_listen_arguments(*command, options->listen,
                       "openmetrics, in place of -o: answer http://HOST:PORT/metrics while the captures grow");
#endif
  add_selection_arguments(*command, options->selection,
                          "Only spans whose name fits (* any text, ? one character) and what ran inside them; may be "
                          "repeated");
  add_redact_argument(*command, options->captures.redacts);
  add_force_argument(*command, options->is_forced);
  command->add_option("--table", options->table, "arrow, parquet: which table; spans if not given")
      ->check(is_one_of(table_words(), "table"))
      ->option_text("TABLE");
  CLI::Option* const samples =
      command->add_flag("--samples", options->of_samples,
                        "collapsed: the stacks that `kymo record --stacks` sampled, also where there are scopes");
  command
      ->add_flag("--waits", options->of_waits,
                 "collapsed: the stacks in which threads waited, in ns, for off-CPU flame graphs")
      ->excludes(samples);
  command
      ->add_option("--process", options->pid,
                   "nvmt, vor: the process whose machine or frames they are, where there are several")
      ->option_text("PID")
      ->check(is_count());
  command->footer(
      format_help() +
      "\nAn empty file is overwritten, and a file that an export to the same format wrote: kymo knows its own chrome,\n"
      "perfetto, csv and arrow files by how they begin. Of the others nobody can tell who wrote\n"
      "them; they and all other files are overwritten with --force only. Pipes and standard output are written to.\n"
      "\nOf a part of a recording, spans are cut at its ends. --site and --thread leave frames and metrics as they are.\n"
      "\nExamples:\n"
      "  kymo export --to chrome -o trace.json run.kymo\n"
      "  kymo export --to perfetto -o run.pftrace captures/\n"
      "  kymo export --to collapsed -o - run.kymo | flamegraph.pl > run.svg\n"
      "  kymo export --to openmetrics --listen 127.0.0.1:9464 run.kymo\n"
      "  kymo export --to parquet --table samples -o samples.parquet captures/\n"
      "  kymo export --to perfetto --time 10s..12s --thread 'worker*' -o part.pftrace run.kymo\n"
      "  kymo export --to nvmt -o run.nvmt run.kymo\n"
      "  kymo export --to chrome -o - run.kymo | gzip > trace.json.gz");
  command->callback([options, &exit_code] {
#if defined(KYMO_HAS_SERVER)
    if (!options->listen.address.empty()) {
      exit_code = run_checked([&] { return serve_metrics(*options); });
      return;
    }
#endif
    if (options->output.empty()) {
      throw CLI::RequiredError("--output");
    }
    if (!options->table.empty() && options->format != "arrow" && options->format != "parquet") {
      throw CLI::ValidationError("--table", "is for --to arrow and --to parquet");
    }
    if ((options->of_samples || options->of_waits) && options->format != "collapsed") {
      throw CLI::ValidationError(options->of_waits ? "--waits" : "--samples", "is for --to collapsed");
    }
    options->output = output_path(options->output);
    exit_code = run(*options);
  });
}

}  // namespace kymo::command
