// The options of kymo stats.
#include "apps/kymo/stats/stats_options.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/usage.hpp"

namespace kymo::command {

namespace {

void add_views(CLI::App& command, StatsOptions& options) {
  CLI::Option* const tree =
      command.add_flag("--tree", options.has_tree, "The call tree: what ran inside what, over all threads");
  command
      .add_option("--min-share", options.least_share,
                  "With --tree: leave out rows of less than this share of its time, in percent (0.1)")
      ->option_text("PERCENT")
      ->check(is_between(0.0, 100.0))
      ->needs(tree);
  command.add_option("--depth", options.depth, "With --tree: show so many levels (40)")
      ->option_text("N")
      ->check(is_count())
      ->needs(tree);
  CLI::Option* const slowest =
      command
          .add_option("--slowest-frames", options.slowest_frames,
                      "The slowest frames of the main stream, and the sites that took most of their time")
          ->option_text("N")
          ->check(is_count());
  CLI::Option* const phases = command.add_flag("--phases", options.has_phases, "A table for each phase");
  CLI::Option* const energy = command.add_flag(
      "--energy", options.has_energy, "Joules per site, GPU span, frame stream and phase instead of durations");
  CLI::Option* const functions = command.add_flag(
      "--functions", options.has_functions,
      "Functions by the samples of stacks that `kymo record --stacks` took; with --site, of those inside its scopes");
  CLI::Option* const lines = command.add_flag(
      "--lines", options.has_lines, "The same by line of the source, of functions whose file has debug information");
  CLI::Option* const histogram =
      command.add_flag("--histogram", options.has_histograms,
                       "Beside each row a sketch of its durations, from least to greatest on a logarithmic axis");
  CLI::Option* const with =
      command
          .add_option("--with", options.with,
                      "Beside each site mean and peak of these metrics while it ran: power, memory, or a metric's name")
          ->option_text("METRIC,...")
          ->delimiter(',')
          ->allow_extra_args(false);
  CLI::Option* const filter = command.get_option("--filter");
  CLI::Option* const metrics = command.get_option("--metrics");
  const std::array<CLI::Option*, 6> views{tree, slowest, phases, energy, functions, lines};
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t k = i + 1; k < views.size(); ++k) {
      views[i]->excludes(views[k]);
    }
    histogram->excludes(views[i]);
    with->excludes(views[i]);
    filter->excludes(views[i]);
    if (views[i] != phases) {
      metrics->excludes(views[i]);
    }
  }
  for (const char* const name : {"--site", "--thread", "--frames", "--time", "--phase"}) {
    energy->excludes(command.get_option(name));
  }
  command
      .add_option("--power-source", options.power_sources,
                  "With --energy: use the sources of this metric, label value or name instead of those that kymo "
                  "chooses so that nothing counts twice; may be repeated")
      ->option_text("NAME")
      ->allow_extra_args(false)
      ->needs(energy);
  command
      .add_option("--idle-watts", options.idle_watts,
                  "With --energy: what the idle machine draws (default: the least mean of a second)")
      ->option_text("W")
      ->check(is_amount())
      ->needs(energy);
}

}  // namespace

namespace {

constexpr std::array<std::pair<std::string_view, SortKey>, 15> sort_keys{{{"self", SortKey::self},
                                                                          {"total", SortKey::total},
                                                                          {"count", SortKey::count},
                                                                          {"mean", SortKey::mean},
                                                                          {"min", SortKey::min},
                                                                          {"p50", SortKey::p50},
                                                                          {"p95", SortKey::p95},
                                                                          {"p99", SortKey::p99},
                                                                          {"p99.9", SortKey::p99_9},
                                                                          {"max", SortKey::max},
                                                                          {"cpu", SortKey::cpu},
                                                                          {"pushed-off", SortKey::pushed_off},
                                                                          {"blocked", SortKey::blocked},
                                                                          {"name", SortKey::name},
                                                                          {"where", SortKey::where}}};

std::string sort_words() {
  std::string words;
  for (const auto& [word, key] : sort_keys) {
    words.append(words.empty() ? "" : ", ").append(word);
  }
  return words;
}

std::optional<SortKey> find_sort_key(std::string_view text) {
  for (const auto& [word, key] : sort_keys) {
    if (word == text) {
      return key;
    }
  }
  return std::nullopt;
}

}  // namespace

