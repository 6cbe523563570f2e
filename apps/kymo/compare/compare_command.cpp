// kymo compare: tests whether two recordings, or two sets of them, differ by more than chance.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/compare/compare_output.hpp"
#include "apps/kymo/report/page.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/progress.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/usage.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/output/replacing_file.hpp"
#include "stats/compare/function_samples.hpp"

namespace kymo::command {

namespace {

struct CompareOptions {
  std::vector<std::string> two;  ///< BASE NEW
  std::vector<std::string> base;
  std::vector<std::string> changed;
  std::string fail_on;
  bool allows_few_runs = false;
  std::string page;
  bool is_forced = false;
  bool has_functions = false;
  bool redacts = false;
  std::uint64_t seed = 1;
  ComparisonTextOptions text;
  bool is_json = false;
  bool is_csv = false;
};

/// One side of the comparison while it is read.
struct Side {
  std::vector<std::string> paths;
  std::optional<stats::SideSamples> samples;
  std::vector<stats::FunctionRun> functions;
  stats::Configuration configuration;
};

TimelineOptions timeline_options(const CompareOptions& options) {
  TimelineOptions found;
  found.redacts = options.redacts;
  return found;
}

/// Reduces the captures' paths in tables and files to their names; warnings on the terminal keep them.
void name_captures_only(ComparisonReport& report) {
  const std::array<std::vector<std::string>, 2> captures{report.base_paths, report.new_paths};
  for (const std::vector<std::string>& side : captures) {
    for (std::vector<std::string>* texts : {&report.base_paths, &report.new_paths, &report.warnings}) {
      for (std::string& text : *texts) {
        cut_directories(side, text);
      }
    }
  }
}

/// Parses "5%" or "5" as 0.05.
double parse_share(const std::string& text) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  if (end == text.c_str() || !(rest.empty() || rest == "%" || rest == " %") || !std::isfinite(percent) || percent < 0) {
    throw CLI::ValidationError("--fail-on-regression", "'" + text + "' is not a percentage such as 5%");
  }
  return percent / 100;
}

stats::FunctionRun read_functions(const Timeline& timeline, const std::string& path,
                                  const std::function<void(double)>& on_progress) {
  stats::FunctionRun run = stats::read_function_run(timeline, on_progress);
  if (run.empty()) {
    throw Failure(fmt::format("{}: no stacks were recorded: kymo record --stacks records them", printable(path)));
  }
  return run;
}

/// Reads the captures of a side one after another, each as a run.
void read_side(Side& side, std::uint64_t number, const CompareOptions& options, const std::string& what,
               ComparisonReport& report, Warnings& warnings) {
  side.samples.emplace(options.seed, number, stats::kept_of_each(side.paths.size()));
  Progress progress("reading " + what);
  for (std::size_t i = 0; i < side.paths.size(); ++i) {
    const Timeline timeline(side.paths[i], timeline_options(options));
    const auto on_progress = [&](double share) {
      progress.update((static_cast<double>(i) + share) / static_cast<double>(side.paths.size()));
    };
    if (options.has_functions) {
      side.functions.push_back(
          say_unread_on_failure(timeline, [&] { return read_functions(timeline, side.paths[i], on_progress); }));
      if (!options.page.empty()) {
        report.flame.add(timeline, stats::gather_functions(timeline, {}), number);
      }
    } else {
      side.samples->add_run(timeline, on_progress);
    }
    side.configuration.add(timeline);
    const Warnings found = find_warnings(timeline, drops_of(timeline));
    const std::string path = printable(side.paths[i]);
    for (const std::string& text : found.texts) {
      warnings.texts.push_back(text.find(path) == std::string::npos ? path + ": " + text : text);
    }
    warnings.is_damaged = warnings.is_damaged || found.is_damaged;
  }
}

/// Warns of facts that differ between the sides and speak against a comparison.
void warn_of_facts(const std::vector<stats::ComparedFact>& facts, Warnings& warnings) {
  const auto text_of = [](const std::vector<std::string>& values) {
    std::vector<std::string> shown;
    shown.reserve(values.size());
    for (const std::string& value : values) {
      shown.push_back(printable(value, 60));
    }
    return shown.empty() ? std::string("not known") : fmt::format("{}", fmt::join(shown, ", "));
  };
  std::vector<std::string> others;
  for (const stats::ComparedFact& fact : facts) {
    if (!fact.differs()) {
      continue;
    }
    const std::string sides = fmt::format("{} in base, {} in new", text_of(fact.base), text_of(fact.changed));
    if (fact.weight == stats::ComparedFact::Weight::machine) {
      warnings.texts.push_back(
          fmt::format("{} differs ({}): a difference in time may be the machine's", printable(fact.key), sides));
    } else if (fact.weight == stats::ComparedFact::Weight::build) {
      warnings.texts.push_back(fmt::format("the build differs: {} is {}", printable(fact.key), sides));
    } else {
      others.push_back(printable(fact.key));
    }
  }
  if (!others.empty()) {
    warnings.texts.push_back(fmt::format("the configuration differs: {}", fmt::join(others, ", ")));
  }
}

std::string list_names(const std::map<stats::ThingName, stats::ThingSamples>& things) {
  std::string list;
  std::size_t count = 0;
  for (const auto& [name, samples] : things) {
    if (++count > 5) {
      return list + fmt::format(" and {} more", things.size() - 5);
    }
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name_of(name.kind), short_title_of(name));
  }
  return list.empty() ? "nothing that can be compared" : list;
}

