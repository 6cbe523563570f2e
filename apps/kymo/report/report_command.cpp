// kymo report: summarises captures on one page to view or send.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <kymo/thread_states.hpp>

#include "apps/kymo/report/page.hpp"
#include "apps/kymo/report/report.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/stats/function_rows.hpp"
#include "apps/kymo/stats/stats_views.hpp"
#include "base/output/replacing_file.hpp"
#include "stats/energy/function_energy.hpp"

namespace kymo::command {

namespace {

/// Maximum number of phases with a breakdown. More are listed with their lengths only.
constexpr std::size_t most_phases_read = 64;

struct ReportCommand {
  CaptureArguments captures;
  ReportOptions report;
  std::string output;
  bool is_forced = false;
};

/// "run.html" in the working directory, for run.kymo and for the directory run/.
std::string default_output(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).lexically_normal();
  name = name.has_filename() ? name.filename() : name.parent_path().filename();
  const bool has_name = !name.stem().empty() && name != "." && name != "..";
  return (has_name ? name.stem().string() : std::string("report")) + ".html";
}

std::string title_of(const std::vector<std::string>& paths) {
  std::string title;
  for (std::size_t i = 0; i < std::min<std::size_t>(paths.size(), 4); ++i) {
    title += (i == 0 ? "" : ", ") + paths[i];
  }
  return paths.size() > 4 ? title + fmt::format(" and {} more", paths.size() - 4) : title;
}

void read_tables(Report& report) {
  Progress progress("reading");
  stats::StatisticsOptions how;
  how.keeps_histograms = true;
  how.on_progress = progress.callback();
  report.statistics = stats::gather_statistics(report.timeline, how);
}

void read_tree(Report& report) {
  if (report.statistics.sites.empty()) {
    return;
  }
  Progress progress("reading the call tree");
  stats::CallTreeOptions how;
  how.on_progress = progress.callback();
  report.tree = stats::gather_call_tree(report.timeline, how);
}

void read_frames(Report& report) {
  if (report.options.slowest_frames == 0 || report.statistics.frame_streams.empty()) {
    return;
  }
  Progress progress("reading the slowest frames");
  stats::StretchOptions how;
  how.on_progress = progress.callback();
  report.slow = stats::find_slowest_frames(report.timeline, report.options.slowest_frames, how);
}

void explain_whole_run(Report& report, const ExplainOptions& how) {
  if (ThreadStates(report.timeline).empty()) {
    return;
  }
  try {
    report.run = explain_run(report.timeline, how.on_progress);
  } catch (const stats::SelectionError&) {
    return;  // no main thread
  }
}

void read_explanations(Report& report) {
  Progress progress("explaining");
  ExplainOptions how;
  how.on_progress = progress.callback();
  try {
    report.explanations = explain(report.timeline, how);
  } catch (const stats::SelectionError&) {
    explain_whole_run(report, how);  // too few scopes and no frames
    return;
  }
  auto& all = report.explanations;
  const auto says_nothing = [](const Explanation& why) {
    return why.instances < least_instances || (!why.name.empty() && why.findings.empty());
  };
  all.erase(std::remove_if(all.begin(), all.end(), says_nothing), all.end());
}

void explain_joules(Report& report) {
  Progress progress("explaining joules");
  ExplainOptions how;
  how.on_progress = progress.callback();
  try {
    EnergyExplanation why = explain_energy(report.timeline, how);
    if (why.instances >= least_instances) {
      report.energy_explanation = std::move(why);
    }
  } catch (const stats::SelectionError&) {
    return;  // no frames
  }
}

void read_energy(Report& report) {
  Progress progress("adding up energy");
  stats::EnergyOptions how;
  how.on_progress = progress.callback();
  report.energy = stats::gather_energy(report.timeline, how);
}

void read_functions(Report& report) {
  if (report.timeline.declarations().stacks.empty()) {
    return;
  }
  Progress progress("reading stacks");
  stats::FunctionOptions how;
  how.on_progress = progress.callback();
  report.functions = stats::gather_functions_with_energy(report.timeline, how, {});
  if (knows_lines(report.timeline)) {
    how.rows = stats::SampledRows::lines;
    report.lines = stats::gather_functions_with_energy(report.timeline, how, {});
  }
  report.flame.add(report.timeline, report.functions);
  report.waits.add(report.timeline, report.functions);
}

void read_phases(Report& report) {
  report.phases = report.timeline.phases();
  if (report.phases.empty() || report.phases.size() > most_phases_read) {
    return;
  }
  Progress progress("reading phases");
  stats::StretchOptions how;
  how.on_progress = progress.callback();
  report.phase_statistics = stats::gather_phases(report.timeline, how);
  for (stats::PhaseStatistics& phase : report.phase_statistics) {
    std::stable_sort(phase.statistics.sites.begin(), phase.statistics.sites.end(),
                     [](const auto& a, const auto& b) { return a.self_ns > b.self_ns; });
  }
}

int run(const ReportCommand& command) {
  const std::string path = command.output.empty() ? default_output(command.captures.paths.front()) : command.output;
  const base::Replacing replacing{page_mark, command.is_forced, list_captures(command.captures).paths};
  base::require_replaceable(path, replacing);
  const Timeline timeline = open_timeline(command.captures);
  ReportOptions how = command.report;
  how.redacts = command.captures.redacts;
  Report report{timeline, how, title_of(command.captures.paths), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
                {},       {}};
  read_tables(report);
  report.locks = stats::lock_statistics(timeline, report.statistics);
  read_tree(report);
  read_frames(report);
  read_explanations(report);
  read_energy(report);
  if (!report.energy.sources.empty()) {
    explain_joules(report);
  }
  read_phases(report);
  read_functions(report);
  report.warnings = find_warnings(timeline, report.statistics.drops);
  warn_of_missing_blocks(report.statistics, true, report.warnings);
  warn_of_gaps(report.statistics, report.warnings);
  warn_of_samples(report.timeline, report.functions, report.warnings);
  const Warnings told = report.warnings;
  if (command.captures.redacts) {
    cut_directories(replacing.inputs, report.title);
    for (std::string& text : report.warnings.texts) {
      cut_directories(replacing.inputs, text);
    }
  }
  base::replace_file(path, replacing, [&report](base::OutputFile out) {
    write_report(report, out);
    out.close();
  });
  told.print();
  if (command.output.empty()) {
    fmt::print("{}\n", printable(path));
  }
  return report.warnings.exit_code();
}

}  // namespace

