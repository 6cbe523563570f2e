// Writes comparisons as text, JSON and CSV.
#include "apps/kymo/compare/compare_output.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/explain/explain_output.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "base/text/escapes.hpp"
#include "stats/compare/run_differences.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;
using stats::ComparedFact;
using stats::ComparedSide;
using stats::ComparedThing;
using stats::Interval;
using stats::ThingKind;
using stats::Verdict;

/// The value of a fact, or the number of its values if there are several.
std::string format_fact_values(const std::vector<std::string>& values, std::size_t width) {
  if (values.empty()) {
    return "-";
  }
  return values.size() == 1 ? printable(values.front(), width)
                            : fmt::format("{}, ... ({} values)", printable(values.front(), width), values.size());
}

void print_facts(const ComparisonReport& report) {
  Table table({{"", Align::left}, {"base", Align::left}, {"new", Align::left}, {"", Align::left}});
  for (const ComparedFact& fact : report.facts) {
    const std::string base = format_fact_values(fact.base, 56);
    const std::string changed = format_fact_values(fact.changed, 56);
    table.add({printable(fact.key, 24), base, fact.differs() ? changed : "(same)", fact.differs() ? "differs" : ""});
  }
  if (!table.empty()) {
    table.print();
    fmt::print("\n");
  }
}

std::string format_samples(const ComparedSide& side) {
  return format_count(side.count);
}

std::string format_p(const std::optional<double>& p_value) {
  if (!p_value) {
    return {};
  }
  return *p_value < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", *p_value);
}

std::vector<std::string> cells_of(const ComparedThing& thing) {
  const std::string& unit = thing.name.unit;
  const bool has_p95 = thing.p95.has_value();
  return {std::string(name_of(thing.verdict)),
          printable(title_of(thing.name)),
          printable(place_of(thing)),
          format_samples(thing.base),
          format_samples(thing.changed),
          format_in_unit(thing.base.median, unit),
          format_in_unit(thing.changed.median, unit),
          format_change(thing.median_difference(), thing.base.median),
          format_interval(thing.median_share),
          has_p95 ? format_change(thing.p95_difference(), thing.base.p95) : "",
          format_interval(thing.p95_share),
          format_p(thing.adjusted_p_value)};
}

void print_things(const ComparisonReport& report, ThingKind kind, const char* title,
                  const ComparisonTextOptions& options) {
  // On a narrow terminal the change and its interval stay longest.
  Table table({{"verdict", Align::left},
               {title, Align::left},
               {"where", Align::left, 3},
               {"base n", Align::right, 4},
               {"new n", Align::right, 4},
               {"base p50", Align::right, 2},
               {"new p50", Align::right, 1},
               {"change"},
               {"95 %"},
               {"p95", Align::right, 5},
               {"95 %", Align::right, 5},
               {"adj. p", Align::right, 6}});
  std::size_t shown = 0;
  std::size_t left_out = 0;
  std::size_t little = 0;
  for (const ComparedThing& thing : report.comparison.things) {
    if (thing.name.kind != kind) {
      continue;
    }
    const bool says_little = kind == ThingKind::metric && !options.all &&
                             (thing.verdict == Verdict::same || thing.verdict == Verdict::same_here ||
                              thing.verdict == Verdict::too_few_samples);
    if (says_little) {
      ++little;
      continue;
    }
    if (options.top != 0 && shown == options.top) {
      ++left_out;
      continue;
    }
    table.add(cells_of(thing));
    ++shown;
  }
  if (table.empty() && little == 0) {
    return;
  }
  if (!table.empty()) {
    table.print();
  }
  if (little != 0) {
    print_wrapped(fmt::format("{} the same or with too few samples; --all shows them", format_plural(little, title)));
  }
  if (left_out != 0) {
    fmt::print("... and {} more; --top shows them\n", format_count(left_out));
  }
  fmt::print("\n");
}

