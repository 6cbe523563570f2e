// kymo explain: why slow frames and scopes are slow.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/kymo/explain/energy_output.hpp"
#include "apps/kymo/explain/explain_output.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/ranges.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/time_math.hpp"

namespace kymo::command {

namespace {

struct ExplainCommandOptions {
  CaptureArguments captures;
  std::vector<std::string> base;
  ExplainOptions how;
  std::optional<RelativeRange> time;
  std::size_t finding = 1;
  bool shows_evidence = false;
  bool is_json = false;
  bool is_energy = false;
  bool is_run = false;

  /// Whether no frames, scopes or captures are named.
  [[nodiscard]] bool is_open() const {
    return how.site.empty() && !how.slow.number && !how.slow.over_ns && !time && base.empty();
  }
};

/// Two directories are compared, as by `kymo compare`: the first is the base.
void take_base_of_two_directories(ExplainCommandOptions& options) {
  std::vector<std::string>& paths = options.captures.paths;
  const auto is_directory = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
  };
  if (!options.base.empty() || paths.size() != 2 || !is_directory(paths[0]) || !is_directory(paths[1])) {
    return;
  }
  if (options.how.slow.number || options.how.slow.over_ns || options.time) {
    throw CLI::ValidationError("--frame, --over, --time", "explain one recording; two directories are compared");
  }
  options.base = {paths[0]};
  paths = {paths[1]};
}

/// Opens the base's captures first, and tells which they are.
Timeline open_sides(const ExplainCommandOptions& options, ExplainOptions& how) {
  CaptureArguments all = options.captures;
  all.paths = options.base;
  const std::vector<std::string> base = options.base.empty() ? std::vector<std::string>() : list_captures(all).paths;
  all.paths.insert(all.paths.end(), options.captures.paths.begin(), options.captures.paths.end());
  Timeline timeline = open_timeline(all);
  // Files in a directory that cannot be read were left out.
  const std::size_t most = std::min(base.size(), timeline.capture_count());
  for (std::size_t i = 0; i < most && std::count(base.begin(), base.end(), timeline.capture(i).path()) != 0; ++i) {
    how.base_captures.push_back(i);
  }
  return timeline;
}

void print_energy(const ExplainCommandOptions& options, const Timeline& timeline, const EnergyExplanation& why,
                  const Warnings& warnings) {
  if (options.is_json) {
    print_energy_explanation_json(timeline, why, warnings.texts);
    return;
  }
  warnings.print();
  print_energy_explanation(timeline, options.captures.paths, why);
}

void answer_with_run(const ExplainCommandOptions& options, const Timeline& timeline, const RunExplanation& run,
                     const Warnings& warnings) {
  if (options.is_json) {
    print_run_json(timeline, run, warnings.texts);
    return;
  }
  warnings.print();
  print_run(run);
}

/// The whole run where nothing can be compared, and says so.
std::optional<RunExplanation> explain_or_run(const ExplainCommandOptions& options, const ExplainOptions& how,
                                             const Timeline& timeline, std::vector<Explanation>& explanations) {
  std::string reason;
  if (!options.is_run) {
    try {
      explanations = explain(timeline, how);
      return std::nullopt;
    } catch (const SelectionError& error) {
      if (!options.is_open() || options.shows_evidence) {
        throw;
      }
      reason = error.what();
    }
  }
  RunExplanation run = explain_run(timeline, how.on_progress);
  if (!reason.empty()) {
    run.notes.insert(run.notes.begin(), reason);
  }
  return run;
}

int run(const ExplainCommandOptions& options) {
  ExplainOptions how = options.how;
  const Timeline timeline = open_sides(options, how);
  if (options.time) {
    const TimeRange range = timeline.range();
    how.slow.time =
        TimeRange{base::add_length(range.start_ns, options.time->start_ns),
                  options.time->end_ns ? base::add_length(range.start_ns, *options.time->end_ns) : range.end_ns};
  }
  const Warnings warnings = find_warnings(timeline, drops_of(timeline));
  std::vector<Explanation> explanations;
  EnergyExplanation of_energy;
  std::optional<RunExplanation> of_run;
  {
    Progress progress("explaining");
    how.on_progress = progress.callback();
    say_unread_on_failure(timeline, [&] {
      if (options.is_energy) {
        of_energy = explain_energy(timeline, how);
      } else {
        of_run = explain_or_run(options, how, timeline, explanations);
      }
    });
  }
  if (of_run) {
    answer_with_run(options, timeline, *of_run, warnings);
    return warnings.exit_code();
  }
  if (options.is_energy) {
    print_energy(options, timeline, of_energy, warnings);
    return warnings.exit_code();
  }
  if (options.is_json) {
    print_explanations_json(timeline, explanations, warnings.texts);
    return warnings.exit_code();
  }
  warnings.print();
  if (options.shows_evidence) {
    print_evidence(timeline, explanations, options.finding);
  } else {
    print_explanations(timeline, options.captures.paths, explanations);
  }
  return warnings.exit_code();
}

void add_duration(CLI::App& command, const char* name, std::optional<std::int64_t>& duration_ns, const char* help) {
  command
      .add_option_function<std::string>(
          name, [&duration_ns](const std::string& text) { duration_ns = parse_duration(text); }, help)
      ->option_text("DURATION")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_duration(text) ? std::string() : text + " is no duration: 16.7ms, 250us, 1.5s";
          },
          ""));
}

