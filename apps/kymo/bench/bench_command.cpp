// kymo bench: grids over parameters, and the witness bundles of their decisions.
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <kymo/witness.hpp>

#include "apps/kymo/bench/bench_journal.hpp"
#include "apps/kymo/bench/bench_plan.hpp"
#include "apps/kymo/bench/bench_run.hpp"
#include "apps/kymo/bench/bench_summary.hpp"
#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "base/output/replacing_file.hpp"
#include "bench/sha256.hpp"

namespace kymo::command {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string plan;
  std::string output;
  bool is_restarted = false;
  bool is_dry = false;
  bool fails_on_criteria = false;
  bool is_forced = false;
};

struct VerifyOptions {
  std::vector<std::string> files;
  std::string same_as;
};

struct BundleOptions {
  std::string output;
  std::vector<std::string> files;
  bool is_forced = false;
};

void print_order(const GridPlan& plan) {
  for (const bench::GridRun& run : bench::order_runs(plan.settings.size(), plan.order)) {
    const GridSetting& setting = plan.settings[run.setting];
    const bench::Values values = placeholders(plan, setting, run.repetition, {"OUTPUT", "METRICS"});
    fmt::print("{} {}{}:", printable(setting.name), run.is_warmup ? "warm-up " : "", run.repetition);
    for (const std::string& word : setting.command.words) {
      fmt::print(" {}", printable(bench::fill(word, values)));
    }
    fmt::print("\n");
  }
}

void print_verdicts(const GridPlan& plan, const GridSummary& summary) {
  Table table({{"criterion", Align::left}, {"setting", Align::left}, {"value"}, {"verdict", Align::left}});
  for (const SettingVerdict& verdict : summary.verdicts) {
    const auto result = verdict.verdict.result;
    table.add({printable(plan.criteria[verdict.criterion].name), printable(plan.settings[verdict.setting].name),
               result == bench::Verdict::Result::unknown ? "" : format_value(verdict.verdict.value),
               result == bench::Verdict::Result::met      ? "met"
               : result == bench::Verdict::Result::missed ? "missed"
                                                          : "unknown"});
  }
  if (!table.empty()) {
    table.print();
    fmt::print("\n");
  }
}

/// Deletes the files of an earlier grid beside its journal, and nothing else.
void remove_old(const fs::path& output) {
  for (const char* const name : {"results.csv", "summary.json", "summary.md"}) {
    fs::remove(output / name);
  }
  for (const char* const name : {"runs", "logs", "metrics", "figs"}) {
    fs::remove_all(output / name);
  }
}

/// Checks that the grid's output overwrites no foreign files.
void expect_free(const GridPlan& plan, const fs::path& output) {
  std::vector<std::string> names{"results.csv", "summary.json", "summary.md", "runs", "logs", "metrics", "figs"};
  if (!plan.table_path.empty()) {
    names.push_back(plan.table_path);
  }
  for (const std::string& name : names) {
    if (fs::exists(output / name)) {
      throw Failure(
          fmt::format("{} is there, and no grid left it: choose another --output-dir, or --force to overwrite what is "
                      "in this one",
                      printable((output / name).string())));
    }
  }
}

int run_plan(const RunOptions& options) {
  const GridPlan plan = read_plan(options.plan);
  if (options.is_dry) {
    print_order(plan);
    return to_int(ExitCode::ok);
  }
  const fs::path given = options.output.empty() ? fs::path(options.plan).stem().string() + "-results" : options.output;
  const std::string output = fs::absolute(given).lexically_normal().string();
  fs::create_directories(output);
  Journal journal(output + "/journal.jsonl", plan.fingerprint,
                  options.is_restarted ? Journal::Former::is_forgotten : Journal::Former::goes_on);
  if (journal.is_new() && !options.is_forced) {
    try {
      expect_free(plan, output);
    } catch (...) {
      fs::remove(output + "/journal.jsonl");
      throw;
    }
  }
  // Only with the journal's lock is it certain that no other process uses them.
  if (journal.has_forgotten()) {
    remove_old(output);
  }
  const GridOutcome outcome = run_grid(plan, output, journal);
  if (outcome.is_interrupted) {
    say("kymo: interrupted; {} done: the same command goes on from there\n",
        format_plural(outcome.done + outcome.done_before, "run"));
    return 128 + SIGINT;
  }
  for (const std::string& problem : outcome.problems) {
    say("kymo: {}\n", printable(problem));
  }
  const GridSummary summary = write_summary(plan, collect(plan, journal), output);
  print_verdicts(plan, summary);
  fmt::print("{}: {} done now, {} before, {} failed; results.csv, summary.md and figs/ tell\n",
             printable(given.string()), format_plural(outcome.done, "run"), outcome.done_before,
             outcome.problems.size());
  const bool is_failed = !outcome.problems.empty() || (options.fails_on_criteria && !summary.is_met);
  return to_int(is_failed ? ExitCode::failed : ExitCode::ok);
}

