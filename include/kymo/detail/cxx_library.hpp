// Marks structures that hand types of the C++ standard library to the library of kymo. The names of functions that take
// them differ by that library: a program with another one than kymo does not link; it would crash.
#pragma once

#include <cstddef>  // says which C++ library this is

#if defined(_LIBCPP_VERSION)
#define KYMO_DETAIL_STANDARD_TYPES __attribute__((abi_tag("needs_a_kymo_built_with_libcxx")))
#else
#define KYMO_DETAIL_STANDARD_TYPES
#endif
