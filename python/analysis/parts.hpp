// The parts of kymo._analysis, each registered by the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace kymo::python {

void add_nvmetrics(nanobind::module_& module);
void add_bench(nanobind::module_& module);
void add_power(nanobind::module_& module);
void add_witness(nanobind::module_& module);
void add_imports(nanobind::module_& module);

}  // namespace kymo::python
