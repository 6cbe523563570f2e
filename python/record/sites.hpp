// Sites of Python code, and names of arguments: interned once, kept as long as the process. Everything here is called
// with the interpreter's lock held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/kymo.h>

#include "python.hpp"

namespace kymo::python {

/// The site of a name at a place. The same one for the same four.
[[nodiscard]] kymo_site* intern_site(std::string_view name, std::string_view function, std::string_view file,
                                     unsigned line);

/// The site of a code object: its name is the module's and the qualified one. `module` may be null.
[[nodiscard]] kymo_site* intern_code(PyCodeObject* code, PyObject* module);

/// The site of what `with kymo.scope(name)` opens; its place is where the name was first used. After 65,536 names the
/// rest share one site. A few nanoseconds for a literal. `name` is a str.
[[nodiscard]] kymo_site* site_of_scope(PyObject* name);

/// The name of an argument, and the id that the recorder gives it.
struct ArgumentName {
  std::uint32_t id = 0;
  std::string text;
};

/// A few nanoseconds for a name that stands in the source. `name` is a str.
[[nodiscard]] ArgumentName* argument_name(PyObject* name);

}  // namespace kymo::python
