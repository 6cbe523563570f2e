// The options of kymo stats.
#include "apps/kymo/stats/stats_options.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace kymo::command {

namespace {

/// Allows whole numbers from 1.
CLI::Validator is_count() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto count = parse_number<std::uint64_t>(text);
        return count && *count != 0 ? std::string() : text + " is no whole number from 1";
      },
      "");
}

void add_selection_options(CLI::App& command, StatsOptions& options) {
  command
      .add_option(
          "--site", options.sites,
          "Only sites and spans whose name fits (* any text, ? one character); may be repeated. With --tree: what "
          "runs inside them too")
      ->option_text("PATTERN")
      ->allow_extra_args(false);
  command.add_option("--thread", options.threads, "Only tracks whose name fits; may be repeated")
      ->option_text("PATTERN")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--frames", [&options](const std::string& text) { options.frames = parse_frames(text); },
          "Only these frames of the main frame stream, numbered from 1, both included: 10..20, 10.., ..20, 7")
      ->option_text("A..B")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_frames(text)
                       ? std::string()
                       : text + " is no range of frames: 10..20, 10.., ..20 or 7, the lower one first, numbered from 1";
          },
          ""));
  command
      .add_option_function<std::string>(
          "--time", [&options](const std::string& text) { options.time = parse_time(text); },
          "Only this stretch, counted from the start of the recording: 1.5s..2s, 250ms.., ..3min")
      ->option_text("FROM..TO")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_time(text)
                       ? std::string()
                       : text +
                             " is no stretch of time: 1.5s..2s, 250ms.. or ..3min, the earlier end first, units ns, us, ms, s, min, h";
          },
          ""));
  command.add_option("--phase", options.phase, "Only the phase that begins with this sync point")->option_text("N");
}

void add_views(CLI::App& command, StatsOptions& options) {
  CLI::Option* const tree =
      command.add_flag("--tree", options.has_tree, "The call tree: what ran inside what, over all threads");
  command
      .add_option("--min-share", options.least_share,
                  "With --tree: leave out rows of less than this share of its time, in percent (0.1)")
      ->option_text("PERCENT")
      ->check(CLI::Range(0.0, 100.0).description(""))
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
  const std::array<CLI::Option*, 4> views{tree, slowest, phases, energy};
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
      ->check(CLI::NonNegativeNumber.description(""))
      ->needs(energy);
}

}  // namespace

namespace {

constexpr std::array<std::pair<std::string_view, SortKey>, 10> sort_keys{{{"self", SortKey::self},
                                                                          {"total", SortKey::total},
                                                                          {"count", SortKey::count},
                                                                          {"mean", SortKey::mean},
                                                                          {"min", SortKey::min},
                                                                          {"p50", SortKey::p50},
                                                                          {"p95", SortKey::p95},
                                                                          {"p99", SortKey::p99},
                                                                          {"max", SortKey::max},
                                                                          {"name", SortKey::name}}};

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

std::optional<stats::FrameRange> parse_frames(const std::string& text) {
  const auto ends = split_range(text);
  if (!ends) {
    return std::nullopt;
  }
  stats::FrameRange range;
  const auto first = parse_number<FrameNumber>(ends->first);
  const auto last = parse_number<FrameNumber>(ends->second);
  if ((!first && !ends->first.empty()) || (!last && !ends->second.empty())) {
    return std::nullopt;
  }
  range.first = first.value_or(range.first);
  range.last = last.value_or(range.last);
  return range.first >= 1 && range.first <= range.last ? std::optional(range) : std::nullopt;
}

stats::SelectionOptions selection_of(const Timeline& timeline, const StatsOptions& options) {
  stats::SelectionOptions chosen;
  chosen.sites = options.sites;
  chosen.threads = options.threads;
  chosen.frames = options.frames;
  chosen.phase = options.phase;
  if (options.time) {
    const auto at = [start_ns = timeline.range().start_ns](std::int64_t since_ns) {
      std::int64_t time_ns = 0;
      return __builtin_add_overflow(start_ns, since_ns, &time_ns) ? std::numeric_limits<std::int64_t>::max() : time_ns;
    };
    chosen.time.start_ns = at(options.time->start_ns);
    chosen.time.end_ns = options.time->end_ns ? at(*options.time->end_ns) : chosen.time.end_ns;
  }
  return chosen;
}

void add_stats_options(CLI::App& command, StatsOptions& options) {
  add_capture_arguments(command, options.captures);
  add_selection_options(command, options);
  command
      .add_option_function<std::string>(
          "--sort", [&options](const std::string& text) { options.sort = find_sort_key(text); },
          fmt::format("Order of the sites: {} (self; in JSON and with --energy: total)", sort_words()))
      ->check(CLI::Validator(
          [](const std::string& text) {
            return find_sort_key(text) ? std::string() : fmt::format("{} is no column: {}", text, sort_words());
          },
          ""))
      ->option_text("COLUMN");
  command
      .add_option(
          "--top", options.top,
          "Show so many rows of sites, spans and locks (12; with an option that selects a part or a view, all); "
          "with --tree so many inside each")
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
  command.add_flag("--by-process", options.by_process, "Keep the processes apart");
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
      "  kymo stats --by-process captures/\n"
      "  kymo stats --energy --idle-watts 12.5 run.kymo\n"
      "  kymo stats --json run.kymo | jq '.sites[] | select(.name == \"step\") | .p99_ns'");
}

}  // namespace kymo::command
