// kymo._record: recording from Python, on the C interface of libkymo. Hand-written against CPython, since a scope here
// has a budget of nanoseconds.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <kymo/kymo.h>

namespace {

PyObject* enable(PyObject*, PyObject*) {
  int recording = 0;
  Py_BEGIN_ALLOW_THREADS;
  recording = kymo_enable();
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(recording);
}

PyObject* version(PyObject*, PyObject*) { return PyUnicode_FromString(kymo_version()); }

PyMethodDef functions[] = {
    {"enable", enable, METH_NOARGS, PyDoc_STR("Arm what the KYMO_* environment variables ask for.")},
    {"version", version, METH_NOARGS, PyDoc_STR("Return the version of the recorder.")},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_record", nullptr, 0, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__record() { return PyModule_Create(&module); }
