// send, throw, close and next of an object that passes them on to a generator or coroutine within.
//
// `Stretch` is a guard around each resumption: it is made from the outer object, and from whether the resumption begins
// what has not begun; inner() is the one within, and set_over() says whether that has ended.
#pragma once

#include "python.hpp"

namespace kymo::python {

inline constexpr const char* send_name = "send";
inline constexpr const char* throw_name = "throw";

template <typename Stretch>
PySendResult send_fast(PyObject* self, PyObject* value, PyObject** result) {
  Stretch stretch(self, value == Py_None);
  const PySendResult outcome = PyIter_Send(stretch.inner(), value, result);
  stretch.set_over(outcome != PYGEN_NEXT);
  return outcome;
}

template <typename Stretch>
PyObject* next(PyObject* self) {
  Stretch stretch(self, true);
  if (const iternextfunc inner_next = Py_TYPE(stretch.inner())->tp_iternext) {
    PyObject* const result = inner_next(stretch.inner());
    stretch.set_over(result == nullptr);
    return result;
  }
  // A coroutine has no tp_iternext of its own, so send None to it.
  PyObject* result = nullptr;
  switch (PyIter_Send(stretch.inner(), Py_None, &result)) {
    case PYGEN_NEXT:
      stretch.set_over(false);
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

template <typename Stretch, const char* const& Method>
PyObject* resume(PyObject* self, PyObject* arguments) {
  const bool sends_none =
      Method == send_name && PyTuple_GET_SIZE(arguments) == 1 && PyTuple_GET_ITEM(arguments, 0) == Py_None;
  Stretch stretch(self, sends_none);
  const Owned method(PyObject_GetAttrString(stretch.inner(), Method));
  PyObject* const result = method ? PyObject_CallObject(method.get(), arguments) : nullptr;
  stretch.set_over(result == nullptr);
  return result;
}

/// close() returns a value although the object within has ended.
template <typename Stretch>
PyObject* close(PyObject* self, PyObject* /*unused*/) {
  const Stretch stretch(self, false);
  return PyObject_CallMethod(stretch.inner(), "close", nullptr);
}

template <typename Stretch>
inline PyMethodDef resuming_methods[] = {
    {"send", resume<Stretch, send_name>, METH_VARARGS, nullptr},
    {"throw", resume<Stretch, throw_name>, METH_VARARGS, nullptr},
    {"close", close<Stretch>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
