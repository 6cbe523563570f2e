// Writes explanations as text and JSON.
#include "apps/kymo/explain/explain_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/screen.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "apps/kymo/stats/sketch.hpp"
#include "base/text/ascii.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/common/value_text.hpp"
#include "stats/explain/explanation_text.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t columns_of_histograms = 32;
constexpr std::size_t instances_shown = 20;

std::string signed_duration(double duration_ns) {
  return (duration_ns < 0 ? "-" : "") + format_duration(std::abs(duration_ns));
}

/// Adds a row whose last cell is the text, and one for each of its functions.
void add_lines(std::vector<std::string> cells, const std::string& text, const std::vector<FindingFunction>& functions,
               Table& table) {
  const std::size_t columns = cells.size();
  std::string before;
  for (const std::string& line : stats::lines_of(text, functions)) {
    cells.resize(columns);
    cells.push_back(before + printable(line));
    table.add(std::exchange(cells, {}));
    before = before.empty() ? "  of it " : "        ";
  }
}

void print_findings(const Explanation& why, std::size_t& number) {
  Table table({{""},
               {"excess"},
               {"share"},
               {"95 % interval", Align::right, 2},
               {"slow with it", Align::right, 1},
               sentences("cause")});
  for (const Finding& finding : why.findings) {
    add_lines({std::to_string(++number), format_duration(finding.excess_ns), stats::share_of_excess_text(finding.share),
               stats::share_interval_text(finding.interval), fmt::format("{} of {}", finding.in_instances, why.slow)},
              finding.text, finding.functions, table);
  }
  for (const Finding& finding : why.shorter) {
    table.add({"-", signed_duration(finding.excess_ns), stats::share_of_excess_text(finding.share), "", "",
               "less time " + printable(finding.text)});
  }
  if (!table.empty()) {
    table.add({"-", signed_duration(why.unexplained_ns),
               stats::share_of_excess_text(why.unexplained_ns / why.excess_ns()), "", "", "unexplained"});
    table.print();
  }
}

void print_companions(const Timeline& timeline, const Explanation& why) {
  for (const Companion& companion : why.companions) {
    print_wrapped(printable(stats::companion_text(timeline.metric(companion.metric), companion)));
  }
}

/// A path as a word of a shell.
std::string shell_word(const std::string& path) {
  const bool is_plain =
      std::all_of(path.begin(), path.end(), [](char c) { return base::is_letter_digit_or("/._-+:,", c); });
  if (is_plain && !path.empty() && path.front() != '-') {
    return path;
  }
  std::string word = path.front() == '-' ? "./" : "";
  word += '\'';
  for (const char c : path) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + '\'';
}

double seconds_since_start(const Timeline& timeline, std::int64_t time_ns) {
  return static_cast<double>(stats::nanoseconds_between(timeline.range().start_ns, time_ns)) / 1e9;
}

std::string path_words(const std::vector<std::string>& paths) {
  std::string words;
  for (const std::string& path : paths) {
    words += ' ' + shell_word(path);
  }
  return words;
}

std::string look_at_range(const Timeline& timeline, const std::vector<std::string>& paths, const Instance& instance) {
  // Rounded outwards, to microseconds.
  const double start_s = std::floor(1e6 * seconds_since_start(timeline, instance.start_ns)) / 1e6;
  const double end_s = std::ceil(1e6 * seconds_since_start(timeline, instance.end_ns())) / 1e6;
  return fmt::format("kymo view --time {:.6f}s..{:.6f}s{}", start_s, end_s, path_words(paths));
}

void print_look(const Timeline& timeline, const std::vector<std::string>& paths, const Explanation& why,
                std::size_t first_finding) {
  if (why.slowest.empty()) {
    return;
  }
  print_look_at(timeline, paths, why.slowest.front(), !why.name.empty());
  if (!why.findings.empty()) {
    const std::string site = why.name.empty() ? "" : " --site " + shell_word(why.name);
    fmt::print("      {}\n", printable(fmt::format("kymo explain{} --finding {} --evidence{}", site, first_finding,
                                                   path_words(paths))));
  }
}

std::string describe_instance(const Timeline& timeline, const Explanation& why, const Instance& instance) {
  return fmt::format("{} {} at {:.6f} s on {}", why.name.empty() ? "frame" : "scope", instance.number,
                     seconds_since_start(timeline, instance.start_ns), printable(timeline.track(instance.track).name));
}

/// Counts on a linear axis from 0 to the greatest value of either set.
std::string bars_of(const std::vector<double>& values, double greatest) {
  std::vector<std::uint64_t> columns(columns_of_histograms);
  for (const double value : values) {
    const auto column = static_cast<std::size_t>(std::max(value, 0.0) / greatest * columns_of_histograms);
    ++columns[std::min(column, columns_of_histograms - 1)];
  }
  return sketch(columns, speaks_utf8());
}

