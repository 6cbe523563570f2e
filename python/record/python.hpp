// Helpers for CPython's C interface: owned references, texts, differences between versions.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <string_view>
#include <utility>

namespace kymo::python {

/// Calls it without the GIL, so that other threads can run meanwhile.
template <typename Call>
auto without_lock(const Call& call) {
  class Lock {
   public:
    Lock() : state_(PyEval_SaveThread()) {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { PyEval_RestoreThread(state_); }

   private:
    PyThreadState* state_;
  };
  const Lock unlocked;
  return call();
}

/// An owned reference. Null if a call failed and a Python exception is set.
class Owned {
 public:
  Owned() = default;
  explicit Owned(PyObject* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    PyObject* const old = std::exchange(object_, std::exchange(other.object_, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }

  static Owned of(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Owned(borrowed);
  }

  [[nodiscard]] PyObject* get() const { return object_; }
  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }
  [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Protects the exception being handled from exceptions raised by calls in its lifetime, and vice versa.
class KeptException {
 public:
  KeptException() { PyErr_Fetch(&type_, &value_, &traceback_); }
  KeptException(const KeptException&) = delete;
  KeptException& operator=(const KeptException&) = delete;
  ~KeptException() { PyErr_Restore(type_, value_, traceback_); }

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

/// The UTF-8 of a str, with lone surrogates as \udcxx. Never fails: "?" if memory is exhausted.
class Text {
 public:
  /// An empty text.
  Text() : view_() {}
  explicit Text(PyObject* text) {
    Py_ssize_t size = 0;
    if (const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size)) {
      view_ = {bytes, static_cast<std::size_t>(size)};
      return;
    }
    PyErr_Clear();
    encoded_ = Owned(PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace"));
    if (encoded_) {
      view_ = {PyBytes_AS_STRING(encoded_.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded_.get()))};
    } else {
      PyErr_Clear();
    }
  }

  [[nodiscard]] std::string_view view() const { return view_; }
  [[nodiscard]] std::string str() const { return std::string(view_); }

 private:
  std::string_view view_ = "?";
  Owned encoded_;
};

/// Reads a str argument, which must outlive the text. Returns false with TypeError set if it is not a str.
inline bool read_text(PyObject* value, const char* what, Text& text) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %.200s", what, Py_TYPE(value)->tp_name);
    return false;
  }
  text = Text(value);
  return true;
}

/// Says something to the user, on Python's stderr.
inline void say(const char* text) {
  PySys_FormatStderr("kymo: %s\n", text);
}

/// A static type with only its name set.
inline PyTypeObject unready_type(const char* name) {
  PyTypeObject type{};
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = name;
  return type;
}

template <typename Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace kymo::python
