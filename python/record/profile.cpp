// The result of @kymo.profile: a callable that opens a scope around each call. In everything else it is the function:
// attributes, signature, binding to instances, pickling.
#include <memory>

#include "c_stack.hpp"
#include "profiled.hpp"
#include "task.hpp"
#include "tracer.hpp"
#include "types.hpp"

#include <structmember.h>

namespace kymo::python {

namespace {

struct Profiled {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  PyObject* name;       ///< a str or None
  PyObject* arguments;  ///< a dict
  PyObject* weak_references;
  ProfiledSite place;
  Returns returns;
};

PyTypeObject profiled_type = unready_type("kymograph._record.profiled");

Profiled& profiled(PyObject* self) {
  return *reinterpret_cast<Profiled*>(self);
}

/// The code that a call runs first; null if it is not Python's.
const void* code_of(PyObject* function) {
  PyObject* const called = PyMethod_Check(function) ? PyMethod_GET_FUNCTION(function) : function;
  return PyFunction_Check(called) ? PyFunction_GET_CODE(called) : nullptr;
}

PyObject* call_function(PyObject* self, PyObject* const* arguments, std::size_t flagged_count, PyObject* names) {
  const Profiled& made = profiled(self);
  if (is_stack_full()) {
    set_recursion_error();
    return nullptr;
  }
  if (!detail::scopes_on()) {
    return PyObject_Vectorcall(made.function, arguments, flagged_count, names);
  }
  // The function may replace or delete the name that refers to this object.
  Py_INCREF(self);
  static_cast<void>(is_in_task());
  const detail::ScopeToken scope = open_profiled(made.place);
  const ProfiledFrame frame(is_tracing() ? code_of(made.function) : nullptr);
  PyObject* const result = PyObject_Vectorcall(made.function, arguments, flagged_count, names);
  close_in_any_order(scope);
  Py_DECREF(self);
  return result;
}

/// The call itself runs none of the function's code. Scopes are opened when its result is resumed.
PyObject* call_resumable(PyObject* self, PyObject* const* arguments, std::size_t flagged_count, PyObject* names) {
  const Returns returns = profiled(self).returns;
  ProfiledSite place = profiled(self).place;
  place.code = code_of(profiled(self).function);
  PyObject* const inner = PyObject_Vectorcall(profiled(self).function, arguments, flagged_count, names);
  return inner != nullptr ? make_resumable(returns, place, inner) : nullptr;
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject* /*type*/) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(profiled(self).function, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(profiled(self).function, name, value);
}

PyObject* get_of_function(PyObject* self, void* name) {
  return PyObject_GetAttrString(profiled(self).function, static_cast<const char*>(name));
}

int set_of_function(PyObject* self, PyObject* value, void* name) {
  return PyObject_SetAttrString(profiled(self).function, static_cast<const char*>(name), value);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<kymo.profile of %R>", profiled(self).function);
}

/// Whether the caller is cloudpickle, which sends functions of a script to workers that do not have the script.
bool is_for_cloudpickle() {
  PyObject* const globals = PyEval_GetGlobals();
  PyObject* const name = globals != nullptr ? PyDict_GetItemString(globals, "__name__") : nullptr;
  return name != nullptr && PyUnicode_Check(name) && Text(name).view().find("cloudpickle") != std::string_view::npos;
}

/// Pickled like functions: by qualified name, or by value where functions of `__main__` are. As the function may refer
/// to itself, the object comes first and the function after it.
PyObject* reduce(PyObject* self, PyObject* /*unused*/) {
  const Profiled& made = profiled(self);
  const Owned module(PyObject_GetAttrString(made.function, "__module__"));
  PyErr_Clear();
  const bool is_of_script = module && PyUnicode_Check(module.get()) && Text(module.get()).view() == "__main__";
  if (!is_of_script || !is_for_cloudpickle()) {
    return PyObject_GetAttrString(made.function, "__qualname__");
  }
  PyObject* const placeholder = PyDict_GetItemString(PyEval_GetBuiltins(), "callable");
  return Py_BuildValue("O(OOO)O", Py_TYPE(self), placeholder, made.name, made.arguments, made.function);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(profiled(self).function);
  Py_VISIT(profiled(self).arguments);
  return 0;
}

/// Sets None instead: other objects in the same collection may still call it.
int clear(PyObject* self) {
  const Owned function(std::exchange(profiled(self).function, Py_NewRef(Py_None)));
  return 0;
}

void drop(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (profiled(self).weak_references != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  Py_CLEAR(profiled(self).function);
  Py_CLEAR(profiled(self).name);
  Py_CLEAR(profiled(self).arguments);
  PyObject_GC_Del(self);
}

Returns kind_of(PyObject* function) {
  PyObject* const code = PyObject_GetAttrString(function, "__code__");
  const Owned kept(code);
  if (code == nullptr || !PyCode_Check(code)) {
    PyErr_Clear();
    return Returns::value;
  }
  const int flags = reinterpret_cast<PyCodeObject*>(code)->co_flags;
  if ((flags & CO_ASYNC_GENERATOR) != 0) {
    return Returns::async_generator;
  }
  // A generator marked by types.coroutine is awaited.
  if ((flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) != 0) {
    return Returns::coroutine;
  }
  return (flags & CO_GENERATOR) != 0 ? Returns::generator : Returns::value;
}

std::string text_attribute(PyObject* object, const char* name) {
  const Owned value(PyObject_GetAttrString(object, name));
  PyErr_Clear();
  return value && PyUnicode_Check(value.get()) ? Text(value.get()).str() : std::string();
}

/// The place of a callable: from a function's code; a built-in one has only its name.
kymo_site* site_of(PyObject* function, PyObject* name) {
  const std::string qualified = text_attribute(function, "__qualname__");
  const std::string module = text_attribute(function, "__module__");
  std::string full = name != Py_None ? Text(name).str() : module.empty() ? qualified : module + "." + qualified;
  if (full.empty()) {
    full = Py_TYPE(function)->tp_name;
  }
  const Owned code(PyObject_GetAttrString(function, "__code__"));
  PyErr_Clear();
  if (!code || !PyCode_Check(code.get())) {
    return intern_site(full, qualified, "", 0);
  }
  const auto* const place = reinterpret_cast<PyCodeObject*>(code.get());
  return intern_site(full, qualified, Text(place->co_filename).view(), static_cast<unsigned>(place->co_firstlineno));
}

void set_function(Profiled& made, PyObject* function) {
  const Owned old(std::exchange(made.function, Py_NewRef(function)));
  made.place.site = site_of(function, made.name);
  made.returns = kind_of(function);
  made.call = made.returns == Returns::value ? call_function : call_resumable;
}

/// Completes an object of reduce().
PyObject* set_state(PyObject* self, PyObject* function) {
  if (PyCallable_Check(function) == 0) {
    return PyErr_Format(PyExc_TypeError, "the state is a function, not %.200s", Py_TYPE(function)->tp_name);
  }
  set_function(profiled(self), function);
  Py_RETURN_NONE;
}

/// __set_name__(owner, name, /): does what a class does with functions of these names, and with nothing else.
PyObject* set_name(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyType_Check(arguments[0]) || !PyUnicode_Check(arguments[1])) {
    return PyErr_Format(PyExc_TypeError, "__set_name__() takes a class and a name, a str");
  }
  const std::string name = Text(arguments[1]).str();
  Owned method;
  if (PyFunction_Check(profiled(self).function)) {
    if (name == "__init_subclass__" || name == "__class_getitem__") {
      method = Owned(PyClassMethod_New(self));
    } else if (name == "__new__") {
      method = Owned(PyStaticMethod_New(self));
    }
  }
  // As the class does: what its metaclass does with attributes is for those that are set later.
  if (PyErr_Occurred() != nullptr ||
      (method && PyType_Type.tp_setattro(arguments[0], arguments[1], method.get()) != 0)) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

/// profiled(function, name, arguments, /): name a str or None, arguments a dict.
PyObject* make_profiled(PyTypeObject* type, PyObject* arguments, PyObject* named) {
  PyObject* function = nullptr;
  PyObject* name = nullptr;
  PyObject* constant = nullptr;
  if ((named != nullptr && PyDict_GET_SIZE(named) != 0) ||
      PyArg_ParseTuple(arguments, "OOO!:profiled", &function, &name, &PyDict_Type, &constant) == 0) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_TypeError, "profiled() takes no named arguments");
    }
    return nullptr;
  }
  if (PyCallable_Check(function) == 0 || (name != Py_None && !PyUnicode_Check(name))) {
    return PyErr_Format(PyExc_TypeError, "profile needs a function, not %.200s; its name is a str",
                        Py_TYPE(function)->tp_name);
  }
  const KeptArguments* kept = nullptr;
  if (PyDict_GET_SIZE(constant) != 0) {
    auto read = std::make_unique<KeptArguments>();
    if (!read->read(constant)) {
      return nullptr;
    }
    kept = read.release();  // kept until the process ends, like the site
  }
  auto* const made = reinterpret_cast<Profiled*>(type->tp_alloc(type, 0));
  if (made == nullptr) {
    return nullptr;
  }
  made->function = nullptr;
  made->name = Py_NewRef(name);
  made->arguments = Py_NewRef(constant);
  made->weak_references = nullptr;
  made->place = {nullptr, kept, nullptr};
  set_function(*made, function);
  return reinterpret_cast<PyObject*>(made);
}

