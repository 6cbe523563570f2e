// How much of the C stack is left. Calls between Python functions may need none of it, but calls through this extension
// do. A script with a raised recursion limit could therefore exhaust it.
#pragma once

#include <cstdint>

#include <pthread.h>

#include "python.hpp"

namespace kymo::python {

/// The lowest address that this thread's stack may reach, plus a reserve for calls from there; 0 if unknown.
inline std::uintptr_t lowest_stack_address() {
  constexpr std::size_t reserve = std::size_t{256} << 10U;
  std::uintptr_t limit = 0;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    void* lowest = nullptr;
    std::size_t bytes = 0;
    if (::pthread_attr_getstack(&attributes, &lowest, &bytes) == 0 && bytes > 2 * reserve) {
      limit = reinterpret_cast<std::uintptr_t>(lowest) + reserve;
    }
    ::pthread_attr_destroy(&attributes);
  }
  return limit;
}

/// Whether the stack is nearly full: a RecursionError is better than a crash. About 1 ns.
inline bool is_stack_full() {
  static __thread std::uintptr_t limit __attribute__((tls_model("initial-exec"))) = 1;
  if (__builtin_expect(static_cast<long>(limit == 1), 0) != 0) {
    limit = lowest_stack_address();
  }
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < limit;
}

inline void set_recursion_error() {
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack is full");
}

}  // namespace kymo::python