void fail_without_common(const stats::Comparison& comparison, const Side& base, const Side& changed,
                         const Warnings& warnings) {
  if (!comparison.things.empty()) {
    return;
  }
  // Damage may be the reason.
  warnings.print();
  std::string units;
  for (const stats::OtherUnits& other : comparison.other_units) {
    units += fmt::format("\n  metric {}: in {} in base, in {} in new", printable(title_of(other.base)),
                         printable(other.base.unit), printable(other.changed_unit));
  }
  throw Failure(fmt::format(
      "the two sides have nothing in common that could be compared: no scope, span, frame stream or metric of the same "
      "name\n  base has {}\n  new has {}{}",
      list_names(base.samples->things()), list_names(changed.samples->things()), units));
}

std::vector<std::string> captures_of(const std::vector<std::string>& paths, Warnings& warnings) {
  CaptureArguments arguments;
  arguments.paths = paths;
  ListedCaptures listed = list_captures(arguments);
  for (const std::string& file : listed.empty) {
    warnings.texts.push_back(describe_empty_file(file));
  }
  return std::move(listed.paths);
}

/// A script that fails a build must not go by what two recordings of the same program differ in.
void require_runs(const CompareOptions& options, const Side& base, const Side& changed) {
  const std::size_t fewer = std::min(base.paths.size(), changed.paths.size());
  if (options.fail_on.empty() || options.allows_few_runs || fewer >= stats::recommended_runs) {
    return;
  }
  throw CLI::ValidationError(
      "--fail-on-regression",
      fmt::format(
          "needs at least {} captures a side, since runs of the same program differ as well; there {} {} of base and "
          "{} of new. Record more, or add --allow-few-runs",
          stats::recommended_runs, base.paths.size() == 1 ? "is" : "are", base.paths.size(), changed.paths.size()));
}

/// Sorts out which durations got slower by the share that fails, and which may have.
void find_regressions(ComparisonReport& report, const CompareOptions& options) {
  if (report.fail_share < 0) {
    return;
  }
  for (const stats::ComparedThing& thing : report.comparison.things) {
    const bool counts = thing.verdict == stats::Verdict::worse || options.allows_few_runs;
    if (counts && thing.regressed_by(report.fail_share)) {
      report.regressions.push_back(&thing);
    } else if (thing.regressed_by(report.fail_share) || thing.may_have_regressed_by(report.fail_share)) {
      report.not_ruled_out.push_back(&thing);
    }
  }
}

/// Explains the first regressions; for a page without --fail-on-regression, what is worse. Where there are too few
/// frames or scopes, nothing can be said.
void find_reasons(ComparisonReport& report, const CompareOptions& options) {
  constexpr std::size_t most_reasons = 3;
  std::vector<std::string> paths = report.base_paths;
  paths.insert(paths.end(), report.new_paths.begin(), report.new_paths.end());
  ExplainOptions how;
  for (std::size_t capture = 0; capture < report.base_paths.size(); ++capture) {
    how.base_captures.push_back(capture);
  }
  how.seed = report.seed;
  std::vector<const stats::ComparedThing*> things = report.regressions;
  for (const stats::ComparedThing& thing : report.comparison.things) {
    if (!options.page.empty() && report.fail_share < 0 && thing.verdict == stats::Verdict::worse) {
      things.push_back(&thing);
    }
  }
  for (const stats::ComparedThing* thing : things) {
    const bool is_main = thing->name.kind == ThingKind::frames && thing->name.name.empty();
    if (report.reasons.size() == most_reasons || (!is_main && thing->name.kind != ThingKind::site)) {
      continue;
    }
    if (!report.both) {
      report.both.emplace(paths, timeline_options(options));
    }
    how.site = thing->name.name;
    try {
      for (Explanation& why : explain(*report.both, how)) {
        report.reasons.push_back(std::move(why));
      }
    } catch (const SelectionError&) {
      continue;
    }
  }
}