void print_only_in(const char* side, const std::vector<stats::ThingName>& names) {
  constexpr std::size_t shown = 8;
  if (names.empty()) {
    return;
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) {
    list += fmt::format("{}{} {}", i == 0 ? "" : ", ", name_of(names[i].kind), short_title_of(names[i]));
  }
  if (names.size() > shown) {
    list += fmt::format(" and {} more", format_count(names.size() - shown));
  }
  print_wrapped(fmt::format("Only in {}: {}.", side, list));
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json number_or_null(const std::optional<double>& value) {
  return value ? number_or_null(*value) : Json(nullptr);
}

Json to_json(const std::optional<Interval>& interval) {
  // JSON has no infinity; nlohmann-json writes null for it.
  return interval ? Json::array({interval->low, interval->high}) : Json(nullptr);
}

Json to_json(const ComparedSide& side) {
  return {{"count", side.count},   {"sampled", side.kept}, {"runs", side.runs},
          {"median", side.median}, {"p95", side.p95},      {"line", side.line}};
}

Json to_json(const stats::ThingName& name) {
  return {{"kind", name_of(name.kind)}, {"name", name.name},     {"function", name.function},
          {"file", name.file},          {"labels", name.labels}, {"unit", name.unit}};
}

Json to_json(const ComparedThing& thing) {
  Json json = to_json(thing.name);
  json["verdict"] = name_of(thing.verdict);
  json["base"] = to_json(thing.base);
  json["new"] = to_json(thing.changed);
  json["median_difference"] = thing.median_difference();
  json["median_interval"] = to_json(thing.median);
  json["median_change"] = number_or_null(stats::share_of(thing.median_difference(), thing.base.median));
  json["median_change_interval"] = to_json(thing.median_share);
  json["p95_difference"] = thing.p95_difference();
  json["p95_interval"] = to_json(thing.p95);
  json["p95_change"] = number_or_null(stats::share_of(thing.p95_difference(), thing.base.p95));
  json["p95_change_interval"] = to_json(thing.p95_share);
  json["new_is_greater"] = thing.greater;
  json["compared"] = thing.by_run ? "runs" : "samples";
  json["p_value"] = number_or_null(thing.p_value);
  json["adjusted_p_value"] = number_or_null(thing.adjusted_p_value);
  json["more_runs"] = thing.more_runs ? Json(*thing.more_runs) : Json(nullptr);
  return json;
}

Json to_json(const std::vector<stats::ThingName>& names) {
  Json list = Json::array();
  for (const stats::ThingName& name : names) {
    list.push_back(to_json(name));
  }
  return list;
}

/// A field of a CSV file: quoted if needed, on one line, printable.
std::string csv_field(std::string_view raw) {
  std::string field;
  base::append_csv_field(field, printable(raw));
  return field;
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

std::string csv_number(const std::optional<double>& value) {
  return value ? csv_number(*value) : std::string();
}

}  // namespace

std::string title_of(const stats::ThingName& name) {
  if (name.name.empty()) {
    return name.kind == ThingKind::frames ? "(main)" : "(unnamed)";
  }
  return name.labels.empty() ? name.name : name.name + ' ' + name.labels;
}

std::string short_title_of(const stats::ThingName& name) {
  constexpr std::size_t longest = 48;
  return cut_middle(printable(title_of(name)), longest);
}

std::string place_of(const ComparedThing& thing) {
  if (thing.name.file.empty() || thing.base.line == 0) {
    return thing.name.file;
  }
  return thing.base.line == thing.changed.line
             ? fmt::format("{}:{}", thing.name.file, thing.base.line)
             : fmt::format("{}:{}->{}", thing.name.file, thing.base.line, thing.changed.line);
}

std::string format_in_unit(double value, const std::string& unit) {
  if (unit == "ns") {
    return format_duration(value);
  }
  return format_value(value) + (unit.empty() ? "" : " " + printable(unit, 12));
}

std::string format_change(double difference, double base) {
  const double share = stats::share_of(difference, base);
  return std::isfinite(share) ? fmt::format("{:+.1f} %", 100 * share) : std::string("-");
}

std::string format_interval(const std::optional<Interval>& shares) {
  if (!shares || !std::isfinite(shares->low) || !std::isfinite(shares->high)) {
    return {};
  }
  return fmt::format("{:+.1f} to {:+.1f} %", 100 * shares->low, 100 * shares->high);
}

std::string describe_runs(const ComparisonReport& report) {
  const std::size_t base = report.base_paths.size();
  const std::size_t changed = report.new_paths.size();
  const std::string sides =
      fmt::format("{} of base, {} of new: ", format_plural(base, "capture"), format_count(changed));
  if (std::min(base, changed) >= stats::recommended_runs) {
    return sides + "verdicts hold across runs; verdicts \"here\" hold for these recordings only.";
  }
  if (std::min(base, changed) >= stats::least_runs) {
    return sides + "verdicts hold across runs, but two a side find only large differences. Record three or more.";
  }
  return sides +
         "verdicts \"here\" hold for these recordings only, since runs of the same program differ as well. Record three "
         "or more captures a side to compare the programs.";
}

std::string describe_unclear(const ComparisonReport& report) {
  constexpr std::size_t shown = 8;
  std::string list;
  std::size_t count = 0;
  for (const ComparedThing& thing : report.comparison.things) {
    if (thing.verdict != Verdict::unclear || ++count > shown) {
      continue;
    }
    const std::string more = !thing.by_run     ? "three runs a side would tell more"
                             : thing.more_runs ? fmt::format("about {} more {} a side", *thing.more_runs,
                                                             *thing.more_runs == 1 ? "run" : "runs")
                                               : fmt::format("over {} more runs a side", stats::most_runs_advised);
    list += fmt::format("{}{} {} ({})", list.empty() ? "" : ", ", name_of(thing.name.kind), short_title_of(thing.name),
                        more);
  }
  if (count == 0) {
    return {};
  }
  return fmt::format("{} unclear; what would settle it if the difference is as large as measured: {}{}.",
                     count == 1 ? "1 thing is" : format_count(count) + " things are", list,
                     count > shown ? fmt::format(" and {} more", format_count(count - shown)) : "");
}

namespace {

bool has_unclear(const ComparisonReport& report) {
  const auto& things = report.comparison.things;
  return std::any_of(things.begin(), things.end(),
                     [](const ComparedThing& thing) { return thing.verdict == Verdict::unclear; });
}

}  // namespace

std::string describe_regressions(const ComparisonReport& report) {
  if (report.fail_share < 0) {
    return {};
  }
  const std::string limit = fmt::format("{:.6g} %", 100 * report.fail_share);
  const std::size_t possible = report.not_ruled_out.size();
  std::string text;
  if (!report.regressions.empty()) {
    text = fmt::format("Worse by {} or more: {}.", limit, format_plural(report.regressions.size(), "thing"));
  } else if (possible == 0 && !has_unclear(report)) {
    return fmt::format("Nothing is worse by {} or more.", limit);
  } else {
    text = fmt::format("No slowdown of {} or more was found.", limit);
  }
  if (possible == 0) {
    return text;
  }
  constexpr std::size_t shown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, possible); ++i) {
    const stats::ThingName& name = report.not_ruled_out[i]->name;
    list += fmt::format("{}{} {}", i == 0 ? "" : ", ", name_of(name.kind), short_title_of(name));
  }
  return text + fmt::format(" It is not ruled out for {}, whose intervals reach it: {}{}.",
                            format_plural(possible, "thing"), list,
                            possible > shown ? fmt::format(" and {} more", format_count(possible - shown)) : "");
}

