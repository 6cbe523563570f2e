// Spans that are not scopes: async spans, work measured elsewhere, flows.
#include <array>
#include <new>
#include <utility>

#include <kymo/span.hpp>

#include "arguments.hpp"
#include "types.hpp"

namespace kymo::python {

namespace {

/// emit_span takes a list of compile-time length, so there is one call per length.
template <std::size_t... I>
void emit(TrackId track, std::string_view name, std::string_view category, Nanoseconds start, Nanoseconds duration,
          const KeptArguments& arguments, std::index_sequence<I...> /*indices*/) {
  kymo::emit_span(track, name, category, start, duration, {arguments[I]...});
}

template <std::size_t... Count>
void emit_any(TrackId track, std::string_view name, std::string_view category, Nanoseconds start, Nanoseconds duration,
              const KeptArguments& arguments, std::index_sequence<Count...> /*counts*/) {
  ((arguments.size() == Count
        ? emit(track, name, category, start, duration, arguments, std::make_index_sequence<Count>())
        : void()),
   ...);
}

bool read_track(PyObject* value, TrackId& track) {
  Text name;
  if (PyUnicode_Check(value)) {
    if (!read_text(value, "track", name)) {
      return false;
    }
    track = kymo::track(name.view());
    return true;
  }
  const unsigned long id = PyLong_AsUnsignedLong(value);
  track = TrackId(static_cast<std::uint32_t>(id));
  return PyErr_Occurred() == nullptr;
}

/// Reads keyword arguments, of which one may be a parameter that was not given by position: `parameter` becomes its
/// value. Returns false with TypeError set if there are too many.
bool read_arguments(KeptArguments& kept, PyObject* names, PyObject* const* values, const char* parameter,
                    PyObject*& value) {
  const Py_ssize_t count = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    if (value == nullptr && PyUnicode_CompareWithASCIIString(name, parameter) == 0) {
      value = values[i];
    } else if (kept.size() == KeptArguments::most) {
      PyErr_Format(PyExc_TypeError, "at most %zu arguments are recorded", KeptArguments::most);
      return false;
    } else {
      kept.add(name, values[i]);
    }
  }
  return true;
}

/// emit_span(track, name, start_ns, duration_ns, category=None, **arguments)
PyObject* emit_span(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (count < 4 || count > 5) {
    return PyErr_Format(PyExc_TypeError,
                        "emit_span() takes a track, a name, a start and a duration in ns, and a category "
                        "(%zd arguments given)",
                        count);
  }
  TrackId track;
  Text name;
  Text category;
  KeptArguments kept;
  PyObject* given = count == 5 ? arguments[4] : nullptr;
  if (!read_arguments(kept, names, arguments + count, "category", given) || !read_track(arguments[0], track) ||
      !read_text(arguments[1], "name", name) ||
      (given != nullptr && given != Py_None && !read_text(given, "category", category))) {
    return nullptr;
  }
  const long long start_ns = PyLong_AsLongLong(arguments[2]);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  const long long duration_ns = PyLong_AsLongLong(arguments[3]);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  emit_any(track, name.view(), category.view(), Nanoseconds(start_ns), Nanoseconds(duration_ns), kept,
           std::make_index_sequence<KeptArguments::most + 1>());
  Py_RETURN_NONE;
}

PyObject* make_track(PyObject*, PyObject* name) {
  Text text;
  if (!read_text(name, "name", text)) {
    return nullptr;
  }
  return PyLong_FromUnsignedLong(kymo::track(text.view()).value());
}

using FlowOfScope = void (*)(std::uint64_t) noexcept;
using FlowOfSpan = void (*)(std::uint64_t, TrackId, Nanoseconds) noexcept;

/// flow_begin(flow_id, track=None, time_ns=None, /) and similar
template <FlowOfScope OfScope, FlowOfSpan OfSpan>
PyObject* flow(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 1 && count != 3) {
    return PyErr_Format(PyExc_TypeError,
                        "a flow takes its id, and for a span that is handed in a track and a time in ns "
                        "(%zd arguments given)",
                        count);
  }
  const unsigned long long id = PyLong_AsUnsignedLongLongMask(arguments[0]);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  if (count == 1 || (arguments[1] == Py_None && arguments[2] == Py_None)) {
    OfScope(id);
    Py_RETURN_NONE;
  }
  TrackId track;
  if (!read_track(arguments[1], track)) {
    return nullptr;
  }
  const long long time_ns = PyLong_AsLongLong(arguments[2]);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  OfSpan(id, track, Nanoseconds(time_ns));
  Py_RETURN_NONE;
}

struct Span {
  PyObject_HEAD AsyncSpan span;
};

PyTypeObject span_type = unready_type("kymograph._record.async_span");

AsyncSpan& span_of(PyObject* self) {
  return reinterpret_cast<Span*>(self)->span;
}

void add_argument(AsyncSpan& span, const Argument& argument) {
  if (span.is_open()) {
    span.argument(argument);
  }
}