int run(const CompareOptions& options) {
  const bool has_two = options.two.size() == 2 && options.base.empty() && options.changed.empty();
  if (!has_two && (!options.two.empty() || options.base.empty() || options.changed.empty())) {
    throw CLI::ValidationError("compare", "give two captures, BASE NEW, or several with --base and --new");
  }
  ComparisonReport report;
  report.seed = options.seed;
  report.fail_share = options.fail_on.empty() ? -1 : parse_share(options.fail_on);
  Side base;
  Side changed;
  Warnings warnings;
  base.paths = captures_of(has_two ? std::vector<std::string>{options.two[0]} : options.base, warnings);
  changed.paths = captures_of(has_two ? std::vector<std::string>{options.two[1]} : options.changed, warnings);
  require_runs(options, base, changed);
  base::Replacing replacing{page_mark, options.is_forced, base.paths};
  replacing.inputs.insert(replacing.inputs.end(), changed.paths.begin(), changed.paths.end());
  if (!options.page.empty()) {
    base::require_replaceable(options.page, replacing);
  }
  read_side(base, 0, options, "base", report, warnings);
  read_side(changed, 1, options, "new", report, warnings);
  if (options.has_functions) {
    stats::add_function_runs(*base.samples, std::move(base.functions), *changed.samples, std::move(changed.functions));
  }
  stats::ComparisonOptions how;
  how.seed = options.seed;
  report.comparison = stats::compare(*base.samples, *changed.samples, how);
  fail_without_common(report.comparison, base, changed, warnings);
  report.facts = stats::compare_configurations(base.configuration, changed.configuration);
  warn_of_facts(report.facts, warnings);
  report.base_paths = std::move(base.paths);
  report.new_paths = std::move(changed.paths);
  report.warnings = warnings.texts;
  find_regressions(report, options);
  find_reasons(report, options);
  if (options.redacts) {
    name_captures_only(report);
  }
  if (!options.page.empty()) {
    base::replace_file(options.page, replacing, [&report](base::OutputFile out) {
      write_comparison_page(report, out);
      out.close();
    });
  }
  if (options.is_json) {
    print_comparison_json(report);
  } else {
    warnings.print();
    if (options.is_csv) {
      print_comparison_csv(report);
    } else {
      print_comparison(report, options.text);
    }
  }
  return report.regressions.empty() ? warnings.exit_code() : to_int(ExitCode::regressed);
}

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<CompareOptions>();
  CLI::App* const command = app.add_subcommand(
      "compare", "Tells whether a recording differs from another by more than chance, and by how much");
  command->add_option("CAPTURE", options->two, "BASE and NEW: a capture each, or a directory of captures")->expected(2);
  command->add_option("--base", options->base, "Several captures before the change, each a run of its own")
      ->option_text("CAPTURE...");
  command->add_option("--new", options->changed, "Several captures after it")->option_text("CAPTURE...");
  command
      ->add_option(
          "--fail-on-regression", options->fail_on,
          "End with 4 where a duration is worse and its median or 95th percentile grew by this much or more; needs "
          "three captures a side")
      ->option_text("PERCENT");
  command->add_flag("--allow-few-runs", options->allows_few_runs,
                    "Let --fail-on-regression go by fewer captures: by what differs in these recordings");
  command->add_option("--seed", options->seed, "What random numbers begin with (1): the same gives the same results")
      ->option_text("N")
      ->check(is_whole());
  command->add_option("--top", options->text.top, "Show only so many rows a table")
      ->option_text("N")
      ->check(is_count());
  command->add_flag("--functions", options->has_functions,
                    "Compare the CPU time of functions that `kymo record --stacks` sampled, instead of all else");
  command->add_flag("--all", options->text.all, "Show metrics that are the same or have too few samples as well");
  CLI::Option* const json = command->add_flag("--json", options->is_json, "Print JSON, durations in nanoseconds");
  command->add_flag("--csv", options->is_csv, "Print CSV, durations in nanoseconds")->excludes(json);
  command
      ->add_option("--html", options->page,
                   "Also write a page with the distributions; an earlier page of kymo's is replaced")
      ->option_text("FILE");
  add_redact_argument(*command, options->redacts);
  add_force_argument(*command, options->is_forced);
  command->footer(
      "Scopes match by name, function and file, wherever their lines moved to; functions by name and module; spans, frames\n"
      "and metrics by name.\n"
      "Each capture is a run. Runs of the same program differ, so record three or more a side, five for small changes.\n\n"
      "Verdicts:\n"
      "  worse, better, differs    the programs differ: the runs do by more than they vary among themselves\n"
      "  worse here, ...           the recordings differ: with one run a side, the next run may differ as much\n"
      "  unclear                   the interval excludes zero, but chance is not excluded; more runs settle it\n"
      "  same                      chance explains the difference; the interval says how much may be unseen\n"
      "  too few samples           fewer than five on a side\n\n"
      "Examples:\n"
      "  kymo compare before.kymo after.kymo\n"
      "  kymo compare --base before-*.kymo --new after-*.kymo\n"
      "  kymo compare --fail-on-regression 5% --html compared.html main/ branch/\n"
      "  kymo compare --json main/ branch/ | jq '.compared[] | select(.verdict == \"worse\") | .name'");
  command->callback([options, &exit_code] {
    options->page = output_path(options->page);
    exit_code = run(*options);
  });
}

}  // namespace kymo::command
