#include "errors.hpp"

#include <exception>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <kymo/capture.hpp>
#include <kymo/statistics.hpp>

namespace nb = nanobind;

namespace kymo::python {

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const CaptureError& error) {
      const nb::object type = nb::module_::import_("kymograph._errors").attr("CaptureError");
      const nb::object value = type(nb::str(error.what()), nb::str(error.path().c_str()), nb::int_(error.offset()));
      PyErr_SetObject(type.ptr(), value.ptr());
    } catch (const SelectionError& error) {
      PyErr_SetString(PyExc_KeyError, error.what());
    }
  });
}

}  // namespace kymo::python
