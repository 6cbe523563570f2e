// Records every Python function of a script as a scope: `python -m kymo record`.
//
// The way that Python reports calls depends on its version:
//
//     frame_hook.cpp       before 3.12: evaluates each frame within a scope (PEP 523), in half of the time
//     profile_hook.cpp     before 3.12, if built-in functions are wanted: the C interface of sys.setprofile
//     monitoring_hook.cpp  from 3.12: sys.monitoring, which costs nothing in functions that are left out
//
// The site of a code object is decided once and stored with it. Call everything here with the GIL held.
#pragma once

#include "python.hpp"
#include "sites.hpp"

namespace kymo::python {

/// Marks a code object that is not recorded.
extern kymo_site left_out_site;

/// The site of a code object, or left_out_site; null if it has not been decided.
[[nodiscard]] kymo_site* known_site(PyCodeObject* code);
/// Decides it by the module name in the globals, which may be null.
[[nodiscard]] kymo_site* decide_site(PyCodeObject* code, PyObject* globals);
/// The site of a frame's code; null if it is left out.
[[nodiscard]] kymo_site* site_of_frame(PyCodeObject* code, PyFrameObject* frame);
/// The site of a built-in function, by its definition, because the objects that refer to it are temporary. Null if it
/// is left out.
[[nodiscard]] kymo_site* site_of_builtin(PyObject* callable);

/// Makes Python report calls from now on, in all threads. Returns false, perhaps with an exception set, if it cannot.
[[nodiscard]] bool begin_hook(bool has_c_functions);
[[nodiscard]] bool end_hook();

#if PY_VERSION_HEX < 0x030C0000
[[nodiscard]] bool begin_frame_hook();
void end_frame_hook();
[[nodiscard]] bool begin_profile_hook(bool has_c_functions);
[[nodiscard]] bool end_profile_hook();
#endif

}  // namespace kymo::python