char name_of_name[] = "__name__";
char name_of_qualname[] = "__qualname__";
char name_of_doc[] = "__doc__";
char name_of_module[] = "__module__";
char name_of_dict[] = "__dict__";

PyGetSetDef attributes[] = {
    {name_of_name, get_of_function, set_of_function, nullptr, name_of_name},
    {name_of_qualname, get_of_function, set_of_function, nullptr, name_of_qualname},
    {name_of_doc, get_of_function, set_of_function, nullptr, name_of_doc},
    {name_of_module, get_of_function, set_of_function, nullptr, name_of_module},
    {name_of_dict, get_of_function, nullptr, nullptr, name_of_dict},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Profiled, function), READONLY, PyDoc_STR("The function.")},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__set_name__", as_method(set_name), METH_FASTCALL, nullptr},
    {"__setstate__", set_state, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_profiled_type(PyObject* module) {
  profiled_type.tp_basicsize = sizeof(Profiled);
  profiled_type.tp_flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_GC;
  profiled_type.tp_vectorcall_offset = offsetof(Profiled, call);
  profiled_type.tp_weaklistoffset = offsetof(Profiled, weak_references);
  profiled_type.tp_call = PyVectorcall_Call;
  profiled_type.tp_new = make_profiled;
  profiled_type.tp_dealloc = drop;
  profiled_type.tp_traverse = traverse;
  profiled_type.tp_clear = clear;
  profiled_type.tp_descr_get = bind;
  profiled_type.tp_getattro = get_attribute;
  profiled_type.tp_setattro = set_attribute;
  profiled_type.tp_repr = represent;
  profiled_type.tp_getset = attributes;
  profiled_type.tp_members = members;
  profiled_type.tp_methods = methods;
  return PyType_Ready(&profiled_type) == 0 &&
         PyModule_AddObjectRef(module, "profiled", reinterpret_cast<PyObject*>(&profiled_type)) == 0;
}

}  // namespace kymo::python
