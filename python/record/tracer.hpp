// Records every Python function of a script as a scope: `python -m kymo record`.
//
// How Python reports calls depends on its version:
//
//     frame_hook.cpp       before 3.12: evaluates each frame within a scope (PEP 523), in half of the time
//     profile_hook.cpp     before 3.12, where built-in functions are wanted: the C interface of sys.setprofile
//     monitoring_hook.cpp  from 3.12: sys.monitoring, which costs nothing in functions that are left out
//
// What is recorded of a code object is decided once and kept with it. Everything here is called with the interpreter's
// lock held.
#pragma once

#include "python.hpp"
#include "sites.hpp"

namespace kymo::python {

/// What stands for a code object that is not recorded.
extern kymo_site left_out_site;

/// The site of a code object, or left_out_site; null where that was not decided yet.
[[nodiscard]] kymo_site* known_site(PyCodeObject* code);
/// Decides it, by the name of the module that the globals are of; they may be null.
[[nodiscard]] kymo_site* decide_site(PyCodeObject* code, PyObject* globals);
/// The site of the code that a frame runs; null where it is left out.
[[nodiscard]] kymo_site* site_of_frame(PyCodeObject* code, PyFrameObject* frame);
/// The site of a built-in function, by its definition: the objects that refer to it come and go. Null where it is left
/// out.
[[nodiscard]] kymo_site* site_of_builtin(PyObject* callable);

/// Has Python report calls from now on, in all threads. False, perhaps with an exception set, where it cannot.
[[nodiscard]] bool begin_hook(bool has_c_functions);
[[nodiscard]] bool end_hook();

#if PY_VERSION_HEX < 0x030C0000
[[nodiscard]] bool begin_frame_hook();
void end_frame_hook();
[[nodiscard]] bool begin_profile_hook(bool has_c_functions);
[[nodiscard]] bool end_profile_hook();
#endif

}  // namespace kymo::python
