// Records calls reported by the C interface of sys.setprofile, which each thread installs for itself. Before 3.12.
#include "call_stack.hpp"
#include "tracer.hpp"

#include <frameobject.h>

#if PY_VERSION_HEX < 0x030C0000

namespace kymo::python {

namespace {

bool is_hooked = false;

int on_event(PyObject* /*self*/, PyFrameObject* frame, int what, PyObject* argument) {
  switch (what) {
    case PyTrace_CALL: {
      PyCodeObject* const code = PyFrame_GetCode(frame);
      if (take_profiled_frame(code)) {
        CallStack::of_thread().push(nullptr, nullptr);
      } else {
        CallStack::of_thread().push(function_of_frame(code, frame), nullptr);
      }
      Py_DECREF(code);
      break;
    }
    case PyTrace_C_CALL:
      CallStack::of_thread().push(site_of_builtin(argument), nullptr);
      break;
    case PyTrace_RETURN:
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
      CallStack::of_thread().pop();
      break;
    default:
      break;
  }
  return 0;
}

/// Passed to threading.setprofile: at a new thread's first event it installs the real hook.
PyObject* begin_thread(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  PyEval_SetProfile(on_event, nullptr);
  if (count == 3 && PyFrame_Check(arguments[0]) && PyUnicode_Check(arguments[1]) &&
      PyUnicode_CompareWithASCIIString(arguments[1], "call") == 0) {
    on_event(nullptr, reinterpret_cast<PyFrameObject*>(arguments[0]), PyTrace_CALL, nullptr);
  }
  Py_RETURN_NONE;
}

PyMethodDef begin_thread_definition = {"begin_thread", as_method(begin_thread), METH_FASTCALL, nullptr};

bool hook_threads(bool is_on) {
  const Owned threading(PyImport_ImportModule("threading"));
  const Owned hook(is_on ? PyCFunction_New(&begin_thread_definition, nullptr) : Py_NewRef(Py_None));
  const Owned done(threading && hook ? PyObject_CallMethod(threading.get(), "setprofile", "O", hook.get()) : nullptr);
  return static_cast<bool>(done);
}

}  // namespace

bool begin_profile_hook() {
  if (!hook_threads(true)) {
    return false;
  }
  is_hooked = true;
  PyEval_SetProfile(on_event, nullptr);
  return true;
}

bool end_profile_hook() {
  if (!std::exchange(is_hooked, false)) {
    return true;
  }
  PyEval_SetProfile(nullptr, nullptr);
  return hook_threads(false);
}

}  // namespace kymo::python

#endif
