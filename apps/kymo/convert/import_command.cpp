// kymo import: converts another tool's recording to a capture.
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <kymo/import.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "exchange/import/input.hpp"
#include "exchange/nvmt/format.hpp"
#include "exchange/nvmt/import.hpp"
#include "exchange/perfetto/event_reader.hpp"
#include "exchange/vor/import.hpp"

namespace kymo::command {

namespace {

struct ImportOptions {
  std::string input;
  std::string format = "auto";
  std::string output;
};

/// Detects the format from the first bytes of a file.
std::string detect_format(const std::string& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    throw Failure(fmt::format("{} is no file that can be read twice: name its format with --from", printable(path)));
  }
  std::array<char, 64> first{};
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), first.size());
  const auto count = static_cast<std::size_t>(file.gcount());
  if (exchange::is_nvmt(std::as_bytes(std::span(first).first(count)))) {
    return "nvmt";
  }
  if (exchange::is_vor(std::as_bytes(std::span(first).first(count)))) {
    return "vor";
  }
  exchange::ImportInput input(path, path);
  std::string_view text = input.look_ahead();
  if (text.empty() && !input.stopped().empty()) {
    throw Failure(fmt::format("{}: {}", printable(path), input.stopped()));
  }
  if (exchange::is_perfetto_trace(text)) {
    return "perfetto";
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    text.remove_prefix(3);
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && (text[begin] == '[' || text[begin] == '{')) {
    return "chrome";
  }
  throw Failure(fmt::format(
      "{}: the format is not known by its first bytes; kymo imports chrome, perfetto, nvmt and vor", printable(path)));
}

/// The path of the capture: run.kymo for run.json and run.json.gz.
std::string output_of(const ImportOptions& options) {
  if (!options.output.empty()) {
    return options.output;
  }
  std::filesystem::path input(options.input);
  if (std::filesystem::exists(input) && !std::filesystem::is_regular_file(input)) {
    throw Failure(fmt::format("{} has no name to make the capture's from: give one with -o", printable(options.input)));
  }
  if (input.extension() == ".gz") {
    input.replace_extension();
  }
  return input.replace_extension(".kymo").string();
}

int import_nvmt(const ImportOptions& options) {
  const exchange::NvmtTrace trace = exchange::read_nvmt(options.input);
  const exchange::NvmtImportReport report = exchange::import_nvmt(trace, options.input, output_of(options));
  for (const std::string& what : report.losses) {
    say("warning: {}: not kept: {}\n", printable(options.input), what);
  }
  fmt::print("{}: {} and {} are in {} now\n", printable(options.input),
             format_plural(trace.fast.size() + trace.medium.size() + trace.slow.size(), "sample"),
             format_plural(trace.sync.size(), "sync point"), printable(report.output));
  return to_int(report.losses.empty() ? ExitCode::ok : ExitCode::damaged);
}

/// "12 spans, 3 samples": only nonzero counts.
std::string describe_counts(const ImportReport& report) {
  std::string text;
  for (const auto& [count, what] :
       {std::pair{report.spans, "span"}, std::pair{report.frames, "frame"}, std::pair{report.samples, "sample"},
        std::pair{report.messages, "message"}, std::pair{report.flow_points, "flow point"},
        std::pair{report.sync_points, "sync point"}}) {
    if (count != 0) {
      text += (text.empty() ? "" : ", ") + format_plural(count, what);
    }
  }
  return text.empty() ? "no events" : text;
}

int import_trace(const ImportOptions& options) {
  ImportReport report;
  {
    Progress progress("importing");
    kymo::ImportOptions import;
    import.on_progress = [&progress](double share) { progress.update(share);
  };
  report = options.format == "perfetto" ? import_perfetto_trace(options.input, output_of(options), import)
                                        : import_chrome_trace(options.input, output_of(options), import);
}
for (const ImportLoss& loss : report.losses) {
  say("{}: {}: {}: {}\n", loss.is_damage ? "warning" : "note", printable(options.input), printable(loss.what),
      loss.count);
}
if (!report.stopped.empty()) {
  say("warning: {}: read up to {}; nothing after that was imported\n", printable(options.input),
      printable(report.stopped));
}
fmt::print("{}: in {} now: {}\n", printable(options.input), printable(report.output), describe_counts(report));
return to_int(report.is_damaged() ? ExitCode::damaged : ExitCode::ok);
}  // namespace

int import_vor(const ImportOptions& options) {
  exchange::VorReader reader(options.input);
  exchange::VorImportReport report;
  {
    Progress progress("importing");
    report = exchange::import_vor(reader, output_of(options), [&progress](double share) { progress.update(share); });
  }
  for (const std::string& what : report.losses) {
    say("warning: {}: not kept: {}\n", printable(options.input), what);
  }
  fmt::print("{}: {}, {} and {} are in {} now\n", printable(options.input), format_plural(report.frames, "frame"),
             format_plural(report.scopes, "scope"), format_plural(report.samples, "sample"), printable(report.output));
  return to_int(report.losses.empty() ? ExitCode::ok : ExitCode::damaged);
}

int run(ImportOptions options) {
  if (std::error_code error; std::filesystem::is_directory(options.input, error)) {
    throw Failure(fmt::format("{}: is a directory; name a recording in it", printable(options.input)));
  }
  if (options.format == "auto") {
    options.format = detect_format(options.input);
  }
  if (options.format == "nvmt") {
    return import_nvmt(options);
  }
  return options.format == "vor" ? import_vor(options) : import_trace(options);
}

}  // namespace kymo::command

void add_import_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<ImportOptions>();
  CLI::App* const command = app.add_subcommand("import", "Makes a capture of another tool's recording");
  command->add_option("FILE", options->input, "The recording")->required();
  command
      ->add_option(
          "--from", options->format,
          "Format: chrome (Trace Event JSON, as many tracing programs write it; plain or gzip), perfetto (its track "
          "events, plain or gzip), nvmt (the Jetson trace), vor "
          "(frames of vor), auto (by the first bytes)")
      ->check(is_one_of({"auto", "chrome", "perfetto", "nvmt", "vor"}, "format"))
      ->capture_default_str()
      ->option_text("FORMAT");
  command
      ->add_option(
          "-o,--output", options->output,
          "Capture to write, by default FILE with the ending .kymo; an existing one is left and the name gets a "
          "number")
      ->option_text("FILE")
      ->check(is_no_stream());
  command->footer(
      "Examples:\n"
      "  kymo import trace.json\n"
      "  kymo import -o run.kymo run.nvmt\n"
      "  kymo import -o run.kymo run.vor\n"
      "  kymo import trace.json.gz\n"
      "  kymo import trace.pftrace\n"
      "  xz -dc trace.json.xz | kymo import --from chrome -o run.kymo /dev/stdin");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
