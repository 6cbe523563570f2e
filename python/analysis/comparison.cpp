// kymograph._analysis.compare: rows of dicts with the keys of `kymo compare --json`.
#include <kymo/comparison.hpp>

#include <cmath>
#include <limits>
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "parts.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

nb::object number_or_none(std::optional<double> value) {
  return value && std::isfinite(*value) ? nb::object(nb::float_(*value)) : nb::object(nb::none());
}

/// As a share of the base; None if that is 0.
nb::object share_of(double difference, double base) {
  return number_or_none(base != 0 ? difference / std::fabs(base) : std::numeric_limits<double>::quiet_NaN());
}

nb::object make_interval(const std::optional<Interval>& interval) {
  if (!interval) {
    return nb::none();
  }
  nb::list pair;
  pair.append(number_or_none(interval->low));
  pair.append(number_or_none(interval->high));
  return pair;
}

nb::dict make_side(const ComparedSide& side) {
  nb::dict row;
  row["count"] = side.count;
  row["sampled"] = side.kept;
  row["runs"] = side.runs;
  row["median"] = side.median;
  row["p95"] = side.p95;
  row["line"] = side.line;
  return row;
}

nb::dict make_name(const ThingName& name) {
  nb::dict row;
  row["kind"] = name_of(name.kind);
  row["name"] = make_text(name.name);
  row["function"] = make_text(name.function);
  row["file"] = make_text(name.file);
  row["labels"] = make_text(name.labels);
  row["unit"] = make_text(name.unit);
  return row;
}

nb::dict make_thing(const ComparedThing& thing) {
  nb::dict row = make_name(thing.name);
  row["verdict"] = name_of(thing.verdict);
  row["base"] = make_side(thing.base);
  row["new"] = make_side(thing.changed);
  row["median_difference"] = thing.median_difference();
  row["median_interval"] = make_interval(thing.median);
  row["median_change"] = share_of(thing.median_difference(), thing.base.median);
  row["median_change_interval"] = make_interval(thing.median_share);
  row["p95_difference"] = thing.p95_difference();
  row["p95_interval"] = make_interval(thing.p95);
  row["p95_change"] = share_of(thing.p95_difference(), thing.base.p95);
  row["p95_change_interval"] = make_interval(thing.p95_share);
  row["new_is_greater"] = thing.greater;
  row["compared"] = thing.by_run ? "runs" : "samples";
  row["p_value"] = number_or_none(thing.p_value);
  row["adjusted_p_value"] = number_or_none(thing.adjusted_p_value);
  row["more_runs"] = thing.more_runs ? nb::object(nb::int_(*thing.more_runs)) : nb::object(nb::none());
  return row;
}

nb::list make_names(const std::vector<ThingName>& names) {
  nb::list list;
  for (const ThingName& name : names) {
    list.append(make_name(name));
  }
  return list;
}

nb::dict compare(const std::vector<nb::bytes>& base, const std::vector<nb::bytes>& changed, std::uint64_t seed) {
  const std::vector<std::string> base_paths = take_paths(base);
  const std::vector<std::string> changed_paths = take_paths(changed);
  CaptureComparison found;
  {
    const nb::gil_scoped_release release;
    found = compare_captures(base_paths, changed_paths, seed);
  }
  nb::list facts;
  for (const ComparedFact& fact : found.facts) {
    nb::dict row;
    row["fact"] = make_text(fact.key);
    row["base"] = make_texts(fact.base);
    row["new"] = make_texts(fact.changed);
    row["differs"] = fact.differs();
    facts.append(row);
  }
  nb::list things;
  for (const ComparedThing& thing : found.things) {
    things.append(make_thing(thing));
  }
  nb::list other_units;
  for (const OtherUnits& other : found.other_units) {
    nb::dict row = make_name(other.base);
    row["new_unit"] = make_text(other.changed_unit);
    other_units.append(row);
  }
  nb::dict all;
  all["seed"] = seed;
  all["configuration"] = facts;
  all["compared"] = things;
  all["only_in_base"] = make_names(found.only_in_base);
  all["only_in_new"] = make_names(found.only_in_new);
  all["other_units"] = other_units;
  return all;
}

}  // namespace

void add_comparison(nb::module_& module) {
  module.def("compare", compare, nb::arg("base"), nb::arg("changed"), nb::kw_only(), nb::arg("seed"));
}

}  // namespace kymo::python
