// kymo import: another tool's recording as a capture.
#include <array>
#include <fstream>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "command.hpp"
#include "exchange/nvmt.hpp"
#include "exchange/nvmt_import.hpp"
#include "exchange/vor_import.hpp"
#include "progress.hpp"
#include "units.hpp"

namespace kymo::command {

namespace {

struct ImportOptions {
  std::string input;
  std::string format = "auto";
  std::string output;
};

/// The format of a file by its first bytes.
std::string detect_format(const std::string& path) {
  std::array<char, 4> first{};
  std::ifstream file(path, std::ios::binary);
  file.read(first.data(), first.size());
  const auto count = static_cast<std::size_t>(file.gcount());
  if (exchange::is_nvmt(std::as_bytes(std::span(first).first(count)))) {
    return "nvmt";
  }
  if (exchange::is_vor(std::as_bytes(std::span(first).first(count)))) {
    return "vor";
  }
  if (!file.is_open()) {
    throw Failure(fmt::format("cannot open: {}", printable(path)));
  }
  throw Failure(
      fmt::format("{}: the format is not known by its first bytes; kymo imports nvmt and vor", printable(path)));
}

int import_vor(const ImportOptions& options) {
  exchange::VorReader reader(options.input);
  exchange::VorImportReport report;
  {
    Progress progress("importing");
    report = exchange::import_vor(reader, options.output, [&progress](double share) { progress.update(share); });
  }
  for (const std::string& what : report.losses) {
    fmt::print(stderr, "warning: {}: not kept: {}\n", printable(options.input), what);
  }
  fmt::print("{}: {}, {} and {} are in {} now\n", printable(options.input), format_plural(report.frames, "frame"),
             format_plural(report.scopes, "scope"), format_plural(report.samples, "sample"), printable(report.output));
  return to_int(report.losses.empty() ? ExitCode::ok : ExitCode::damaged);
}

int run(const ImportOptions& options) {
  const std::string format = options.format == "auto" ? detect_format(options.input) : options.format;
  if (format == "vor") {
    return import_vor(options);
  }
  const exchange::NvmtTrace trace = exchange::read_nvmt(options.input);
  const exchange::NvmtImportReport report = exchange::import_nvmt(trace, options.input, options.output);
  for (const std::string& what : report.losses) {
    fmt::print(stderr, "warning: {}: not kept: {}\n", printable(options.input), what);
  }
  fmt::print("{}: {} and {} are in {} now\n", printable(options.input),
             format_plural(trace.fast.size() + trace.medium.size() + trace.slow.size(), "sample"),
             format_plural(trace.sync.size(), "sync point"), printable(report.output));
  return to_int(report.losses.empty() ? ExitCode::ok : ExitCode::damaged);
}

}  // namespace

void add_import_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* const command = app.add_subcommand("import", "Makes a capture of another tool's recording");
  command->add_option("FILE", options->input, "The recording")->required();
  command
      ->add_option("--from", options->format,
                   "Format: nvmt (the Jetson trace), vor (frames of vor), auto (by the first bytes)")
      ->check(CLI::IsMember({"auto", "nvmt", "vor"}))
      ->capture_default_str()
      ->option_text("FORMAT");
  command
      ->add_option("-o,--output", options->output,
                   "Capture to write; an existing one is left and the name gets a number")
      ->required()
      ->option_text("FILE");
  command->footer(
      "Examples:\n"
      "  kymo import -o run.kymo run.nvmt\n"
      "  kymo import -o run.kymo run.vor\n"
      "  kymo import --from nvmt -o run.kymo run.bin");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace kymo::command
