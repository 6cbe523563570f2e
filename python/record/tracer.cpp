// Records every Python function of a script as a scope: `python -m kymo record`.
//
// Before 3.12 through the C interface of sys.setprofile, which each thread sets for itself; from 3.12 through
// sys.monitoring, which is one for all threads and costs nothing in functions that are left out. What is recorded of a
// code object is decided once and kept with it.
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include <fnmatch.h>

#include "call_stack.hpp"
#include "sites.hpp"
#include "types.hpp"

#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_CODE_EXTRA_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define KYMO_CODE_GET_EXTRA PyUnstable_Code_GetExtra
#define KYMO_CODE_SET_EXTRA PyUnstable_Code_SetExtra
#else
#define KYMO_CODE_EXTRA_INDEX _PyEval_RequestCodeExtraIndex
#define KYMO_CODE_GET_EXTRA _PyCode_GetExtra
#define KYMO_CODE_SET_EXTRA _PyCode_SetExtra
#endif

namespace kymo::python {

namespace {

struct Wanted {
  std::vector<std::string> include;  ///< patterns of names; empty: all
  std::vector<std::string> exclude;
  bool has_c_functions = false;
};

Wanted& wanted() {
  static auto* const made = new Wanted;
  return *made;
}

bool fits_any(const std::vector<std::string>& patterns, const char* name) {
  for (const std::string& pattern : patterns) {
    if (::fnmatch(pattern.c_str(), name, 0) == 0) {
      return true;
    }
  }
  return false;
}

bool is_wanted(const kymo_site& site) {
  return (wanted().include.empty() || fits_any(wanted().include, site.name)) && !fits_any(wanted().exclude, site.name);
}

Py_ssize_t extra_index = -1;
kymo_site left_out_site{};  // what stands for a code object that is not recorded

kymo_site* decide(PyCodeObject* code, PyObject* globals) {
  PyObject* const module = globals != nullptr ? PyDict_GetItemString(globals, "__name__") : nullptr;
  kymo_site* site = intern_code(code, module);
  site = is_wanted(*site) ? site : &left_out_site;
  if (KYMO_CODE_SET_EXTRA(reinterpret_cast<PyObject*>(code), extra_index, site) != 0) {
    PyErr_Clear();
  }
  return site;
}

/// The site of the code that `frame` runs; null where it is left out.
kymo_site* site_of_code(PyCodeObject* code, PyFrameObject* frame) {
  void* known = nullptr;
  if (KYMO_CODE_GET_EXTRA(reinterpret_cast<PyObject*>(code), extra_index, &known) != 0) {
    PyErr_Clear();
  }
  auto* site = static_cast<kymo_site*>(known);
  if (site == nullptr) {
    const KeptException kept;
    const Owned globals(frame == nullptr ? nullptr :
#if PY_VERSION_HEX >= 0x030B0000
                                         PyFrame_GetGlobals(frame)
#else
                                         PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_globals")
#endif
    );
    site = decide(code, globals.get());
  }
  return site != &left_out_site ? site : nullptr;
}

/// The site of a built-in function, by its definition: the objects that refer to it come and go.
kymo_site* site_of_builtin(PyObject* callable) {
  static auto& sites = *new std::unordered_map<const void*, kymo_site*>;
  const void* const key = PyCFunction_Check(callable)
                              ? static_cast<const void*>(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml)
                              : static_cast<const void*>(Py_TYPE(callable));
  kymo_site*& site = sites[key];
  if (site == nullptr) {
    const KeptException kept;
    std::string name;
    for (const char* const part : {"__module__", "__qualname__"}) {
      const Owned value(PyObject_GetAttrString(callable, part));
      PyErr_Clear();
      if (value && PyUnicode_Check(value.get())) {
        name.append(name.empty() ? "" : ".").append(Text(value.get()).view());
      }
    }
    site = intern_site(name.empty() ? Py_TYPE(callable)->tp_name : name, "", "", 0);
    site = is_wanted(*site) ? site : &left_out_site;
  }
  return site != &left_out_site ? site : nullptr;
}

#if PY_VERSION_HEX < 0x030C0000

int on_event(PyObject* /*self*/, PyFrameObject* frame, int what, PyObject* argument) {
  switch (what) {
    case PyTrace_CALL: {
      PyCodeObject* const code = PyFrame_GetCode(frame);
      CallStack::of_thread().push(site_of_code(code, frame), nullptr);
      Py_DECREF(code);
      break;
    }
    case PyTrace_RETURN:
      CallStack::of_thread().pop();
      break;
    case PyTrace_C_CALL:
      if (wanted().has_c_functions) {
        CallStack::of_thread().push(site_of_builtin(argument), nullptr);
      }
      break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
      if (wanted().has_c_functions) {
        CallStack::of_thread().pop();
      }
      break;
    default:
      break;
  }
  return 0;
}

/// What threading.setprofile gives to each new thread: at the thread's first event it puts the real one in its place.
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

bool begin_tracing() {
  if (!hook_threads(true)) {
    return false;
  }
  PyEval_SetProfile(on_event, nullptr);
  return true;
}

bool end_tracing() {
  PyEval_SetProfile(nullptr, nullptr);
  return hook_threads(false);
}

#else

PyObject* disable_here = nullptr;  // sys.monitoring.DISABLE

kymo_site* site_of_running(PyObject* code) {
  return site_of_code(reinterpret_cast<PyCodeObject*>(code), PyEval_GetFrame());
}

/// A function begins or goes on.
PyObject* on_begin(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  kymo_site* const site = site_of_running(arguments[0]);
  if (site == nullptr) {
    return Py_NewRef(disable_here);
  }
  CallStack::of_thread().push(site, arguments[0]);
  Py_RETURN_NONE;
}

/// It is thrown into: an event that cannot be disabled in one function.
PyObject* on_throw(PyObject*, PyObject* const* arguments, Py_ssize_t /*count*/) {
  if (kymo_site* const site = site_of_running(arguments[0])) {
    CallStack::of_thread().push(site, arguments[0]);
  }
  Py_RETURN_NONE;
}

/// Ends a call of this code. Calls of built-in functions above it, whose end was not reported, end with it.
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

/// The definition of a built-in function, which outlives its callers; null for what Python code stands behind.
PyObject* builtin_of(PyObject* callable) {
  return PyCFunction_Check(callable) ? callable : nullptr;
}

/// What tells calls of built-in functions from those of code: a type, which is no code object.
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

bool begin_tracing() {
  const Owned tools = monitoring();
  const Owned names(tools ? PyObject_GetAttrString(tools.get(), "events") : nullptr);
  Owned disable(names ? PyObject_GetAttrString(tools.get(), "DISABLE") : nullptr);
  if (!disable || !Owned(PyObject_CallMethod(tools.get(), "use_tool_id", "is", profiler_tool, "kymo"))) {
    return false;
  }
  disable_here = disable.release();
  long all = 0;
  for (Event& event : events) {
    if (event.is_of_c && !wanted().has_c_functions) {
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

bool end_tracing() {
  const Owned tools = monitoring();
  return tools && Owned(PyObject_CallMethod(tools.get(), "set_events", "ii", profiler_tool, 0)) &&
         Owned(PyObject_CallMethod(tools.get(), "free_tool_id", "i", profiler_tool));
}

#endif

/// How many steps the counter makes in a microsecond, measured over a millisecond of it.
double counter_steps_per_us() {
  const std::uint64_t from_ns = detail::monotonic_ns();
  const std::uint64_t from = detail::read_counter();
  std::uint64_t to_ns = from_ns;
  while (to_ns - from_ns < 1'000'000) {
    to_ns = detail::monotonic_ns();
  }
  return static_cast<double>(detail::read_counter() - from) * 1e3 / static_cast<double>(to_ns - from_ns);
}

bool read_patterns(PyObject* list, std::vector<std::string>& patterns) {
  patterns.clear();
  const Owned items(PySequence_Fast(list, "patterns must be a list of str"));
  if (!items) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    std::string_view pattern;
    if (!read_text(PySequence_Fast_GET_ITEM(items.get(), i), "a pattern", pattern)) {
      return false;
    }
    patterns.emplace_back(pattern);
  }
  return true;
}

PyObject* start_tracing(PyObject*, PyObject* positional, PyObject* named) {
  static const char* names[] = {"min_us", "include", "exclude", "c_functions", nullptr};
  double min_us = 0;
  PyObject* include = nullptr;
  PyObject* exclude = nullptr;
  int has_c_functions = 0;
  if (PyArg_ParseTupleAndKeywords(positional, named, "|$dOOp:start_tracing", const_cast<char**>(names), &min_us,
                                  &include, &exclude, &has_c_functions) == 0 ||
      (include != nullptr && !read_patterns(include, wanted().include)) ||
      (exclude != nullptr && !read_patterns(exclude, wanted().exclude))) {
    return nullptr;
  }
  if (!(min_us >= 0 && min_us < 1e12)) {
    PyErr_SetString(PyExc_ValueError, "min_us must be a number of microseconds, 0 or more");
    return nullptr;
  }
  if (extra_index >= 0) {
    PyErr_SetString(PyExc_RuntimeError, "functions are traced already, or were: once a process");
    return nullptr;
  }
  extra_index = KYMO_CODE_EXTRA_INDEX(nullptr);
  wanted().has_c_functions = has_c_functions != 0;
  CallStack::set_shortest(min_us > 0 ? static_cast<std::uint64_t>(min_us * counter_steps_per_us()) : 0);
  if (extra_index < 0 || !begin_tracing()) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "Python has no room to trace functions in this process");
    }
    return nullptr;
  }
  Py_RETURN_NONE;
}

/// Scopes of this thread that are open close; other threads' stay open until their calls end.
PyObject* stop_tracing(PyObject*, PyObject*) {
  if (extra_index >= 0 && !end_tracing()) {
    return nullptr;
  }
  CallStack::of_thread().pop_all();
  return PyLong_FromUnsignedLongLong(CallStack::left_out());
}

}  // namespace

PyMethodDef tracing_functions[] = {
    {"start_tracing", as_method(start_tracing), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("start_tracing($module, /, *, min_us=0.0, include=(), exclude=(), c_functions=False)\n--\n\n"
               "Record every Python function as a scope from now on, in this thread and in those that are started.\n\n"
               "Once a process.\n\n"
               "Parameters\n----------\n"
               "min_us : float\n    Leave out calls that take less microseconds.\n"
               "include, exclude : sequence of str\n    Patterns of module.qualname (``*``, ``?``).\n"
               "c_functions : bool\n    Built-in functions too.")},
    {"stop_tracing", stop_tracing, METH_NOARGS,
     PyDoc_STR("stop_tracing($module, /)\n--\n\nEnd it.\n\nReturns\n-------\nint\n"
               "    How many calls were left out for being short.")},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
