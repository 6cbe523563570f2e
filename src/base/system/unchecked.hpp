// A program may be built with MemorySanitizer, and kymo without: then it does not see what kymo writes, and takes it
// for uninitialised wherever kymo hands it to the C library.
#pragma once

#include <cstddef>

#ifdef __linux__
extern "C" {
// Of the sanitizer's runtime, if the program has it (sanitizer/msan_interface.h).
__attribute__((weak)) void __msan_scoped_disable_interceptor_checks();
__attribute__((weak)) void __msan_scoped_enable_interceptor_checks();
__attribute__((weak)) void __msan_unpoison(const volatile void* memory, std::size_t size);
}
#endif

namespace kymo::base {

/// While it lives, the sanitizer does not check what this thread hands to the C library. Costs two loads without it.
class Unchecked {
 public:
#ifdef __linux__
  Unchecked() noexcept {
    if (__msan_scoped_disable_interceptor_checks != nullptr) {
      __msan_scoped_disable_interceptor_checks();
    }
  }
  ~Unchecked() {
    if (__msan_scoped_enable_interceptor_checks != nullptr) {
      __msan_scoped_enable_interceptor_checks();
    }
  }
#else
  Unchecked() noexcept {}
  ~Unchecked() {}
#endif
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
};

/// Says that kymo has written what it gives to the program.
inline void mark_written([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t size) noexcept {
#ifdef __linux__
  if (__msan_unpoison != nullptr) {
    __msan_unpoison(memory, size);
  }
#endif
}

}  // namespace kymo::base
