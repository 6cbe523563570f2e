// The parts of kymograph._analysis, each registered by its own file.
#pragma once

#include <nanobind/nanobind.h>

#include "ids.hpp"

namespace kymo::python {

/// Captures and their tables.
void add_capture(nanobind::module_& module);
/// Comparisons of captures.
void add_comparison(nanobind::module_& module);
/// Imports of other tools' files.
void add_imports(nanobind::module_& module);
/// Boards and the recorder of Jetson traces.
void add_nvmetrics(nanobind::module_& module);
/// The benchmark kit: its records and files, with power and witness chains.
void add_bench(nanobind::module_& module);
void add_power(nanobind::module_& module);
void add_witness(nanobind::module_& module);

}  // namespace kymo::python
