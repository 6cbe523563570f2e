// How much of the C stack is left. Calls between Python functions may need none of it, but calls through this extension
// do. A script with a raised recursion limit could therefore exhaust it.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pthread.h>

#include "python.hpp"

namespace kymo::python {

/// Addresses that this thread's stack has not reached while it has room.
struct StackLimits {
  std::uintptr_t half = UINTPTR_MAX;  ///< of the stack; always reached if its size is unknown
  std::uintptr_t full = 0;            ///< with a reserve for calls from there; never reached if its size is unknown
};

inline StackLimits limits_of_stack() {
  constexpr std::size_t reserve = std::size_t{256} << 10U;
  StackLimits limits;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    void* begin = nullptr;
    std::size_t bytes = 0;
    if (::pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
      const auto lowest = reinterpret_cast<std::uintptr_t>(begin);
      limits = {lowest + bytes / 2, lowest + std::min(reserve, bytes / 4)};
    }
    ::pthread_attr_destroy(&attributes);
  }
  return limits;
}

inline const StackLimits& limits_of_thread() {
  static __thread StackLimits limits __attribute__((tls_model("initial-exec"))) = {0, 0};
  if (__builtin_expect(static_cast<long>(limits.half == 0), 0) != 0) {
    limits = limits_of_stack();
  }
  return limits;
}

/// Whether half of the stack is in use, or may be. About 1 ns.
inline bool is_stack_half_full() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < limits_of_thread().half;
}

/// Whether the stack is nearly full: a RecursionError is better than a crash. About 1 ns.
inline bool is_stack_full() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < limits_of_thread().full;
}

inline void set_recursion_error() {
  PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack is full");
}

}  // namespace kymo::python
