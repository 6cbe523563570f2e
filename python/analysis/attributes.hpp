// Reads values from Python objects by attribute name, so that users can pass dataclasses.
#pragma once

#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace kymo::python {

/// Reads an object's attribute. Raises AttributeError if it is missing; TypeError, or OverflowError for numbers, if it
/// does not fit.
template <typename Value>
[[nodiscard]] Value attribute(nanobind::handle object, const char* name) {
  const nanobind::object value = object.attr(name);
  Value converted{};
  if (nanobind::try_cast(value, converted)) {
    return converted;
  }
  const bool is_integer = PyLong_Check(value.ptr()) != 0;
  const auto type = nanobind::cast<std::string>(object.type().attr("__name__"));
  const auto shown = nanobind::cast<std::string>(nanobind::repr(value));
  PyErr_Format(is_integer ? PyExc_OverflowError : PyExc_TypeError, "%s.%s cannot be %s", type.c_str(), name,
               shown.c_str());
  throw nanobind::python_error();
}

}  // namespace kymo::python