void print_histograms(const Finding& finding) {
  std::vector<double> slow;
  double greatest = 1;
  for (const FindingInstance& one : finding.slow) {
    slow.push_back(one.owned_ns);
    greatest = std::max(greatest, one.owned_ns);
  }
  for (const double value : finding.usual_ns) {
    greatest = std::max(greatest, value);
  }
  fmt::print("  time it owns of each, from 0 to {}:\n", format_duration(greatest));
  fmt::print("    slow  |{}|\n", bars_of(slow, greatest));
  fmt::print("    usual |{}|\n", bars_of(finding.usual_ns, greatest));
}

void print_functions(const Finding& finding) {
  Table functions({{"functions", Align::left},
                   {"share"},
                   {"95 % interval"},
                   {"samples"},
                   {"module", Align::left, 2},
                   {"line", Align::left, 2}});
  for (const FindingFunction& function : finding.functions) {
    const char* const how = function.is_caller ? "under " : function.is_kernel ? "in the kernel for " : "in ";
    functions.add({how + printable(function.name), stats::share_of_excess_text(function.share),
                   stats::share_interval_text(function.interval), std::to_string(function.samples),
                   printable(function.module), printable(stats::source_place_text(function))});
  }
  if (!functions.empty()) {
    functions.print(2);
  }
}

void print_one_evidence(const Timeline& timeline, const Explanation& why, const Finding& finding, std::size_t number) {
  fmt::print("{}  {}\n", number, printable(finding.text));
  fmt::print("  {} of {} more than usual, {} {}; permutation test p = {:.4f}, corrected\n",
             format_duration(finding.excess_ns), format_duration(why.excess_ns()),
             stats::share_of_excess_text(finding.share), stats::share_interval_text(finding.interval), finding.p_value);
  print_histograms(finding);
  Table parts({{"where it goes", Align::left}, {"thread", Align::left}, {"excess"}});
  for (const FindingPart& part : finding.parts) {
    parts.add({part.subject.name.empty() ? "outside of scopes" : printable(part.subject.name), printable(part.thread),
               signed_duration(part.excess_ns)});
  }
  parts.print(2);
  print_functions(finding);
  Table instances({{"slow ones", Align::left}, {"takes"}, {"of that"}});
  for (std::size_t i = 0; i < std::min(finding.slow.size(), instances_shown); ++i) {
    const FindingInstance& one = finding.slow[i];
    instances.add({describe_instance(timeline, why, one.instance),
                   format_duration(static_cast<double>(one.instance.duration_ns)), format_duration(one.owned_ns)});
  }
  instances.print(2);
  if (finding.slow.size() > instances_shown) {
    fmt::print("  and {} more\n", finding.slow.size() - instances_shown);
  }
}

Json json_of(const Timeline& timeline, const std::vector<Companion>& companions) {
  Json rows = Json::array();
  for (const Companion& companion : companions) {
    const MetricDeclaration& metric = timeline.metric(companion.metric);
    rows.push_back({{"metric", metric.name},
                    {"labels", labels_json(metric.labels)},
                    {"unit", metric.kind == MetricKind::gauge ? metric.unit : metric.unit + "/s"},
                    {"slow", companion.slow},
                    {"usual", companion.usual},
                    {"p_value", companion.p_value}});
  }
  return rows;
}

Json json_of(const std::vector<FindingFunction>& functions) {
  Json rows = Json::array();
  for (const FindingFunction& function : functions) {
    rows.push_back(
        {{"name", function.name},
         {"module", function.module},
         {"is_kernel", function.is_kernel},
         {"is_caller", function.is_caller},
         {"share", function.share},
         {"share_interval", function.interval ? Json{function.interval->low, function.interval->high} : Json()},
         {"samples", function.samples},
         {"place", function.place ? Json{{"function", function.place->function},
                                         {"file", function.place->file},
                                         {"line", function.place->line}}
                                  : Json()}});
  }
  return rows;
}

Json json_of(const std::vector<FindingPart>& parts, const char* time_key) {
  Json rows = Json::array();
  for (const FindingPart& part : parts) {
    rows.push_back({{"name", part.subject.name},
                    {"file", part.subject.file},
                    {"line", part.subject.line},
                    {"thread", part.thread},
                    {time_key, part.excess_ns}});
  }
  return rows;
}

Json json_of(const Timeline& timeline, const Finding& finding) {
  Json instances = Json::array();
  for (const FindingInstance& one : finding.slow) {
    instances.push_back({{"number", one.instance.number},
                         {"start_ns", stats::nanoseconds_between(timeline.range().start_ns, one.instance.start_ns)},
                         {"duration_ns", one.instance.duration_ns},
                         {"owned_ns", one.owned_ns}});
  }
  return {{"text", finding.text},
          {"kind", std::string(name_of(finding.kind))},
          {"waits", finding.waits},
          {"excess_ns", finding.excess_ns},
          {"share", finding.share},
          {"share_interval", finding.interval ? Json{finding.interval->low, finding.interval->high} : Json()},
          {"p_value", finding.p_value},
          {"in_instances", finding.in_instances},
          {"is_first_time", finding.is_first_time},
          {"parts", json_of(finding.parts, "excess_ns")},
          {"functions", json_of(finding.functions)},
          {"bytes", json_of(timeline, finding.bytes)},
          {"slow", std::move(instances)}};
}

}  // namespace