int verify(const VerifyOptions& options) {
  bool is_sound = true;
  for (const std::string& file : options.files) {
    const WitnessReport report = verify_witness(file);
    if (!report.is_whole) {
      say("kymo: {}:{}: {}; {} before it sound\n", printable(file), report.line, report.problem,
          report.totals.entries == 1 ? "the 1 entry" : fmt::format("the {} entries", report.totals.entries));
      is_sound = false;
      continue;
    }
    fmt::print("{}: whole, {} entries, {} of {} gates kept, head {}\n", printable(file), report.totals.entries,
               report.totals.kept, report.totals.gates, report.head);
    if (options.same_as.empty()) {
      continue;
    }
    const WitnessDifference difference = compare_witnesses(file, options.same_as);
    if (!difference.is_same_header) {
      say("kymo: {} and {} are not of the same configuration\n", printable(file), printable(options.same_as));
    }
    if (difference.entry != 0) {
      say("kymo: {} and {} decide differently from entry {} on\n", printable(file), printable(options.same_as),
          difference.entry);
    }
    is_sound = is_sound && difference.is_none();
  }
  return to_int(is_sound ? ExitCode::ok : ExitCode::failed);
}

void expect_whole(const std::string& file, const WitnessReport& report) {
  if (!report.is_whole) {
    throw Failure(fmt::format("{}:{}: {}", file, report.line, report.problem));
  }
}

/// Combines bundles: their entries in the order given, under a fingerprint of their fingerprints.
int bundle(const BundleOptions& options) {
  ParameterSet configurations;
  WitnessHeader header;
  for (const std::string& file : options.files) {
    const WitnessReport report = verify_witness(file);
    expect_whole(file, report);
    configurations.add(fs::path(file).filename().string(), report.header.config_hash);
    if (header.config_hash.empty()) {
      header = report.header;
    } else if (header.model_commit != report.header.model_commit || header.weights_hash != report.header.weights_hash) {
      throw Failure(fmt::format("{} is of another model or other weights than {}", file, options.files.front()));
    }
    header.config_hash = configurations.fingerprint();
  }
  base::require_replaceable(options.output, {{}, options.is_forced, options.files});
  WitnessWriter writer(options.output, header);
  for (const std::string& file : options.files) {
    expect_whole(file, verify_witness(file, [&writer](const WitnessEntry& entry) { writer.add(entry); }));
  }
  const std::string head = writer.finish();
  fmt::print("{}: {} entries, head {}\n", printable(options.output), writer.totals().entries, head);
  return to_int(ExitCode::ok);
}

void add_run(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* const command = bench.add_subcommand("run", "Runs a command over a grid of parameters");
  command->add_option("PLAN", options->plan, "The plan, a JSON file")->required()->option_text(" ");
  command
      ->add_option("-o,--output-dir", options->output,
                   "Where everything goes (PLAN-results); a grid that was interrupted there goes on")
      ->option_text("DIR");
  command->add_flag("--force", options->is_forced, "Overwrite files there that no grid left");
  command->add_flag("--restart", options->is_restarted, "Take away what an earlier grid left there, and begin anew");
  command->add_flag("--dry-run", options->is_dry, "Show the runs in their order and do nothing");
  command->add_flag("--fail-on-criteria", options->fails_on_criteria,
                    "End with 1 where a setting misses a criterion, or has no value for it");
  command->footer(
      "A plan:\n"
      "  {\"command\": [\"./solve\", \"--threads\", \"{threads}\"], \"parameters\": {\"threads\": [1, 2, 4]},\n"
      "   \"warmup\": 1, \"repetitions\": 5, \"timeout_s\": 60,\n"
      "   \"baseline\": {\"parameters\": {\"threads\": 1}},\n"
      "   \"criteria\": [{\"metric\": \"wall_time_s\", \"at_most\": 0.7, \"relative_to_baseline\": true}]}\n"
      "docs/benchmarking.md has all of it. Metrics are wall_time_s, cpu_time_s, peak_memory_bytes, and what the command\n"
      "writes as a JSON object of numbers into the file that KYMO_BENCH_METRICS names.\n\n"
      "Examples:\n"
      "  kymo bench run plan.json\n"
      "  kymo bench run plan.json -o grid --fail-on-criteria");
  command->callback([options, &exit_code] { exit_code = run_plan(*options); });
}

void add_verify(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* const command = bench.add_subcommand("verify", "Checks witness bundles; names the first broken link");
  command->add_option("FILE", options->files, "Witness bundles")->required()->option_text(" ");
  command
      ->add_option("--same-as", options->same_as,
                   "A bundle, of another machine, that must hold the same decisions; when they were made may differ")
      ->option_text("FILE");
  command->callback([options, &exit_code] { exit_code = verify(*options); });
}

void add_bundle(CLI::App& bench, int& exit_code) {
  auto options = std::make_shared<BundleOptions>();
  CLI::App* const command = bench.add_subcommand("bundle", "Puts the entries of witness bundles into one");
  command->add_option("-o,--output", options->output, "File to write; one that is there is left alone")
      ->required()
      ->option_text("FILE");
  add_force_argument(*command, options->is_forced);
  command->add_option("FILE", options->files, "Witness bundles, each of another name")->required()->option_text(" ");
  command->callback([options, &exit_code] { exit_code = bundle(*options); });
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  CLI::App* const bench = app.add_subcommand("bench", "Runs grids of benchmarks and checks what they leave");
  bench->require_subcommand(1);
  add_run(*bench, exit_code);
  add_verify(*bench, exit_code);
  add_bundle(*bench, exit_code);
}

}  // namespace kymo::command