void add_time(CLI::App& command, std::optional<RelativeRange>& time) {
  command
      .add_option_function<std::string>(
          "--time", [&time](const std::string& text) { time = parse_time(text); },
          "Explain the frames or scopes that overlap this stretch, counted from the start of the recording")
      ->option_text("FROM..TO")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_time(text) ? std::string() : text + " is no stretch of time: 1.5s..2s, 250ms.. or ..3min";
          },
          ""));
}

}  // namespace

void add_explain_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<ExplainCommandOptions>();
  CLI::App* const command =
      app.add_subcommand("explain", "Tells why the slow frames or scopes are slow, and how sure that is");
  add_capture_arguments(*command, options->captures);
  CLI::Option* const site = command
                                ->add_option("--site", options->how.site,
                                             "Explain the slow scopes of this name instead; * and ? match any text")
                                ->option_text("NAME");
  CLI::Option* const frame =
      command->add_option("--frame", options->how.slow.number, "Explain this frame of the main stream, from 1")
          ->option_text("N")
          ->check(is_count())
          ->excludes(site);
  command
      ->add_option("--base", options->base,
                   "Explain why frames or scopes take longer than in this capture or directory")
      ->option_text("CAPTURE")
      ->expected(1)
      ->excludes(frame);
  add_time(*command, options->time);
  command->get_option("--time")->excludes("--base");
  command->get_option("--time")->excludes(frame);
  add_duration(*command, "--over", options->how.slow.over_ns, "A target: what takes longer is slow");
  command->get_option("--over")->excludes(frame)->excludes("--time")->excludes("--base");
  command->add_option("--finding", options->finding, "Which finding --evidence shows (1)")
      ->option_text("N")
      ->check(is_count());
  CLI::Option* const evidence = command->add_flag("--evidence", options->shows_evidence,
                                                  "Show what a finding rests on: where, how much, in which frames");
  command->get_option("--finding")->needs(evidence);
  command
      ->add_option("--seed", options->how.seed, "What random numbers begin with (1): the same gives the same results")
      ->option_text("N")
      ->check(is_whole());
  command
      ->add_flag(
          "--energy", options->is_energy,
          "Explain joules instead of time: why some took more of them than the others, or than those of the base")
      ->excludes(evidence)
      ->excludes("--over");
  command
      ->add_flag("--run", options->is_run,
                 "Tell where the time of the whole run went: computing, waiting and for whom, without a CPU")
      ->excludes(site)
      ->excludes(frame)
      ->excludes(evidence)
      ->excludes("--base")
      ->excludes("--time")
      ->excludes("--over")
      ->excludes("--energy");
  command->add_flag("--json", options->is_json, "Print JSON, durations in nanoseconds")->excludes(evidence);
  command->footer(
      "Without frames, the slow scopes of the costliest sites are explained; without these, the whole run, as by --run.\n"
      "Slow is what stands apart from the usual by more than chance. Where nothing does, the answer is \"nothing stands\n"
      "out\".\n\n"
      "The time of a frame goes to whoever kept it waiting: the holder of the lock, the sender of the flow, the GPU's work.\n"
      "Record with `kymo record` to also know when threads were pushed off the CPU or blocked; with --stacks, in which\n"
      "functions they computed or waited.\n\n"
      "Two directories are compared: the second is explained by the first, as by --base.\n\n"
      "Examples:\n"
      "  kymo explain run.kymo\n"
      "  kymo explain --site 'load asset' run.kymo\n"
      "  kymo explain --base before.kymo after.kymo\n"
      "  kymo explain before/ after/\n"
      "  kymo explain --finding 1 --evidence run.kymo\n"
      "  kymo explain --energy run.kymo\n"
      "  kymo explain --run run.kymo\n"
      "  kymo explain --json run.kymo | jq '.explanations[0].findings[] | {text, share}'");
  command->callback([options, &exit_code] {
    take_base_of_two_directories(*options);
    exit_code = run(*options);
  });
}

}  // namespace kymo::command
