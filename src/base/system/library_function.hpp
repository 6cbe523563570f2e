// Functions of libraries that are loaded at run time.
#pragma once

#include <dlfcn.h>

namespace kymo::base {

/// A function of a library, of the type of the pointer that it initialises; null if the library lacks it.
class LibraryFunction {
 public:
  LibraryFunction(void* library, const char* name) : address_(library != nullptr ? ::dlsym(library, name) : nullptr) {}

  [[nodiscard]] bool is_there() const { return address_ != nullptr; }
  template <typename Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address_);
  }

 private:
  void* address_;
};

}  // namespace kymo::base
