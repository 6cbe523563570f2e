// Records calls reported by sys.monitoring, for all threads. From 3.12.
#include <cstring>

#include "call_stack.hpp"
#include "tracer.hpp"

#if PY_VERSION_HEX >= 0x030C0000

namespace kymo::python {

namespace {

PyObject* disable_here = nullptr;  // sys.monitoring.DISABLE

/// Requests the frame only if its module is needed, because that creates a frame object.
kymo_site* site_of_running(PyObject* object) {
  auto* const code = reinterpret_cast<PyCodeObject*>(object);
  kymo_site* const known = known_site(code);
  if (known == nullptr) {
    return site_of_frame(code, PyEval_GetFrame());
  }
  return known != &left_out_site ? known : nullptr;
}

/// A function starts or resumes.
PyObject* on_begin(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  kymo_site* const site = site_of_running(arguments[0]);
  if (site == nullptr) {
    return Py_NewRef(disable_here);
  }
  CallStack::of_thread().push(site, arguments[0]);
  Py_RETURN_NONE;
}

/// An exception is thrown into the function. This event cannot be disabled for one function.
PyObject* on_throw(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (kymo_site* const site = site_of_running(arguments[0])) {
    CallStack::of_thread().push(site, arguments[0]);
  }
  Py_RETURN_NONE;
}

/// Ends a call of this code. Also ends calls of built-in functions above it whose end was not reported.
void end_call(PyObject* code) {
  CallStack& stack = CallStack::of_thread();
  while (stack.innermost() != nullptr && stack.innermost() != code &&
         !PyCode_Check(const_cast<PyObject*>(static_cast<const PyObject*>(stack.innermost())))) {
    stack.pop();
  }
  if (stack.innermost() == code) {
    stack.pop();
  }
}

PyObject* on_end(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (site_of_running(arguments[0]) == nullptr) {
    return Py_NewRef(disable_here);
  }
  end_call(arguments[0]);
  Py_RETURN_NONE;
}

PyObject* on_unwind(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (site_of_running(arguments[0]) != nullptr) {
    end_call(arguments[0]);
  }
  Py_RETURN_NONE;
}

/// The definition of a built-in function, which outlives its callers; null if the callable runs Python code.
PyObject* builtin_of(PyObject* callable) {
  return PyCFunction_Check(callable) ? callable : nullptr;
}

/// Distinguishes calls of built-in functions from those of code: a type is never a code object.
const void* const builtin_owner = &PyCFunction_Type;

PyObject* on_c_begin(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (PyObject* const builtin = builtin_of(arguments[2])) {
    CallStack::of_thread().push(site_of_builtin(builtin), builtin_owner);
  }
  Py_RETURN_NONE;
}

PyObject* on_c_end(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (builtin_of(arguments[2]) != nullptr && CallStack::of_thread().innermost() == builtin_owner) {
    CallStack::of_thread().pop();
  }
  Py_RETURN_NONE;
}

struct Event {
  const char* name;
  PyMethodDef definition;
  bool is_of_c;
};

Event events[] = {
    {"PY_START", {"on_start", as_method(on_begin), METH_FASTCALL, nullptr}, false},
    {"PY_RESUME", {"on_resume", as_method(on_begin), METH_FASTCALL, nullptr}, false},
    {"PY_THROW", {"on_throw", as_method(on_throw), METH_FASTCALL, nullptr}, false},
    {"PY_RETURN", {"on_return", as_method(on_end), METH_FASTCALL, nullptr}, false},
    {"PY_YIELD", {"on_yield", as_method(on_end), METH_FASTCALL, nullptr}, false},
    {"PY_UNWIND", {"on_unwind", as_method(on_unwind), METH_FASTCALL, nullptr}, false},
    {"CALL", {"on_c_call", as_method(on_c_begin), METH_FASTCALL, nullptr}, true},
    {"C_RETURN", {"on_c_return", as_method(on_c_end), METH_FASTCALL, nullptr}, true},
    {"C_RAISE", {"on_c_raise", as_method(on_c_end), METH_FASTCALL, nullptr}, true},
};

constexpr int profiler_tool = 2;  // sys.monitoring.PROFILER_ID

Owned monitoring() {
  const Owned sys(PyImport_ImportModule("sys"));
  return Owned(sys ? PyObject_GetAttrString(sys.get(), "monitoring") : nullptr);
}

}  // namespace

bool begin_hook(bool has_c_functions) {
  const Owned tools = monitoring();
  const Owned names(tools ? PyObject_GetAttrString(tools.get(), "events") : nullptr);
  Owned disable(names ? PyObject_GetAttrString(tools.get(), "DISABLE") : nullptr);
  if (!disable || !Owned(PyObject_CallMethod(tools.get(), "use_tool_id", "is", profiler_tool, "kymo"))) {
    return false;
  }
  disable_here = disable.release();
  long all = 0;
  for (Event& event : events) {
    if (event.is_of_c && !has_c_functions) {
      continue;
    }
    const Owned id(PyObject_GetAttrString(names.get(), event.name));
    const Owned callback(PyCFunction_New(&event.definition, nullptr));
    if (!id || !callback ||
        !Owned(PyObject_CallMethod(tools.get(), "register_callback", "iOO", profiler_tool, id.get(), callback.get()))) {
      return false;
    }
    // C_RETURN and C_RAISE come with CALL.
    all |= event.is_of_c && std::strcmp(event.name, "CALL") != 0 ? 0 : PyLong_AsLong(id.get());
  }
  return static_cast<bool>(Owned(PyObject_CallMethod(tools.get(), "set_events", "il", profiler_tool, all)));
}

bool end_hook() {
  const Owned tools = monitoring();
  return tools && Owned(PyObject_CallMethod(tools.get(), "set_events", "ii", profiler_tool, 0)) &&
         Owned(PyObject_CallMethod(tools.get(), "free_tool_id", "i", profiler_tool));
}

}  // namespace kymo::python

#endif
