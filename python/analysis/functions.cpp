// Functions of sampled stacks, as rows of dicts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <kymo/functions.hpp>

#include "capture.hpp"
#include "selection.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

nb::object known(const Energy& energy, double value) {
  return energy.is_known() ? nb::cast(value) : nb::none();
}

nb::list functions_of(const SnapshotHandle& snapshot, std::int64_t start_ns, std::int64_t end_ns,
                      std::vector<std::string> sites, std::vector<std::string> threads, const FrameNumbers& frames,
                      std::optional<std::uint64_t> phase, bool has_lines) {
  SampledFunctions found;
  {
    const nb::gil_scoped_release release;
    const SelectionOptions part = make_selection(start_ns, end_ns, std::move(sites), std::move(threads), frames, phase);
    found = read_functions(*snapshot.timeline, part, has_lines ? SampledRows::lines : SampledRows::functions);
  }
  nb::list rows;
  for (const FunctionStatistics& function : found.functions) {
    nb::dict row;
    row["name"] = make_text(function.name);
    row["module"] = make_text(function.module);
    row["file"] = make_text(function.file);
    if (has_lines) {
      row["line"] = function.line != 0 ? nb::cast(function.line) : nb::none();
    }
    row["self"] = function.self;
    row["total"] = function.total;
    row["self_blocked_ns"] = function.self_blocked_ns;
    row["self_blocked_bound_ns"] = function.self_blocked_bound_ns;
    row["total_blocked_ns"] = function.total_blocked_ns;
    row["total_blocked_bound_ns"] = function.total_blocked_bound_ns;
    if (found.has_energy) {
      row["self_joules"] = known(function.self_energy, function.self_energy.joules);
      row["self_bound_joules"] = known(function.self_energy, function.self_energy.bound_joules);
      row["total_joules"] = known(function.total_energy, function.total_energy.joules);
      row["total_bound_joules"] = known(function.total_energy, function.total_energy.bound_joules);
    }
    rows.append(row);
  }
  return rows;
}

}  // namespace

void add_functions(nb::class_<SnapshotHandle>& snapshot) {
  snapshot.def("functions", functions_of, nb::kw_only(), nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("sites"),
               nb::arg("threads"), nb::arg("frames").none(), nb::arg("phase").none(), nb::arg("lines"));
}

}  // namespace kymo::python
