// with kymo.scope("name", batch=3): a scope, opened on entering and closed on leaving.
//
// It allocates nothing. Finished scopes wait in a free list for reuse. The with statement requests __enter__ and
// __exit__ of this object and gets the object itself, which it calls without arguments or with three.
#include <new>

#include "arguments.hpp"
#include "call_stack.hpp"
#include "task.hpp"
#include "types.hpp"

namespace kymo::python {

namespace {

struct Scope {
  PyObject_HEAD vectorcallfunc call;
  kymo_site* site;
  detail::ScopeToken token;
  bool is_open;
  KeptArguments* arguments;  // for the member below
  alignas(KeptArguments) std::byte place[sizeof(KeptArguments)];
};

constexpr std::size_t most_free = 64;
Scope* free_scopes[most_free];
std::size_t free_count = 0;

extern PyTypeObject scope_type;

void enter(Scope& scope) {
  if (scope.is_open || !detail::scopes_on()) {
    return;
  }
  static_cast<void>(is_in_task());
  CallStack::write_deferred();
  scope.token = detail::open_scope(*scope.site);
  scope.is_open = true;
  if (scope.arguments != nullptr && is_recorded(scope.token)) {
    scope.arguments->record();
  }
}

void leave(Scope& scope) {
  if (scope.is_open) {
    scope.is_open = false;
    close_in_any_order(scope.token);
  }
}

/// Called by the with statement: bound __enter__ without arguments, bound __exit__ with three.
PyObject* call_bound(PyObject* self, PyObject* const* /*arguments*/, std::size_t flagged_count, PyObject* /*names*/) {
  auto& scope = *reinterpret_cast<Scope*>(self);
  switch (PyVectorcall_NARGS(flagged_count)) {
    case 0:
      enter(scope);
      return Py_NewRef(self);
    case 3:
      leave(scope);
      Py_RETURN_NONE;
    default:
      PyErr_SetString(PyExc_TypeError, "a scope is entered by a with statement");
      return nullptr;
  }
}

PyObject* make_scope(PyObject* /*type*/, PyObject* const* arguments, std::size_t flagged_count, PyObject* names) {
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  if (count != 1 || !PyUnicode_Check(arguments[0])) {
    return PyErr_Format(PyExc_TypeError, "scope() takes a name, a str, and named arguments");
  }
  Scope* scope = nullptr;
  if (free_count > 0) {
    scope = free_scopes[--free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(scope), &scope_type);
  } else {
    scope = PyObject_New(Scope, &scope_type);
    if (scope == nullptr) {
      return nullptr;
    }
  }
  scope->call = call_bound;
  scope->site = site_of_scope(arguments[0]);
  scope->is_open = false;
  scope->arguments = nullptr;
  Owned made(reinterpret_cast<PyObject*>(scope));
  if (names != nullptr && PyTuple_GET_SIZE(names) != 0) {
    scope->arguments = new (static_cast<void*>(scope->place)) KeptArguments;
    if (!scope->arguments->read(names, arguments + count)) {
      return nullptr;
    }
  }
  return made.release();
}

/// Closes an object that is dropped while open (at the interpreter's end, or with a generator's discarded frame).
void drop_scope(PyObject* self) {
  auto* const scope = reinterpret_cast<Scope*>(self);
  leave(*scope);
  if (scope->arguments != nullptr) {
    scope->arguments->~KeptArguments();
    scope->arguments = nullptr;
  }
  if (free_count < most_free) {
    free_scopes[free_count++] = scope;
  } else {
    PyObject_Free(self);
  }
}

PyObject* represent_scope(PyObject* self) {
  return PyUnicode_FromFormat("<kymograph.scope '%s'>", reinterpret_cast<Scope*>(self)->site->name);
}

PyObject* add_argument(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  const auto& scope = *reinterpret_cast<Scope*>(self);
  if (count != 2 || !PyUnicode_Check(arguments[0])) {
    return PyErr_Format(PyExc_TypeError, "argument() takes a name, a str, and a value");
  }
  const bool is_innermost = scope.is_open && is_recorded(scope.token) && detail::accepts_argument() &&
                            kymo_thread_v3->key == (scope.token.word & ~detail::slow_bit);
  if (is_innermost) {
    KeptArguments one;
    one.add(arguments[0], arguments[1]);
    one.record();
  }
  Py_RETURN_NONE;
}

PyMethodDef scope_methods[] = {
    {"argument", as_method(add_argument), METH_FASTCALL,
     PyDoc_STR(
         "argument($self, name, value, /)\n--\n\n"
         "Add an argument that is known only now, beside those that the scope was opened with. Recorded while this is\n"
         "the innermost open scope of its thread. There is no limit to their number.")},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject scope_type = unready_type("kymograph._record.scope");

/// __enter__ and __exit__ of the scope's type.
struct Binder {
  PyObject_HEAD vectorcallfunc call;
  const char* name;
};

/// `type(scope).__enter__(scope)`, as called by contextlib.ExitStack.
PyObject* call_unbound(PyObject* self, PyObject* const* arguments, std::size_t flagged_count, PyObject* names) {
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  if (count < 1 || !Py_IS_TYPE(arguments[0], &scope_type)) {
    return PyErr_Format(PyExc_TypeError, "%s() needs a scope", reinterpret_cast<Binder*>(self)->name);
  }
  return call_bound(arguments[0], arguments + 1, static_cast<std::size_t>(count - 1), names);
}

PyObject* bind(PyObject* self, PyObject* scope, PyObject* /*type*/) {
  return Py_NewRef(scope != nullptr && scope != Py_None ? scope : self);
}

PyTypeObject binder_type = unready_type("kymograph._record.scope_method");

bool add_binder(const char* name) {
  auto* const binder = PyObject_New(Binder, &binder_type);
  if (binder == nullptr) {
    return false;
  }
  binder->call = call_unbound;
  binder->name = name;
  const Owned kept(reinterpret_cast<PyObject*>(binder));
  return PyDict_SetItemString(scope_type.tp_dict, name, kept.get()) == 0;
}

}  // namespace

bool add_scope_type(PyObject* module) {
  binder_type.tp_basicsize = sizeof(Binder);
  binder_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  binder_type.tp_vectorcall_offset = offsetof(Binder, call);
  binder_type.tp_call = PyVectorcall_Call;
  binder_type.tp_descr_get = bind;

  scope_type.tp_doc = PyDoc_STR(
      "scope(name, /, **arguments)\n--\n\n"
      "A scope for a with statement: a stretch of time on this thread.\n\n"
      "Parameters\n----------\n"
      "name : str\n"
      "    Best a literal: each distinct name is interned once, and at most 65,536 are told apart.\n"
      "**arguments : int, float, bool or str\n"
      "    Recorded with the scope, at most 8, and `argument` adds more; a str is cut at 256 bytes. Other values are\n"
      "    recorded as the name of their type.\n\n"
      "Notes\n-----\n"
      "About 100 ns while scopes are recorded. A scope may span an await in a task of asyncio, which has a track of its\n"
      "own. It must not span a yield: `async_span` is for that. One object is entered once at a time.");
  scope_type.tp_basicsize = sizeof(Scope);
  scope_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  scope_type.tp_vectorcall_offset = offsetof(Scope, call);
  scope_type.tp_call = PyVectorcall_Call;
  scope_type.tp_vectorcall = make_scope;
  scope_type.tp_dealloc = drop_scope;
  scope_type.tp_repr = represent_scope;
  scope_type.tp_methods = scope_methods;
  if (PyType_Ready(&binder_type) != 0 || PyType_Ready(&scope_type) != 0 || !add_binder("__enter__") ||
      !add_binder("__exit__")) {
    return false;
  }
  PyType_Modified(&scope_type);
  return PyModule_AddObjectRef(module, "scope", reinterpret_cast<PyObject*>(&scope_type)) == 0;
}

}  // namespace kymo::python
