// Sites of Python code, and names of arguments: interned once, kept until the process ends. Call everything here with
// the GIL held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/kymo.h>

#include "python.hpp"

namespace kymo::python {

/// The site for a name at a place. Always the same for the same four arguments.
[[nodiscard]] kymo_site* intern_site(std::string_view name, std::string_view function, std::string_view file,
                                     unsigned line);

/// The site of a code object, named by module and qualified name. `module` may be null.
[[nodiscard]] kymo_site* intern_code(PyCodeObject* code, PyObject* module);

/// The site for `with kymo.scope(name)`. Its place is that of the program's code that uses the name first. After
/// 65,536 names the rest share one site. A few nanoseconds for a literal. `name` is a str.
[[nodiscard]] kymo_site* site_of_scope(PyObject* name);

/// The name of an argument, and its id in the recorder.
struct ArgumentName {
  std::uint32_t id = 0;
  std::string text;
};

/// A few nanoseconds for a literal. `name` is a str.
[[nodiscard]] ArgumentName* argument_name(PyObject* name);

}  // namespace kymo::python
