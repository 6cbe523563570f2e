// Metrics: numbers from Python, NumPy and arrays in CPU memory. A value on a GPU is refused, because fetching it would
// silently wait for the GPU.
#include <cstring>

#include <kymo/metric.hpp>

#include "name_table.hpp"
#include "types.hpp"

namespace kymo::python {

namespace {

/// An attribute, or nothing if it is missing.
Owned attribute(PyObject* object, const char* name) {
  Owned found(PyObject_GetAttrString(object, name));
  if (!found) {
    PyErr_Clear();
  }
  return found;
}

/// The device from __dlpack_device__: 1 is CPU memory, 3 memory that a GPU shares with it; -1: unknown.
long dlpack_device(PyObject* value) {
  const Owned method = attribute(value, "__dlpack_device__");
  const Owned pair(method ? PyObject_CallNoArgs(method.get()) : nullptr);
  const bool is_pair = pair && PyTuple_Check(pair.get()) && PyTuple_GET_SIZE(pair.get()) == 2;
  const long type = is_pair ? PyLong_AsLong(PyTuple_GET_ITEM(pair.get(), 0)) : -1;
  PyErr_Clear();
  return type;
}

/// The location of a value outside of CPU memory: "cuda:0". Empty for CPU memory.
Owned foreign_device(PyObject* value) {
  if (std::strncmp(Py_TYPE(value)->tp_name, "numpy.", 6) == 0) {
    return {};
  }
  const long dlpack = dlpack_device(value);
  if (dlpack == 1 || dlpack == 3) {
    return {};
  }
  const Owned device = attribute(value, "device");
  Owned text(device ? PyObject_Str(device.get()) : nullptr);
  PyErr_Clear();
  if (dlpack >= 0 || attribute(value, "__cuda_array_interface__")) {
    return text ? std::move(text) : Owned(PyUnicode_FromString("a GPU"));
  }
  if (text) {
    const Owned lower(PyObject_CallMethod(text.get(), "lower", nullptr));
    if (lower && std::strstr(Text(lower.get()).str().c_str(), "cpu") == nullptr) {
      return text;
    }
    PyErr_Clear();
  }
  return {};
}

/// The number in an array of one element: NumPy 2 converts none that has dimensions. False, without an exception, if it
/// has more.
bool read_only_item(PyObject* value, double& number) {
  const Owned item(PyObject_CallMethod(value, "item", nullptr));
  const std::string_view type = item ? Py_TYPE(item.get())->tp_name : "";
  const bool is_number = item && (PyFloat_Check(item.get()) || PyLong_Check(item.get()) || type == "numpy.longdouble" ||
                                  type == "numpy.float128");
  number = is_number ? PyFloat_AsDouble(item.get()) : -1.0;
  const bool is_read = is_number && PyErr_Occurred() == nullptr;
  PyErr_Clear();
  return is_read;
}

bool read_other(PyObject* name, PyObject* value, double& number) {
  if (const Owned device = foreign_device(value)) {
    PyErr_Format(PyExc_TypeError,
                 "metric %R: the value (%.100s) lives on %U, and fetching it would wait for the device. Record "
                 "value.item() where that wait does no harm, or a number that you have fetched already",
                 name, Py_TYPE(value)->tp_name, device.get());
    return false;
  }
  // Before NumPy 2.4 an array of one text is a number too, and other arrays warn.
  const Owned type_of_items(PyObject_GetAttrString(value, "dtype"));
  PyErr_Clear();
  number = type_of_items ? -1.0 : PyFloat_AsDouble(value);
  if (type_of_items || (number == -1.0 && PyErr_Occurred() != nullptr)) {
    if (type_of_items || PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      PyErr_Clear();
      if (read_only_item(value, number)) {
        return true;
      }
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError, "metric %R: the value must be one number, not %.100s", name,
                   Py_TYPE(value)->tp_name);
    }
    return false;
  }
  return true;
}

bool read_number(PyObject* name, PyObject* value, double& number) {
  if (PyFloat_Check(value)) {
    number = PyFloat_AS_DOUBLE(value);
    return true;
  }
  if (PyLong_Check(value)) {
    number = PyLong_AsDouble(value);
    return number != -1.0 || PyErr_Occurred() == nullptr;
  }
  return read_other(name, value, number);
}

/// What a metric was first recorded with.
struct Unit {
  std::string text;
  bool is_said = false;
};

Unit* first_unit(PyObject* name, std::string_view unit) {
  static auto& units = immortal<NameTable<Unit>>();
  return units.find(name, [unit](std::string_view) { return new Unit{std::string(unit)}; });
}

/// Says once that a metric keeps its first unit.
void note_unit(PyObject* name, std::string_view unit) {
  Unit* const first = first_unit(name, unit);
  if (first != nullptr && first->text != unit && !first->is_said) {
    first->is_said = true;
    PySys_FormatStderr("kymo: metric %R keeps the unit '%s' of its first sample; '%s' is not recorded\n", name,
                       first->text.c_str(), std::string(unit).c_str());
  }
}

PyObject* record_metric(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    return PyErr_Format(PyExc_TypeError, "record_metric() takes a name and a value (%zd arguments given)", count);
  }
  Text name;
  double value = 0;
  if (!read_text(arguments[0], "name", name) || !read_number(arguments[0], arguments[1], value)) {
    return nullptr;
  }
  kymo::record_metric(name.view(), value);
  static_cast<void>(first_unit(arguments[0], {}));
  Py_RETURN_NONE;
}

