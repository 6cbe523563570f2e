// Ids of declared things are numbers in Python.
#pragma once

#include <cstdint>

#include <kymo/ids.hpp>

#include <nanobind/nanobind.h>

/// Include it wherever an id may become a Python object or come from one.
template <kymo::IdKind kind>
struct nanobind::detail::type_caster<kymo::Id<kind>> {
  NB_TYPE_CASTER(kymo::Id<kind>, const_name("int"))

  template <typename Flags>
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
    make_caster<std::uint32_t> number;
    const bool is_read = number.from_python(source, flags, cleanup);
    value = kymo::Id<kind>(is_read ? number.value : 0);
    return is_read;
  }
  static handle from_cpp(kymo::Id<kind> id, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return PyLong_FromUnsignedLong(id.value());
  }
};
