// kymograph._record: recording from Python through libkymo's C and C++ interface. Hand-written for CPython because a
// scope has a budget of nanoseconds.
//
//     scope.cpp      with kymo.scope(...)            profile.cpp    functions with @kymo.profile
//     resumable.cpp  its generators and coroutines   tracer.cpp     every Python function of a script
//     task.cpp       tasks of event loops
//     frames.cpp     frame marks                     sites.cpp, arguments.cpp: common parts
//     calls.cpp, metrics.cpp, spans.cpp: the rest
#include <kymo/kymo.h>

#include "types.hpp"

namespace kymo::python {

namespace {

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "kymograph._record",
                      PyDoc_STR("Recording: scopes, frames, metrics, spans, captures."),
                      -1,
                      recording_functions,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr};

bool fill(PyObject* made) {
  return PyModule_AddFunctions(made, metric_functions) == 0 && PyModule_AddFunctions(made, span_functions) == 0 &&
         PyModule_AddFunctions(made, frame_functions) == 0 && PyModule_AddFunctions(made, tracing_functions) == 0 &&
         PyModule_AddFunctions(made, task_functions) == 0 && add_scope_type(made) && add_span_types(made) &&
         add_profiled_type(made) && add_resumable_types(made) && add_task_type(made);
}

PyObject* make_module() {
  Owned made(PyModule_Create(&module));
  return made && fill(made.get()) ? made.release() : nullptr;
}

}  // namespace

}  // namespace kymo::python

// NOLINTNEXTLINE(readability-identifier-naming): what Python looks for
PyMODINIT_FUNC PyInit__record() {
#if defined(Py_GIL_DISABLED)
  PyErr_SetString(PyExc_ImportError,
                  "kymo does not support free-threaded Python: its tables rely on the interpreter's lock. Use a build "
                  "of Python with the lock (python3 instead of python3t)");
  return nullptr;
#else
  // A process has one recorder, and the types here belong to the interpreter that makes them.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "kymo does not support sub-interpreters: import it in the main interpreter");
    return nullptr;
  }
  // Python's functions call each other without nesting calls in C.
  kymo_allow_scopes_without_stack_v1();
  return kymo::python::make_module();
#endif
}
