// Records every Python function of a script as a scope: `python -m kymograph record`.
//
// Ways in which Python reports calls:
//
//     frame_hook.cpp       before 3.14: evaluates each frame within a scope (PEP 523), the cheapest
//     profile_hook.cpp     before 3.12, if built-in functions are wanted: the C interface of sys.setprofile
//     monitoring_hook.cpp  from 3.12, in place of the others: sys.monitoring, which costs nothing in functions that are
//                          left out, reports built-in functions, and needs no C stack
//
// The function of a code object is decided once and stored with it. Call everything here with the GIL held.
#pragma once

#include "leaf_calls.hpp"
#include "python.hpp"
#include "sites.hpp"

namespace kymo::python {

/// Where sites are in what Python stores with a code object for others; negative before functions are traced.
inline Py_ssize_t code_extra_index = -1;

/// Whether functions are traced, or were.
[[nodiscard]] inline bool is_tracing() {
  return code_extra_index >= 0;
}

/// The function of a code object; null if it has not been decided.
[[nodiscard]] inline TracedFunction* known_function(PyCodeObject* code) {
#if PY_VERSION_HEX < 0x030E0000
  // What Python's function for this reads, without the call.
  struct Extras {
    Py_ssize_t count;
    void* values[1];
  };
  const auto* const extras = static_cast<const Extras*>(code->co_extra);
  return extras != nullptr && code_extra_index < extras->count
             ? static_cast<TracedFunction*>(extras->values[code_extra_index])
             : nullptr;
#else
  void* known = nullptr;
  if (PyUnstable_Code_GetExtra(reinterpret_cast<PyObject*>(code), code_extra_index, &known) != 0) {
    PyErr_Clear();
  }
  return static_cast<TracedFunction*>(known);
#endif
}
/// Decides it by the module name in the globals, which may be null.
[[nodiscard]] TracedFunction& decide_function(PyCodeObject* code, PyObject* globals);
/// The function of a frame's code.
[[nodiscard]] TracedFunction& function_of_frame(PyCodeObject* code, PyFrameObject* frame);
/// The site of a built-in function, by its definition, because the objects that refer to it are temporary. Null if it
/// is left out.
[[nodiscard]] kymo_site* site_of_builtin(PyObject* callable);

/// The code whose next frame on this thread is not recorded, as @kymo.profile has opened a scope for it.
extern __thread const void* profiled_code __attribute__((tls_model("initial-exec")));

/// While a profiled function begins or resumes. Its code is null where that is no Python code.
class ProfiledFrame {
 public:
  explicit ProfiledFrame(const void* code) { set(code); }
  ProfiledFrame(const ProfiledFrame&) = delete;
  ProfiledFrame& operator=(const ProfiledFrame&) = delete;
  ~ProfiledFrame() { set(nullptr); }

 private:
  static void set(const void* code) {
    if (is_tracing()) {
      profiled_code = code;
    }
  }
};

/// Whether this frame, which is not yet running, has the scope of @kymo.profile. Its own calls have not.
[[nodiscard]] inline bool take_profiled_frame(const void* code) {
  if (profiled_code != code) {
    return false;
  }
  profiled_code = nullptr;
  return true;
}

// Each makes Python report calls from now on, in all threads, or ends that if it was begun. They return false, perhaps
// with an exception set, if they cannot.
#if PY_VERSION_HEX < 0x030E0000
void begin_frame_hook();
void end_frame_hook();
#endif
#if PY_VERSION_HEX < 0x030C0000
[[nodiscard]] bool begin_profile_hook();
[[nodiscard]] bool end_profile_hook();
#else
/// Whether sys.monitoring has a tool for the next two: it has six, and other tools of the process may have them all.
[[nodiscard]] bool has_monitoring();
[[nodiscard]] bool begin_monitoring_hook(bool has_c_functions);
[[nodiscard]] bool end_monitoring_hook();
#endif
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
/// 3.13 runs the __init__ of many classes within the caller's evaluation: their frames never reach the frame hook.
/// sys.monitoring reports all functions of this name instead.
[[nodiscard]] bool begin_monitoring_inlined();
inline PyObject* name_of_inlined = nullptr;  // "__init__", interned like all names of functions
[[nodiscard]] inline bool is_inlined(const PyCodeObject* code) {
  return code->co_name == name_of_inlined;
}
#else
constexpr bool is_inlined(const PyCodeObject* /*code*/) {
  return false;
}
#endif

}  // namespace kymo::python
