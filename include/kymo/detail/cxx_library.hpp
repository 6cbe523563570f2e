// Headers that hand types of the C++ standard library to the library of kymo include this. A program built with another
// C++ library than kymo does not link then; it would crash.
#pragma once

#include <cstddef>  // says which C++ library this is

#include <kymo/export.hpp>

extern "C" {
#if defined(_LIBCPP_VERSION)
KYMO_API extern const char kymo_was_built_with_libcxx_v1;
#else
KYMO_API extern const char kymo_was_built_with_libstdcxx_v1;
#endif
}

namespace kymo::detail {

#if defined(_LIBCPP_VERSION)
__attribute__((used)) inline const char* const cxx_library = &kymo_was_built_with_libcxx_v1;
#else
__attribute__((used)) inline const char* const cxx_library = &kymo_was_built_with_libstdcxx_v1;
#endif

}  // namespace kymo::detail