void add_report_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<ReportCommand>();
  CLI::App* const command = app.add_subcommand(
      "report",
      "Writes one page to look at and to send: overview, frames, scopes, call tree, locks, functions, metrics, energy");
  add_capture_arguments(*command, options->captures);
  command
      ->add_option(
          "-o,--output", options->output,
          "File to write, - is standard output; an earlier page of kymo's is replaced (the capture's name with .html, here)")
      ->option_text("FILE");
  add_redact_argument(*command, options->captures.redacts);
  add_force_argument(*command, options->is_forced);
  command->add_option("--top", options->report.top, "Show only so many sites a table (50)")
      ->option_text("N")
      ->check(is_count());
  command->add_option("--slowest-frames", options->report.slowest_frames, "Show so many of the slowest frames (10)")
      ->option_text("N")
      ->check(is_whole());
  command->footer(
      "The page needs nothing but itself: no scripts, nothing from elsewhere. Its numbers are those of kymo stats.\n\n"
      "Examples:\n"
      "  kymo report run.kymo\n"
      "  kymo report -o ranks.html --top 100 ranks/\n"
      "  kymo report -o - run.kymo | ssh web 'cat > public/run.html'");
  command->callback([options, &exit_code] {
    options->output = output_path(options->output);
    exit_code = run(*options);
  });
}

}  // namespace kymo::command