void print_comparison(const ComparisonReport& report, const ComparisonTextOptions& options) {
  print_facts(report);
  print_things(report, ThingKind::site, "scope", options);
  print_things(report, ThingKind::cpu_time, "CPU time of scope", options);
  print_things(report, ThingKind::span, "span", options);
  print_things(report, ThingKind::frames, "frames", options);
  print_things(report, ThingKind::metric, "metric", options);
  print_things(report, ThingKind::function, "function", options);
  print_only_in("base", report.comparison.only_in_base);
  print_only_in("new", report.comparison.only_in_new);
  for (const stats::OtherUnits& other : report.comparison.other_units) {
    print_wrapped(fmt::format("Not compared: metric {} is in {} in base and in {} in new.", short_title_of(other.base),
                              other.base.unit.empty() ? "no unit" : printable(other.base.unit, 12),
                              other.changed_unit.empty() ? "no unit" : printable(other.changed_unit, 12)));
  }
  for (const std::string& text : {describe_runs(report), describe_unclear(report), describe_regressions(report)}) {
    if (!text.empty()) {
      print_wrapped(text);
    }
  }
  std::size_t number = 0;
  for (const Explanation& why : report.reasons) {
    fmt::print("\n");
    print_explanation(why, number);
  }
}

void print_comparison_json(const ComparisonReport& report) {
  Json facts = Json::array();
  for (const ComparedFact& fact : report.facts) {
    facts.push_back({{"fact", fact.key}, {"base", fact.base}, {"new", fact.changed}, {"differs", fact.differs()}});
  }
  Json things = Json::array();
  for (const ComparedThing& thing : report.comparison.things) {
    things.push_back(to_json(thing));
  }
  Json other_units = Json::array();
  for (const stats::OtherUnits& other : report.comparison.other_units) {
    Json row = to_json(other.base);
    row["new_unit"] = other.changed_unit;
    other_units.push_back(std::move(row));
  }
  Json json = {{"base", report.base_paths},
               {"new", report.new_paths},
               {"seed", report.seed},
               {"configuration", std::move(facts)},
               {"compared", std::move(things)},
               {"only_in_base", to_json(report.comparison.only_in_base)},
               {"only_in_new", to_json(report.comparison.only_in_new)},
               {"other_units", std::move(other_units)}};
  if (report.fail_share >= 0) {
    const auto names_of = [](const std::vector<const ComparedThing*>& list) {
      Json names = Json::array();
      for (const ComparedThing* const thing : list) {
        names.push_back(to_json(thing->name));
      }
      return names;
    };
    json["regressions"] = names_of(report.regressions);
    json["not_ruled_out"] = names_of(report.not_ruled_out);
    json["reasons"] = Json::array();
    for (const Explanation& why : report.reasons) {
      json["reasons"].push_back(json_of(*report.both, why));
    }
  }
  json["warnings"] = report.warnings;
  print_json(json);
}