PyObject* record_metric_unit(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3) {
    return PyErr_Format(PyExc_TypeError, "record_metric_unit() takes a name, a value and a unit (%zd arguments given)",
                        count);
  }
  Text name;
  Text unit;
  double value = 0;
  if (!read_text(arguments[0], "name", name) || !read_number(arguments[0], arguments[1], value) ||
      !read_text(arguments[2], "unit", unit)) {
    return nullptr;
  }
  kymo::record_metric_unit(name.view(), value, unit.view());
  note_unit(arguments[0], unit.view());
  Py_RETURN_NONE;
}

PyObject* record_io(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    return PyErr_Format(PyExc_TypeError,
                        "record_io() takes a duration in ns and a number of bytes (%zd arguments given)", count);
  }
  const unsigned long long duration_ns = PyLong_AsUnsignedLongLong(arguments[0]);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  const unsigned long long bytes = PyLong_AsUnsignedLongLong(arguments[1]);
  if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  kymo::record_io(duration_ns, bytes);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef metric_functions[] = {
    {"record_metric", as_method(record_metric), METH_FASTCALL,
     PyDoc_STR(
         "record_metric($module, name, value, /)\n--\n\n"
         "Record a sample of a metric now.\n\n"
         "Parameters\n----------\nname : str\n    The metric.\n"
         "value : float\n"
         "    A number: Python's, NumPy's, or an array of one element in the processor's memory. NaN marks a value\n"
         "    that could not be read.\n\n"
         "Raises\n------\nTypeError\n"
         "    The value is not one number, or it lives on a GPU: it is not fetched behind your back.")},
    {"record_metric_unit", as_method(record_metric_unit), METH_FASTCALL,
     PyDoc_STR("record_metric_unit($module, name, value, unit, /)\n--\n\n"
               "Record a sample of a metric with a unit. The unit of a metric is that of its first sample.\n\n"
               "Parameters\n----------\nname : str\n    The metric.\n"
               "value : float\n    As in `record_metric`.\n"
               "unit : str\n    ``\"W\"``, ``\"ms\"``, ``\"1\"``.")},
    {"record_io", as_method(record_io), METH_FASTCALL,
     PyDoc_STR(
         "record_io($module, duration_ns, size_bytes, /)\n--\n\n"
         "Add an I/O operation to the running frame: at the next mark of the main frame stream the sums become the\n"
         "metrics io_ms and io_MB.")},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace kymo::python
