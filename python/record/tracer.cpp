#include "tracer.hpp"

#include <string>
#include <unordered_map>
#include <vector>

#include <fnmatch.h>
#include <pthread.h>

#include "call_stack.hpp"
#include "types.hpp"

#if PY_VERSION_HEX >= 0x030C0000
#define KYMO_CODE_EXTRA_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define KYMO_CODE_SET_EXTRA PyUnstable_Code_SetExtra
#else
#define KYMO_CODE_EXTRA_INDEX _PyEval_RequestCodeExtraIndex
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

/// The code that runs the script is not part of it.
constexpr std::string_view own_prefix = "kymograph._";

bool is_wanted(const kymo_site& site) {
  return !std::string_view(site.name).starts_with(own_prefix) &&
         (wanted().include.empty() || fits_any(wanted().include, site.name)) && !fits_any(wanted().exclude, site.name);
}

}  // namespace

__thread const void* profiled_code __attribute__((tls_model("initial-exec"))) = nullptr;

TracedFunction& decide_function(PyCodeObject* code, PyObject* globals) {
  static TracedFunction left_out;
  const KeptException kept;
  PyObject* const module = globals != nullptr ? PyDict_GetItemString(globals, "__name__") : nullptr;
  kymo_site* const site = intern_code(code, module);
  // As long as the process, like the sites.
  TracedFunction* const function = is_wanted(*site) ? new TracedFunction{site} : &left_out;
  if (KYMO_CODE_SET_EXTRA(reinterpret_cast<PyObject*>(code), code_extra_index, function) != 0) {
    PyErr_Clear();
  }
  return *function;
}

TracedFunction& function_of_frame(PyCodeObject* code, PyFrameObject* frame) {
  if (TracedFunction* const known = known_function(code)) {
    return *known;
  }
  const KeptException kept;
  const Owned globals(frame == nullptr ? nullptr :
#if PY_VERSION_HEX >= 0x030B0000
                                       PyFrame_GetGlobals(frame)
#else
                                       PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_globals")
#endif
  );
  return decide_function(code, globals.get());
}

kymo_site* site_of_builtin(PyObject* callable) {
  static kymo_site left_out_site{};
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

namespace {

bool begin_hook() {
#if PY_VERSION_HEX < 0x030C0000
  if (wanted().has_c_functions) {
    return begin_profile_hook();
  }
  begin_frame_hook();
  return true;
#elif PY_VERSION_HEX < 0x030E0000
  const bool has_tool = has_monitoring();
  // A choice of functions leaves most calls out.
  if (has_tool && (wanted().has_c_functions || !wanted().include.empty())) {
    return begin_monitoring_hook(wanted().has_c_functions);
  }
  if (wanted().has_c_functions) {
    say("other tools have all of sys.monitoring: built-in functions are not recorded");
  }
#if PY_VERSION_HEX >= 0x030D0000
  if (!has_tool) {
    say("other tools have all of sys.monitoring: calls of __init__ may be missing");
  } else if (!begin_monitoring_inlined()) {
    return false;
  }
#endif
  begin_frame_hook();
  return true;
#else
  if (!has_monitoring()) {
    say("other tools have all of sys.monitoring: functions are not recorded");
    return true;
  }
  return begin_monitoring_hook(wanted().has_c_functions);
#endif
}

bool end_hook() {
#if PY_VERSION_HEX < 0x030E0000
  end_frame_hook();
#endif
#if PY_VERSION_HEX < 0x030C0000
  return end_profile_hook();
#else
  return end_monitoring_hook();
#endif
}

/// Steps of the counter per microsecond, measured over a millisecond.
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
    Text pattern;
    if (!read_text(PySequence_Fast_GET_ITEM(items.get(), i), "a pattern", pattern)) {
      return false;
    }
    patterns.emplace_back(pattern.view());
  }
  return true;
}

PyObject* start_tracing(PyObject*, PyObject* positional, PyObject* named) {
  static const char* names[] = {"min_us", "include", "exclude", "c_functions", "leaves_every", nullptr};
  constexpr double longest_leaf_us = 1;
  double min_us = 0;
  unsigned leaves_every = 1;
  PyObject* include = nullptr;
  PyObject* exclude = nullptr;
  int has_c_functions = 0;
  if (PyArg_ParseTupleAndKeywords(positional, named, "|$dOOpI:start_tracing", const_cast<char**>(names), &min_us,
                                  &include, &exclude, &has_c_functions, &leaves_every) == 0 ||
      (include != nullptr && !read_patterns(include, wanted().include)) ||
      (exclude != nullptr && !read_patterns(exclude, wanted().exclude))) {
    return nullptr;
  }
  if (!(min_us >= 0 && min_us < 1e12)) {
    PyErr_SetString(PyExc_ValueError, "min_us must be a number of microseconds, 0 or more");
    return nullptr;
  }
  if (leaves_every == 0 || (leaves_every > 1 && min_us > 0)) {
    PyErr_SetString(PyExc_ValueError, "leaves_every must be 1 or more, and more than 1 only without min_us");
    return nullptr;
  }
  if (code_extra_index >= 0) {
    PyErr_SetString(PyExc_RuntimeError, "functions are traced already, or were: once a process");
    return nullptr;
  }
  code_extra_index = KYMO_CODE_EXTRA_INDEX(nullptr);
  ::pthread_atfork(nullptr, nullptr, [] {
    CallStack::begin_child();
    LeafCalls::forget_left_out();
  });
  wanted().has_c_functions = has_c_functions != 0;
  const double steps_per_us = min_us > 0 || leaves_every > 1 ? counter_steps_per_us() : 0;
  CallStack::set_shortest(static_cast<std::uint64_t>(min_us * steps_per_us));
  LeafCalls::thin(leaves_every, static_cast<std::uint64_t>(longest_leaf_us * steps_per_us));
  if (code_extra_index < 0 || !begin_hook()) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "Python has no room to trace functions in this process");
    }
    return nullptr;
  }
  Py_RETURN_NONE;
}

/// Closes the open scopes of this thread. Those of other threads stay open until their calls end.
PyObject* stop_tracing(PyObject*, PyObject*) {
  if (code_extra_index >= 0 && !end_hook()) {
    return nullptr;
  }
  CallStack::of_thread().pop_all();
  return PyLong_FromUnsignedLongLong(CallStack::left_out() + LeafCalls::left_out());
}

}  // namespace

PyMethodDef tracing_functions[] = {
    {"start_tracing", as_method(start_tracing), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR(
         "start_tracing($module, /, *, min_us=0.0, include=(), exclude=(), c_functions=False, leaves_every=1)\n--\n\n"
         "Record every Python function as a scope from now on, in this thread and in those that are started.\n\n"
         "Once a process.\n\n"
         "Parameters\n----------\n"
         "min_us : float\n    Leave out calls that take less microseconds.\n"
         "include, exclude : sequence of str\n    Patterns of module.qualname (``*``, ``?``).\n"
         "c_functions : bool\n    Built-in functions too.\n"
         "leaves_every : int\n    Of the calls of short functions that call no others, record one in so many. Not with\n"
         "    `min_us`.")},
    {"stop_tracing", stop_tracing, METH_NOARGS,
     PyDoc_STR("stop_tracing($module, /)\n--\n\nEnd it.\n\nReturns\n-------\nint\n"
               "    How many calls were left out: for being short, or of leaf functions.")},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