void print_comparison_csv(const ComparisonReport& report) {
  fmt::print(
      "kind,name,function,file,labels,unit,verdict,base_count,new_count,base_median,new_median,median_difference,"
      "median_low,median_high,base_p95,new_p95,p95_difference,p95_low,p95_high,p_value,adjusted_p_value,more_runs\n");
  for (const ComparedThing& thing : report.comparison.things) {
    const auto end = [](const std::optional<Interval>& interval, bool is_high) {
      return interval ? csv_number(is_high ? interval->high : interval->low) : std::string();
    };
    fmt::print("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", name_of(thing.name.kind),
               csv_field(thing.name.name), csv_field(thing.name.function), csv_field(thing.name.file),
               csv_field(thing.name.labels), csv_field(thing.name.unit), name_of(thing.verdict), thing.base.count,
               thing.changed.count, csv_number(thing.base.median), csv_number(thing.changed.median),
               csv_number(thing.median_difference()), end(thing.median, false), end(thing.median, true),
               csv_number(thing.base.p95), csv_number(thing.changed.p95), csv_number(thing.p95_difference()),
               end(thing.p95, false), end(thing.p95, true), csv_number(thing.p_value),
               csv_number(thing.adjusted_p_value), thing.more_runs ? std::to_string(*thing.more_runs) : std::string());
  }
}

}  // namespace kymo::command
