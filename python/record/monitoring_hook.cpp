// Records calls reported by sys.monitoring, for all threads. From 3.12.
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "call_stack.hpp"
#include "tracer.hpp"

#if PY_VERSION_HEX >= 0x030C0000

namespace kymo::python {

namespace {

PyObject* disable_here = nullptr;  // sys.monitoring.DISABLE, while the hook is begun

/// The function that runs; null if it is left out. Requests the frame only if its module is needed: that creates a
/// frame object.
TracedFunction* running_function(PyObject* object) {
  auto* const code = reinterpret_cast<PyCodeObject*>(object);
  TracedFunction* function = known_function(code);
  if (function == nullptr) {
    function = &function_of_frame(code, PyEval_GetFrame());
  }
  return function->site != nullptr ? function : nullptr;
}

/// A call begins, or goes on. One that is recorded otherwise takes a place, for its end.
void begin_call(TracedFunction& function, PyObject* code) {
  if (take_profiled_frame(code)) {
    CallStack::of_thread().push(nullptr, code);
  } else {
    CallStack::of_thread().push(function, code);
  }
}

/// A function starts or resumes.
PyObject* on_begin(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  TracedFunction* const function = running_function(arguments[0]);
  if (function == nullptr) {
    return Py_NewRef(disable_here);
  }
  begin_call(*function, arguments[0]);
  Py_RETURN_NONE;
}

/// An exception is thrown into the function. This event cannot be disabled for one function.
PyObject* on_throw(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (TracedFunction* const function = running_function(arguments[0])) {
    begin_call(*function, arguments[0]);
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
  if (CallStack::of_thread().innermost() == arguments[0]) {
    CallStack::of_thread().pop();
  } else if (running_function(arguments[0]) == nullptr) {
    return Py_NewRef(disable_here);
  } else {
    end_call(arguments[0]);
  }
  Py_RETURN_NONE;
}

PyObject* on_unwind(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (running_function(arguments[0]) != nullptr) {
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
  long bit = 0;  ///< in sys.monitoring.events
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

int tool_id = -1;  ///< kymo's among the tools of sys.monitoring, while the hook is begun

/// sys.monitoring, borrowed.
PyObject* monitoring() {
  return PySys_GetObject("monitoring");
}

/// A tool that nobody has taken; -1: none. First those without a purpose: cProfile, debuggers and coverage insist on
/// theirs.
int free_tool_id() {
  for (const int each : {3, 4, 5, 2, 1, 0}) {
    const Owned owner(PyObject_CallMethod(monitoring(), "get_tool", "i", each));
    if (owner.get() == Py_None) {
      return each;
    }
    PyErr_Clear();
  }
  return -1;
}

bool set_callback(Event& event, PyObject* callback) {
  return static_cast<bool>(
      Owned(PyObject_CallMethod(monitoring(), "register_callback", "ilO", tool_id, event.bit, callback)));
}

bool set_events(long bits) {
  return static_cast<bool>(Owned(PyObject_CallMethod(monitoring(), "set_events", "il", tool_id, bits)));
}

bool set_callbacks() {
  if (disable_here != nullptr) {
    return true;
  }
  PyObject* const tools = monitoring();
  const Owned names(tools != nullptr ? PyObject_GetAttrString(tools, "events") : nullptr);
  Owned disable(names ? PyObject_GetAttrString(tools, "DISABLE") : nullptr);
  const int free_id = disable ? free_tool_id() : -1;
  if (free_id < 0 || !Owned(PyObject_CallMethod(tools, "use_tool_id", "is", free_id, "kymo"))) {
    return false;
  }
  tool_id = free_id;
  disable_here = disable.release();
  for (Event& event : events) {
    const Owned bit(PyObject_GetAttrString(names.get(), event.name));
    event.bit = bit ? PyLong_AsLong(bit.get()) : -1;
    const Owned callback(PyCFunction_New(&event.definition, nullptr));
    if (event.bit < 0 || !callback || !set_callback(event, callback.get())) {
      return false;
    }
  }
  return true;
}

/// The sum of the events with these names.
long bits_of(std::initializer_list<std::string_view> names) {
  long bits = 0;
  for (const Event& event : events) {
    bits |= std::find(names.begin(), names.end(), event.name) != names.end() ? event.bit : 0;
  }
  return bits;
}

}  // namespace

bool has_monitoring() {
  return tool_id >= 0 || free_tool_id() >= 0;
}

bool begin_monitoring_hook(bool has_c_functions) {
  if (!set_callbacks()) {
    return false;
  }
  long all = 0;
  for (const Event& event : events) {
    all |= event.is_of_c ? 0 : event.bit;
  }
  // C_RETURN and C_RAISE come with CALL.
  return set_events(all | (has_c_functions ? bits_of({"CALL"}) : 0));
}

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
namespace {

void monitor_if_inlined(PyObject* code) {
  if (!is_inlined(reinterpret_cast<PyCodeObject*>(code)) || disable_here == nullptr) {
    return;
  }
  const KeptException kept;
  const long bits = bits_of({"PY_START", "PY_RETURN"});
  if (!Owned(PyObject_CallMethod(monitoring(), "set_local_events", "iOl", tool_id, code, bits))) {
    PyErr_Clear();
  }
}

int on_function(PyFunction_WatchEvent event, PyFunctionObject* function, PyObject* value) {
  if (event == PyFunction_EVENT_CREATE) {
    monitor_if_inlined(function->func_code);
  } else if (event == PyFunction_EVENT_MODIFY_CODE) {
    monitor_if_inlined(value);
  }
  return 0;
}

int visit(PyObject* object, void* /*argument*/) {
  if (PyFunction_Check(object)) {
    monitor_if_inlined(PyFunction_GET_CODE(object));
  }
  return 1;
}

}  // namespace

bool begin_monitoring_inlined() {
  // An unwinding cannot be asked for by function.
  if (!set_callbacks() || !set_events(bits_of({"PY_UNWIND"})) || PyFunction_AddWatcher(on_function) < 0) {
    return false;
  }
  name_of_inlined = PyUnicode_InternFromString("__init__");
  if (name_of_inlined == nullptr) {
    return false;
  }
  PyUnstable_GC_VisitObjects(visit, nullptr);
  return true;
}
#endif

bool end_monitoring_hook() {
  if (disable_here == nullptr) {
    return true;
  }
  bool is_ended = set_events(0);
  for (Event& event : events) {
    is_ended = set_callback(event, Py_None) && is_ended;
  }
  disable_here = nullptr;
  return is_ended && Owned(PyObject_CallMethod(monitoring(), "free_tool_id", "i", std::exchange(tool_id, -1)));
}

}  // namespace kymo::python

#endif
