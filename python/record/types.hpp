// The extension's parts, combined by module.cpp.
#pragma once

#include "python.hpp"

namespace kymo::python {

/// The functions that record anything but scopes, by what they are for. Each list ends with a null.
extern PyMethodDef recording_functions[];
extern PyMethodDef metric_functions[];
extern PyMethodDef span_functions[];
extern PyMethodDef frame_functions[];
extern PyMethodDef tracing_functions[];
extern PyMethodDef task_functions[];

/// The next mark of each stream begins a frame of a new capture.
void forget_ended_frames();

/// Create a part's types and add them to the module. Return false with an exception set on failure.
[[nodiscard]] bool add_scope_type(PyObject* module);
[[nodiscard]] bool add_span_types(PyObject* module);
[[nodiscard]] bool add_profiled_type(PyObject* module);
[[nodiscard]] bool add_resumable_types(PyObject* module);
[[nodiscard]] bool add_task_type(PyObject* module);

}  // namespace kymo::python
