#include "arguments.hpp"

#include <cstring>
#include <string_view>

#include <kymo/detail/hot_path.hpp>

namespace kymo::python {

namespace {

std::uint64_t double_bits(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Represents a value by its type's name.
void set_type(KeptArgument& argument, PyObject* value) {
  argument.type = ArgumentType::string;
  argument.text = PyUnicode_FromString(Py_TYPE(value)->tp_name);
  if (argument.text == nullptr) {
    PyErr_Clear();
  }
}

/// An int of any size. Beyond 64 bits it becomes a float, and beyond that its type's name.
void set_integer(KeptArgument& argument, PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  argument.bits = static_cast<std::uint64_t>(number);
  if (overflow == 0) {
    return;
  }
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
  if (overflow > 0 && PyErr_Occurred() == nullptr) {
    argument.type = ArgumentType::uint64;
    argument.bits = large;
    return;
  }
  PyErr_Clear();
  const double real = PyLong_AsDouble(value);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    set_type(argument, value);
    return;
  }
  argument.type = ArgumentType::float64;
  argument.bits = double_bits(real);
}

/// Numbers of other libraries. Any other object is represented by its type's name: its own text might be long, or on a
/// GPU.
void set_other(KeptArgument& argument, PyObject* value) {
  const std::string_view type = Py_TYPE(value)->tp_name;
  if (type == "numpy.bool" || type == "numpy.bool_") {
    argument.type = ArgumentType::boolean;
    argument.bits = PyObject_IsTrue(value) == 1 ? 1 : 0;
    return;
  }
  // Of a complex number NumPy would convert the real part, with a warning.
  const bool is_numpy_number = type.substr(0, 6) == "numpy." && type != "numpy.ndarray" &&
                               type.find("complex") == type.npos && type != "numpy.clongdouble";
  if (is_numpy_number) {
    if (PyIndex_Check(value) != 0) {
      const Owned index(PyNumber_Index(value));
      if (index) {
        set_integer(argument, index.get());
        return;
      }
      PyErr_Clear();
    }
    const double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred() == nullptr) {
      argument.type = ArgumentType::float64;
      argument.bits = double_bits(number);
      return;
    }
    PyErr_Clear();
  }
  set_type(argument, value);
}

}  // namespace

Argument KeptArgument::view() const {
  if (type != ArgumentType::string) {
    return Argument::from_bits(name->text, type, bits);
  }
  Py_ssize_t size = 0;
  const char* const bytes = text != nullptr ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
  return Argument::from_text(
      name->text, bytes != nullptr ? std::string_view(bytes, static_cast<std::size_t>(size)) : std::string_view("?"));
}

void KeptArguments::add(PyObject* name, PyObject* value) {
  KeptArgument& argument = list_[size_++];
  argument = {argument_name(name), ArgumentType::int64, 0, nullptr};
  if (PyBool_Check(value)) {
    argument.type = ArgumentType::boolean;
    argument.bits = value == Py_True ? 1 : 0;
  } else if (PyLong_Check(value)) {
    set_integer(argument, value);
  } else if (PyFloat_Check(value)) {
    argument.type = ArgumentType::float64;
    argument.bits = double_bits(PyFloat_AS_DOUBLE(value));
  } else if (PyUnicode_Check(value)) {
    argument.type = ArgumentType::string;
    // Creates the UTF-8 here, so that no exception can occur later.
    if (PyUnicode_AsUTF8(value) != nullptr) {
      argument.text = Py_NewRef(value);
    } else {
      PyErr_Clear();
      const Text text(value);
      argument.text = PyUnicode_DecodeUTF8(text.view().data(), static_cast<Py_ssize_t>(text.view().size()), "replace");
      PyErr_Clear();
    }
  } else {
    set_other(argument, value);
  }
}

bool KeptArguments::read(PyObject* names, PyObject* const* values) {
  const Py_ssize_t count = PyTuple_GET_SIZE(names);
  if (static_cast<std::size_t>(count) > most) {
    PyErr_Format(PyExc_TypeError, "at most %zu arguments are recorded, not %zd", most, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    add(PyTuple_GET_ITEM(names, i), values[i]);
  }
  return true;
}

bool KeptArguments::read(PyObject* dict) {
  if (static_cast<std::size_t>(PyDict_GET_SIZE(dict)) > most) {
    PyErr_Format(PyExc_TypeError, "at most %zu arguments are recorded, not %zd", most, PyDict_GET_SIZE(dict));
    return false;
  }
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &name, &value) != 0;) {
    add(name, value);
  }
  return true;
}

void KeptArguments::clear() {
  for (std::size_t i = 0; i < size_; ++i) {
    Py_CLEAR(list_[i].text);
  }
  size_ = 0;
}

void KeptArguments::record() const {
  for (std::size_t i = 0; i < size_; ++i) {
    const Argument argument = list_[i].view();
    detail::record_arguments(list_[i].name->id, &argument, 1);
  }
}

}  // namespace kymo::python