void print_look_at(const Timeline& timeline, const std::vector<std::string>& paths, const Instance& instance,
                   bool is_scope) {
  const bool is_named = !is_scope && timeline.capture_count() == 1 && paths.size() == 1;
  const std::string look = is_named ? fmt::format("kymo view{}#frame={}", path_words(paths), instance.number)
                                    : look_at_range(timeline, paths, instance);
  fmt::print("look: {}\n", printable(look));
}

Json json_of(const Timeline& timeline, const Explanation& why) {
  Json findings = Json::array();
  for (const Finding& finding : why.findings) {
    findings.push_back(json_of(timeline, finding));
  }
  Json shorter = Json::array();
  for (const Finding& finding : why.shorter) {
    shorter.push_back(json_of(timeline, finding));
  }
  return {{"text", describe(why)},
          {"is_comparison", why.is_comparison},
          {"site", why.name.empty() ? Json() : Json(why.name)},
          {"process", why.process.empty() ? Json() : Json(why.process)},
          {"instances", why.instances},
          {"slow", why.slow},
          {"usual", why.usual},
          {"slow_mean_ns", why.slow_mean_ns},
          {"usual_mean_ns", why.usual_mean_ns},
          {"excess_ns", why.excess_ns()},
          {"unexplained_ns", why.unexplained_ns},
          {"findings", std::move(findings)},
          {"shorter", std::move(shorter)},
          {"goes_along", json_of(timeline, why.companions)},
          {"notes", why.notes}};
}

void print_explanation(const Explanation& why, std::size_t& number) {
  print_wrapped(printable(describe(why)), Style::heading);
  print_findings(why, number);
}

void print_explanations(const Timeline& timeline, const std::vector<std::string>& paths,
                        const std::vector<Explanation>& explanations) {
  std::size_t number = 0;
  bool is_first = true;
  for (const Explanation& why : explanations) {
    if (!is_first) {
      fmt::print("\n");
    }
    is_first = false;
    const std::size_t first_finding = number + 1;
    print_explanation(why, number);
    print_companions(timeline, why);
    for (const std::string& note : why.notes) {
      print_wrapped("note: " + printable(note));
    }
    if (why.is_comparison) {
      continue;  // the captures are not on one axis
    }
    // With a site named, its findings are counted from 1.
    print_look(timeline, paths, why, why.name.empty() ? first_finding : 1);
  }
}

void print_evidence(const Timeline& timeline, const std::vector<Explanation>& explanations, std::size_t number) {
  std::size_t first = 1;
  for (const Explanation& why : explanations) {
    if (number >= first && number < first + why.findings.size()) {
      print_one_evidence(timeline, why, why.findings[number - first], number);
      return;
    }
    first += why.findings.size();
  }
  throw Failure(first == 1 ? "there are no findings: nothing stands out"
                           : fmt::format("there is no finding {}: they are numbered from 1 to {}", number, first - 1));
}

void print_explanations_json(const Timeline& timeline, const std::vector<Explanation>& explanations,
                             const std::vector<std::string>& warnings) {
  Json all = Json::array();
  for (const Explanation& why : explanations) {
    all.push_back(json_of(timeline, why));
  }
  print_json({{"explanations", std::move(all)}, {"warnings", warnings}});
}

void print_run(const RunExplanation& run) {
  print_wrapped(printable(describe(run)), Style::heading);
  Table table({{""}, {"time"}, {"share"}, sentences("what")});
  std::size_t number = 0;
  for (const RunPart& part : run.parts) {
    add_lines({std::to_string(++number), format_duration(part.duration_ns), stats::share_of_excess_text(part.share)},
              part.text, part.functions, table);
  }
  table.add(
      {"-", format_duration(run.other_ns), stats::share_of_excess_text(run.other_ns / run.duration_ns()), "other"});
  table.print();
  for (const std::string& note : run.notes) {
    print_wrapped("note: " + printable(note));
  }
}

void print_run_json(const Timeline& timeline, const RunExplanation& run, const std::vector<std::string>& warnings) {
  Json parts = Json::array();
  for (const RunPart& part : run.parts) {
    parts.push_back({{"text", part.text},
                     {"kind", std::string(name_of(part.kind))},
                     {"waits", part.waits},
                     {"duration_ns", part.duration_ns},
                     {"share", part.share},
                     {"parts", json_of(part.parts, "duration_ns")},
                     {"functions", json_of(part.functions)}});
  }
  const Json all = {{"run",
                     {{"text", describe(run)},
                      {"thread", run.thread},
                      {"pid", run.pid},
                      {"start_ns", stats::nanoseconds_between(timeline.range().start_ns, run.range.start_ns)},
                      {"duration_ns", run.range.end_ns - run.range.start_ns},
                      {"parts", std::move(parts)},
                      {"other_ns", run.other_ns},
                      {"notes", run.notes}}},
                    {"warnings", warnings}};
  print_json(all);
}

}  // namespace kymo::command
