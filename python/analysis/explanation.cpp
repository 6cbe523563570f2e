// Why slow frames and scopes are slow, as dicts with the keys of `kymo explain --json`.
#include <kymo/explain.hpp>
#include <kymo/explain_energy.hpp>
#include <kymo/explain_run.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "capture.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

nb::object make_share_interval(const std::optional<Interval>& interval) {
  return interval ? nb::object(nb::make_tuple(interval->low, interval->high)) : nb::object(nb::none());
}

nb::dict make_instance(const FindingInstance& one) {
  nb::dict row;
  row["number"] = one.instance.number;
  row["start_ns"] = one.instance.start_ns;
  row["duration_ns"] = one.instance.duration_ns;
  row["owned_ns"] = one.owned_ns;
  return row;
}

nb::list make_companions(const Timeline& timeline, const std::vector<Companion>& companions) {
  nb::list rows;
  for (const Companion& companion : companions) {
    const MetricDeclaration& metric = timeline.metric(companion.metric);
    nb::dict row;
    row["metric"] = make_text(metric.name);
    row["labels"] = make_dict({metric.labels.begin(), metric.labels.end()});
    row["unit"] = make_text(metric.kind == MetricKind::gauge ? metric.unit : metric.unit + "/s");
    row["slow"] = companion.slow;
    row["usual"] = companion.usual;
    row["p_value"] = companion.p_value;
    rows.append(row);
  }
  return rows;
}

nb::list make_functions(const std::vector<FindingFunction>& functions) {
  nb::list rows;
  for (const FindingFunction& function : functions) {
    nb::dict row;
    row["name"] = make_text(function.name);
    row["module"] = make_text(function.module);
    row["is_kernel"] = function.is_kernel;
    row["is_caller"] = function.is_caller;
    row["share"] = function.share;
    row["share_interval"] = make_share_interval(function.interval);
    row["samples"] = function.samples;
    row["place"] = nb::none();
    if (function.place) {
      nb::dict place;
      place["function"] = make_text(function.place->function);
      place["file"] = make_text(function.place->file);
      place["line"] = function.place->line;
      row["place"] = place;
    }
    rows.append(row);
  }
  return rows;
}

nb::list make_parts(const std::vector<FindingPart>& parts, const char* time_key) {
  nb::list rows;
  for (const FindingPart& part : parts) {
    nb::dict row;
    row["name"] = make_text(part.subject.name);
    row["file"] = make_text(part.subject.file);
    row["line"] = part.subject.line;
    row["thread"] = make_text(part.thread);
    row[time_key] = part.excess_ns;
    rows.append(row);
  }
  return rows;
}

nb::list make_findings(const Timeline& timeline, const std::vector<Finding>& findings) {
  nb::list rows;
  for (const Finding& finding : findings) {
    nb::list slow;
    for (const FindingInstance& one : finding.slow) {
      slow.append(make_instance(one));
    }
    nb::dict row;
    row["text"] = make_text(finding.text);
    row["kind"] = make_text(name_of(finding.kind));
    row["waits"] = make_texts(finding.waits);
    row["excess_ns"] = finding.excess_ns;
    row["share"] = finding.share;
    row["share_interval"] = make_share_interval(finding.interval);
    row["p_value"] = finding.p_value;
    row["in_instances"] = finding.in_instances;
    row["is_first_time"] = finding.is_first_time;
    row["parts"] = make_parts(finding.parts, "excess_ns");
    row["functions"] = make_functions(finding.functions);
    row["bytes"] = make_companions(timeline, finding.bytes);
    row["slow"] = slow;
    rows.append(row);
  }
  return rows;
}

nb::dict make_explanation(const Timeline& timeline, const Explanation& why) {
  nb::dict row;
  row["text"] = make_text(describe(why));
  row["is_comparison"] = why.is_comparison;
  row["site"] = why.name.empty() ? nb::object(nb::none()) : nb::object(make_text(why.name));
  row["process"] = why.process.empty() ? nb::object(nb::none()) : nb::object(make_text(why.process));
  row["instances"] = why.instances;
  row["slow"] = why.slow;
  row["usual"] = why.usual;
  row["slow_mean_ns"] = why.slow_mean_ns;
  row["usual_mean_ns"] = why.usual_mean_ns;
  row["excess_ns"] = why.excess_ns();
  row["unexplained_ns"] = why.unexplained_ns;
  row["findings"] = make_findings(timeline, why.findings);
  row["shorter"] = make_findings(timeline, why.shorter);
  row["goes_along"] = make_companions(timeline, why.companions);
  row["notes"] = make_texts(why.notes);
  return row;
}

