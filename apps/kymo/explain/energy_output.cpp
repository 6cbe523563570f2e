#include "apps/kymo/explain/energy_output.hpp"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/explain/explain_output.hpp"
#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/screen.hpp"
#include "apps/kymo/shared/table.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/shared/warnings.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/explain/explanation_text.hpp"

namespace kymo::command {

namespace {

using Json = nlohmann::ordered_json;

std::string signed_joules(double joules) {
  return (joules < 0 ? "-" : "") + format_joules(std::abs(joules));
}

Json json_of(const Timeline& timeline, const std::vector<InstanceJoules>& instances) {
  Json rows = Json::array();
  for (const InstanceJoules& one : instances) {
    rows.push_back({{"number", one.instance.number},
                    {"start_ns", stats::nanoseconds_between(timeline.range().start_ns, one.instance.start_ns)},
                    {"duration_ns", one.instance.duration_ns},
                    {"joules", one.joules}});
  }
  return rows;
}

Json json_of(const Timeline& timeline, const EnergyFinding& finding) {
  return {{"text", finding.text},
          {"name", finding.subject.name},
          {"file", finding.subject.file},
          {"line", finding.subject.line},
          {"thread", finding.thread},
          {"excess_joules", finding.excess_joules},
          {"share", finding.share},
          {"share_interval", finding.interval ? Json{finding.interval->low, finding.interval->high} : Json()},
          {"p_value", finding.p_value},
          {"in_instances", finding.in_instances},
          {"costly", json_of(timeline, finding.costly)}};
}

Json json_of(const Timeline& timeline, const std::vector<EnergyFinding>& findings) {
  Json all = Json::array();
  for (const EnergyFinding& finding : findings) {
    all.push_back(json_of(timeline, finding));
  }
  return all;
}

}  // namespace

void print_energy_explanation(const Timeline& timeline, const std::vector<std::string>& paths,
                              const EnergyExplanation& why) {
  print_wrapped(printable(describe(why)), Style::heading);
  Table table({{""},
               {"excess"},
               {"share"},
               {"95 % interval", Align::right, 2},
               {"costly with it", Align::right, 1},
               sentences("used")});
  std::size_t number = 0;
  for (const EnergyFinding& finding : why.findings) {
    table.add({std::to_string(++number), format_joules(finding.excess_joules),
               stats::share_of_excess_text(finding.share), stats::share_interval_text(finding.interval),
               fmt::format("{} of {}", finding.in_instances, why.costly), printable(finding.text)});
  }
  for (const EnergyFinding& finding : why.less) {
    table.add({"-", signed_joules(finding.excess_joules), stats::share_of_excess_text(finding.share), "", "",
               "less " + printable(finding.text)});
  }
  if (!table.empty()) {
    table.add({"-", signed_joules(why.unexplained_joules),
               stats::share_of_excess_text(why.unexplained_joules / why.excess_joules()), "", "", "unexplained"});
    table.print();
  }
  for (const std::string& note : why.notes) {
    print_wrapped("note: " + printable(note));
  }
  if (!why.costliest.empty() && !why.is_comparison) {  // captures of two sides are not on one axis
    print_look_at(timeline, paths, why.costliest.front().instance, !why.name.empty());
  }
}

void print_energy_explanation_json(const Timeline& timeline, const EnergyExplanation& why,
                                   const std::vector<std::string>& warnings) {
  const bool has_set = why.costly != 0;
  const auto known = [](bool is_known, double value) { return is_known ? Json(value) : Json(); };
  print_json({{"energy",
               {{"text", describe(why)},
                {"is_comparison", why.is_comparison},
                {"site", why.name.empty() ? Json() : Json(why.name)},
                {"has_power", why.has_power},
                {"instances", why.instances},
                {"unknown", why.unknown},
                {"unresolved", why.unresolved},
                {"costly", why.costly},
                {"usual", why.usual},
                {"costly_mean_joules", known(has_set, why.costly_mean_joules)},
                {"usual_mean_joules", known(has_set, why.usual_mean_joules)},
                {"excess_joules", known(has_set, why.excess_joules())},
                {"unexplained_joules", known(has_set, why.unexplained_joules)},
                {"findings", json_of(timeline, why.findings)},
                {"less", json_of(timeline, why.less)},
                {"costliest", json_of(timeline, why.costliest)},
                {"notes", why.notes}}},
              {"warnings", warnings}});
}

}  // namespace kymo::command