/// async_span(name, lane="async", **arguments)
PyObject* make_span(PyObject* /*type*/, PyObject* const* arguments, std::size_t flagged_count, PyObject* names) {
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  Text name;
  Text lane;
  if (count < 1 || count > 2) {
    return PyErr_Format(PyExc_TypeError, "async_span() takes a name and a lane (%zd arguments given)", count);
  }
  KeptArguments kept;
  PyObject* given = count == 2 ? arguments[1] : nullptr;
  if (!read_arguments(kept, names, arguments + count, "lane", given) || !read_text(arguments[0], "name", name) ||
      (given != nullptr && !read_text(given, "lane", lane))) {
    return nullptr;
  }
  auto* const made = PyObject_New(Span, &span_type);
  if (made == nullptr) {
    return nullptr;
  }
  new (static_cast<void*>(&made->span)) AsyncSpan(given != nullptr ? lane.view() : "async", name.view());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    add_argument(made->span, kept[i]);
  }
  return reinterpret_cast<PyObject*>(made);
}

void drop_span(PyObject* self) {
  span_of(self).~AsyncSpan();
  PyObject_Free(self);
}

PyObject* end_span(PyObject* self, PyObject* /*unused*/) {
  span_of(self).end();
  Py_RETURN_NONE;
}

PyObject* enter_span(PyObject* self, PyObject* /*unused*/) {
  return Py_NewRef(self);
}

PyObject* leave_span(PyObject* self, PyObject* const* /*arguments*/, Py_ssize_t /*count*/) {
  return end_span(self, nullptr);
}

PyObject* argument_of_span(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyUnicode_Check(arguments[0])) {
    return PyErr_Format(PyExc_TypeError, "argument() takes a name, a str, and a value");
  }
  KeptArguments one;
  one.add(arguments[0], arguments[1]);
  add_argument(span_of(self), one[0]);
  Py_RETURN_NONE;
}

PyMethodDef span_methods[] = {
    {"end", end_span, METH_NOARGS,
     PyDoc_STR("end($self, /)\n--\n\nEnd now, on any thread. Does nothing where the span has ended.")},
    {"argument", as_method(argument_of_span), METH_FASTCALL,
     PyDoc_STR("argument($self, name, value, /)\n--\n\n"
               "Add an argument while the span is open. A span has at most 16; those beyond are dropped and counted.")},
    {"__enter__", enter_span, METH_NOARGS, nullptr},
    {"__exit__", as_method(leave_span), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef span_functions[] = {
    {"emit_span", as_method(emit_span), METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR(
         "emit_span(track, name, start_ns, duration_ns, /, category=None, **arguments)\n--\n\n"
         "Hand in a span after the fact.\n\n"
         "Parameters\n----------\n"
         "track : str or int\n    The track's name, or what `track` returned for it.\n"
         "name : str\n    The span.\n"
         "start_ns, duration_ns : int\n    On the clock of `time.monotonic_ns`. A negative duration is taken as 0.\n"
         "category : str, optional\n    What kind of work it is.\n"
         "**arguments : int, float, bool or str\n    At most 8.")},
    {"track", make_track, METH_O,
     PyDoc_STR("track($module, name, /)\n--\n\n"
               "Return the id of the track of that name, made on first use; 0 while nothing is recorded.\n\n"
               "A track for `emit_span`, such as a GPU's queue.")},
    {"flow_begin", as_method(flow<kymo::flow_begin, kymo::flow_begin>), METH_FASTCALL,
     PyDoc_STR("flow_begin($module, flow_id, track=None, time_ns=None, /)\n--\n\n"
               "A flow leaves the scope that is open on this thread, or the span that a track has at a time.\n\n"
               "All points with one id are one flow.\n\n"
               "Parameters\n----------\n"
               "flow_id : int\n    64 bits, not used twice in a process.\n"
               "track : str or int, optional\n    Of a span that `emit_span` hands in.\n"
               "time_ns : int, optional\n    A time within that span, on the clock of `time.monotonic_ns`; "
               "given with the track.")},
    {"flow_step", as_method(flow<kymo::flow_step, kymo::flow_step>), METH_FASTCALL,
     PyDoc_STR("flow_step($module, flow_id, track=None, time_ns=None, /)\n--\n\n"
               "A flow passes a scope or a span, as `flow_begin` says.")},
    {"flow_end", as_method(flow<kymo::flow_end, kymo::flow_end>), METH_FASTCALL,
     PyDoc_STR("flow_end($module, flow_id, track=None, time_ns=None, /)\n--\n\n"
               "A flow enters a scope or a span, as `flow_begin` says.")},
    {nullptr, nullptr, 0, nullptr},
};

bool add_span_types(PyObject* module) {
  span_type.tp_doc = PyDoc_STR(
      "async_span(name, /, lane='async', **arguments)\n--\n\n"
      "A span that may end on another thread or live across an await; spans of one lane may overlap.\n\n"
      "Begins when it is made; ends with its with statement, with `end` or when it is dropped.\n\n"
      "Parameters\n----------\n"
      "name : str\n    The span.\n"
      "lane : str\n    The track it stands on.\n"
      "**arguments : int, float, bool or str\n    At most 8.");
  span_type.tp_basicsize = sizeof(Span);
  span_type.tp_flags = Py_TPFLAGS_DEFAULT;
  span_type.tp_vectorcall = make_span;
  span_type.tp_dealloc = drop_span;
  span_type.tp_methods = span_methods;
  return PyType_Ready(&span_type) == 0 &&
         PyModule_AddObjectRef(module, "async_span", reinterpret_cast<PyObject*>(&span_type)) == 0;
}

}  // namespace kymo::python