nb::list explanations_of(const SnapshotHandle& snapshot, std::string site, std::optional<std::int64_t> over_ns,
                         std::optional<std::uint64_t> frame, std::optional<std::pair<std::int64_t, std::int64_t>> time,
                         std::vector<std::size_t> base_captures, std::uint64_t seed) {
  std::vector<Explanation> found;
  {
    const nb::gil_scoped_release release;
    ExplainOptions how;
    how.site = std::move(site);
    how.slow.over_ns = over_ns;
    how.slow.number = frame;
    if (time) {
      how.slow.time = TimeRange{time->first, time->second};
    }
    how.base_captures = std::move(base_captures);
    how.seed = seed;
    found = explain(*snapshot.timeline, how);
  }
  nb::list rows;
  for (const Explanation& why : found) {
    rows.append(make_explanation(*snapshot.timeline, why));
  }
  return rows;
}

nb::dict run_of(const SnapshotHandle& snapshot) {
  RunExplanation run;
  {
    const nb::gil_scoped_release release;
    run = explain_run(*snapshot.timeline);
  }
  nb::list parts;
  for (const RunPart& part : run.parts) {
    nb::dict row;
    row["text"] = make_text(part.text);
    row["kind"] = make_text(name_of(part.kind));
    row["waits"] = make_texts(part.waits);
    row["duration_ns"] = part.duration_ns;
    row["share"] = part.share;
    row["parts"] = make_parts(part.parts, "duration_ns");
    row["functions"] = make_functions(part.functions);
    parts.append(row);
  }
  nb::dict row;
  row["text"] = make_text(describe(run));
  row["thread"] = make_text(run.thread);
  row["pid"] = run.pid;
  row["start_ns"] = run.range.start_ns;
  row["duration_ns"] = run.range.end_ns - run.range.start_ns;
  row["parts"] = parts;
  row["other_ns"] = run.other_ns;
  row["notes"] = make_texts(run.notes);
  return row;
}

nb::list make_instances(const std::vector<InstanceJoules>& instances) {
  nb::list rows;
  for (const InstanceJoules& one : instances) {
    nb::dict row;
    row["number"] = one.instance.number;
    row["start_ns"] = one.instance.start_ns;
    row["duration_ns"] = one.instance.duration_ns;
    row["joules"] = one.joules;
    rows.append(row);
  }
  return rows;
}

nb::list make_energy_findings(const std::vector<EnergyFinding>& findings) {
  nb::list rows;
  for (const EnergyFinding& finding : findings) {
    nb::dict row;
    row["text"] = make_text(finding.text);
    row["name"] = make_text(finding.subject.name);
    row["file"] = make_text(finding.subject.file);
    row["line"] = finding.subject.line;
    row["thread"] = make_text(finding.thread);
    row["excess_joules"] = finding.excess_joules;
    row["share"] = finding.share;
    row["share_interval"] = make_share_interval(finding.interval);
    row["p_value"] = finding.p_value;
    row["in_instances"] = finding.in_instances;
    row["costly"] = make_instances(finding.costly);
    rows.append(row);
  }
  return rows;
}

nb::dict energy_explanation_of(const SnapshotHandle& snapshot, std::string site, std::optional<std::uint64_t> frame,
                               std::optional<std::pair<std::int64_t, std::int64_t>> time,
                               std::vector<std::size_t> base_captures, std::uint64_t seed) {
  EnergyExplanation why;
  {
    const nb::gil_scoped_release release;
    ExplainOptions how;
    how.slow.number = frame;
    if (time) {
      how.slow.time = TimeRange{time->first, time->second};
    }
    how.site = std::move(site);
    how.base_captures = std::move(base_captures);
    how.seed = seed;
    why = explain_energy(*snapshot.timeline, how);
  }
  const auto known = [&](double value) {
    return why.costly != 0 ? nb::object(nb::float_(value)) : nb::object(nb::none());
  };
  nb::dict row;
  row["text"] = make_text(describe(why));
  row["is_comparison"] = why.is_comparison;
  row["site"] = why.name.empty() ? nb::object(nb::none()) : nb::object(make_text(why.name));
  row["has_power"] = why.has_power;
  row["instances"] = why.instances;
  row["unknown"] = why.unknown;
  row["unresolved"] = why.unresolved;
  row["costly"] = why.costly;
  row["usual"] = why.usual;
  row["costly_mean_joules"] = known(why.costly_mean_joules);
  row["usual_mean_joules"] = known(why.usual_mean_joules);
  row["excess_joules"] = known(why.excess_joules());
  row["unexplained_joules"] = known(why.unexplained_joules);
  row["findings"] = make_energy_findings(why.findings);
  row["less"] = make_energy_findings(why.less);
  row["costliest"] = make_instances(why.costliest);
  row["notes"] = make_texts(why.notes);
  return row;
}

}  // namespace

void add_explanations(nb::class_<SnapshotHandle>& snapshot) {
  snapshot.def("explain", explanations_of, nb::kw_only(), nb::arg("site"), nb::arg("over_ns").none(),
               nb::arg("frame").none(), nb::arg("time").none(), nb::arg("base_captures"), nb::arg("seed"));
  snapshot.def("explain_run", run_of);
  snapshot.def("explain_energy", energy_explanation_of, nb::kw_only(), nb::arg("site"), nb::arg("frame").none(),
               nb::arg("time").none(), nb::arg("base_captures"), nb::arg("seed"));
}

}  // namespace kymo::python
