// Generators, coroutines and async generators of profiled functions. Each resumption is a scope, until it yields,
// awaits or ends. No scope is therefore open while it waits, or left open if it never finishes.
#include "profiled.hpp"
#include "types.hpp"

namespace kymo::python {

namespace {

struct Resumable {
  PyObject_HEAD PyObject* inner;
  PyObject* weak_references;
  ProfiledSite place;
};

PyTypeObject generator_type = unready_type("kymo._record.profiled_generator");
PyTypeObject coroutine_type = unready_type("kymo._record.profiled_coroutine");
PyTypeObject async_generator_type = unready_type("kymo._record.profiled_async_generator");

Resumable& resumable(PyObject* self) {
  return *reinterpret_cast<Resumable*>(self);
}

/// Keeps the inner object alive while it runs, because its code may drop the outer one.
class Running {
 public:
  explicit Running(PyObject* self) : inner_(Owned::of(resumable(self).inner)), scope_(resumable(self).place) {}
  [[nodiscard]] PyObject* inner() const { return inner_.get(); }

 private:
  Owned inner_;
  ProfiledScope scope_;
};

PyObject* next(PyObject* self) {
  const Running running(self);
  const iternextfunc inner_next = Py_TYPE(running.inner())->tp_iternext;
  if (inner_next != nullptr) {
    return inner_next(running.inner());
  }
  // A coroutine has no tp_iternext of its own, so send None to it.
  PyObject* result = nullptr;
  switch (PyIter_Send(running.inner(), Py_None, &result)) {
    case PYGEN_NEXT:
      return result;
    case PYGEN_RETURN: {
      const Owned value(result);
      const Owned stop(PyObject_CallOneArg(PyExc_StopIteration, value.get()));
      if (stop) {
        PyErr_SetObject(PyExc_StopIteration, stop.get());
      }
      return nullptr;
    }
    default:
      return nullptr;
  }
}

PySendResult send_fast(PyObject* self, PyObject* value, PyObject** result) {
  const Running running(self);
  return PyIter_Send(running.inner(), value, result);
}

template <const char* const& Method>
PyObject* resume(PyObject* self, PyObject* arguments) {
  const Running running(self);
  const Owned method(PyObject_GetAttrString(running.inner(), Method));
  return method ? PyObject_CallObject(method.get(), arguments) : nullptr;
}

const char* const send_name = "send";
const char* const throw_name = "throw";
const char* const close_name = "close";
const char* const asend_name = "asend";
const char* const athrow_name = "athrow";
const char* const aclose_name = "aclose";

/// Awaiting the result of an async generator's method resumes the generator.
PyObject* scoped_awaitable(PyObject* self, PyObject* awaitable) {
  return awaitable != nullptr ? make_resumable(Returns::coroutine, resumable(self).place, awaitable) : nullptr;
}

template <const char* const& Method>
PyObject* await_method(PyObject* self, PyObject* arguments) {
  const Owned method(PyObject_GetAttrString(resumable(self).inner, Method));
  return method ? scoped_awaitable(self, PyObject_CallObject(method.get(), arguments)) : nullptr;
}

PyObject* async_next(PyObject* self) {
  const Owned method(PyObject_GetAttrString(resumable(self).inner, "__anext__"));
  return method ? scoped_awaitable(self, PyObject_CallNoArgs(method.get())) : nullptr;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(resumable(self).inner, name);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<kymo.profile of %R>", resumable(self).inner);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(resumable(self).inner);
  return 0;
}

/// Sets None instead: other objects in the same collection may still call it.
int clear(PyObject* self) {
  const Owned inner(std::exchange(resumable(self).inner, Py_NewRef(Py_None)));
  return 0;
}

void drop(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (resumable(self).weak_references != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  Py_CLEAR(resumable(self).inner);
  PyObject_GC_Del(self);
}

PyMethodDef generator_methods[] = {
    {"send", resume<send_name>, METH_VARARGS, nullptr},
    {"throw", resume<throw_name>, METH_VARARGS, nullptr},
    {"close", resume<close_name>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef async_generator_methods[] = {
    {"asend", await_method<asend_name>, METH_VARARGS, nullptr},
    {"athrow", await_method<athrow_name>, METH_VARARGS, nullptr},
    {"aclose", await_method<aclose_name>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyAsyncMethods generator_async = {nullptr, nullptr, nullptr, send_fast};
PyAsyncMethods coroutine_async = {PyObject_SelfIter, nullptr, nullptr, send_fast};
PyAsyncMethods async_generator_async = {nullptr, PyObject_SelfIter, async_next, nullptr};

void prepare_type(PyTypeObject& type, PyMethodDef* methods, PyAsyncMethods* async) {
  type.tp_basicsize = sizeof(Resumable);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  type.tp_weaklistoffset = offsetof(Resumable, weak_references);
  type.tp_dealloc = drop;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_getattro = get_attribute;
  type.tp_repr = represent;
  type.tp_methods = methods;
  type.tp_as_async = async;
}

}  // namespace

PyObject* make_resumable(Returns kind, const ProfiledSite& place, PyObject* inner) {
  PyTypeObject* const type = kind == Returns::generator   ? &generator_type
                             : kind == Returns::coroutine ? &coroutine_type
                                                          : &async_generator_type;
  auto* const made = PyObject_GC_New(Resumable, type);
  if (made == nullptr) {
    Py_DECREF(inner);
    return nullptr;
  }
  made->inner = inner;
  made->weak_references = nullptr;
  made->place = place;
  PyObject_GC_Track(made);
  return reinterpret_cast<PyObject*>(made);
}

bool add_resumable_types(PyObject* /*module*/) {
  prepare_type(generator_type, generator_methods, &generator_async);
  generator_type.tp_iter = PyObject_SelfIter;
  generator_type.tp_iternext = next;
  prepare_type(coroutine_type, generator_methods, &coroutine_async);
  coroutine_type.tp_iternext = next;
  prepare_type(async_generator_type, async_generator_methods, &async_generator_async);
  return PyType_Ready(&generator_type) == 0 && PyType_Ready(&coroutine_type) == 0 &&
         PyType_Ready(&async_generator_type) == 0;
}

}  // namespace kymo::python
