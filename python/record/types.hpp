// The extension's parts, as module.cpp puts them together.
#pragma once

#include "python.hpp"

namespace kymo::python {

/// The functions that record something other than scopes, those on spans, and those on tracing; each ends with a null.
extern PyMethodDef recording_functions[];
extern PyMethodDef metric_functions[];
extern PyMethodDef span_functions[];
extern PyMethodDef tracing_functions[];

/// Make a part's types and put them into the module. False, with an exception set, where that failed.
[[nodiscard]] bool add_scope_type(PyObject* module);
[[nodiscard]] bool add_span_types(PyObject* module);
[[nodiscard]] bool add_profiled_type(PyObject* module);
[[nodiscard]] bool add_resumable_types(PyObject* module);

}  // namespace kymo::python