void add_stats_options(CLI::App& command, StatsOptions& options) {
  add_capture_arguments(command, options.captures);
  add_selection_arguments(
      command, options,
      "Only sites and spans whose name fits (* any text, ? one character); may be repeated. With --tree: what runs "
      "inside them too");
  command
      .add_option_function<std::string>(
          "--sort", [&options](const std::string& text) { options.sort = find_sort_key(text); },
          fmt::format("Order of the sites, by a column: {} (self; in JSON and with --energy: total)", sort_words()))
      ->check(CLI::Validator(
          [](const std::string& text) {
            return find_sort_key(text) ? std::string() : fmt::format("{} is no column: {}", text, sort_words());
          },
          ""))
      ->option_text("COLUMN");
  command
      .add_option(
          "--top", options.top,
          "Show so many rows of sites, spans and locks (12; with an option that selects a part or a view, all), of "
          "functions 30, of what threads did in all 20; with --tree so many inside each")
      ->option_text("N")
      ->check(is_count());
  command
      .add_option("--filter", options.filters,
                  "Show only rows whose name fits (* any text, ? one character): sites, spans, locks, metrics; may be "
                  "repeated")
      ->option_text("PATTERN")
      ->allow_extra_args(false);
  command.add_flag("--metrics", options.has_metrics,
                   "Metrics of the machine too, and of all metrics standard deviation and percentiles");
  command
      .add_option_function<std::string>(
          "--by",
          [&options](const std::string& word) {
            options.by_process = word == "process";
            options.by_thread = word == "thread";
          },
          "Keep processes apart, or show each thread: its scopes (threads of one name have their number), and its CPU "
          "time, migrations and page faults")
      ->check(is_one_of({"process", "thread"}, "way to keep rows apart"))
      ->option_text("process|thread");
  command.add_flag("--decode", options.decodes_all, "Decode every event instead of using the capture's summaries");
  add_views(command, options);
  command.add_flag("--json", options.is_json, "Print JSON, times in nanoseconds");
  command.footer(
      "A scope that reaches beyond the chosen frames, phase or time counts with the part that lies within.\n"
      "Percentiles come from histograms of three significant digits. The total of a site adds up all its scopes, those\n"
      "inside one another (recursion) too; shares in the tree count every moment once.\n"
      "Joules come with a bound on their error; the joules of one scope that is shorter than its power source renews\n"
      "itself are unresolved. Threads that have scopes open at the same time share the power equally.\n\n"
      "Examples:\n"
      "  kymo stats run.kymo\n"
      "  kymo stats --sort p99 --top 20 --filter 'draw*' run.kymo\n"
      "  kymo stats --metrics run.kymo\n"
      "  kymo stats --tree --thread 'worker*' --frames 100..200 run.kymo\n"
      "  kymo stats --slowest-frames 3 run.kymo\n"
      "  kymo stats --histogram --with power,memory run.kymo\n"
      "  kymo stats --functions --site 'step*' run.kymo\n"
      "  kymo stats --lines --top 10 run.kymo\n"
      "  kymo stats --by process captures/\n"
      "  kymo stats --by thread run.kymo\n"
      "  kymo stats --energy --idle-watts 12.5 run.kymo\n"
      "  kymo stats --json run.kymo | jq '.sites[] | select(.name == \"step\") | .p99_ns'");
}

void expect_one_view(const StatsOptions& options) {
  if (options.by_thread &&
      (options.has_tree || options.slowest_frames != 0 || options.has_phases || options.has_energy ||
       options.has_functions || options.has_lines || options.has_histograms || !options.with.empty() ||
       !options.filters.empty() || options.has_metrics)) {
    throw CLI::ValidationError(
        "--by thread", "is a view of its own; it takes the options that select a part, --sort, --top and --json");
  }
}

}  // namespace kymo::command
