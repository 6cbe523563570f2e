// What the files of kymo._analysis share: each registers one matter.
#pragma once

#include <nanobind/nanobind.h>

namespace kymo::python {

/// Captures and their tables.
void add_capture(nanobind::module_& module);
/// Whether captures differ.
void add_comparison(nanobind::module_& module);

}  // namespace kymo::python
