#include "threads/stacks/debug_library.hpp"

#include <dlfcn.h>

namespace kymo::threads {

DebugLibrary::DebugLibrary()
    : elf_(::dlopen("libelf.so.1", RTLD_NOW | RTLD_LOCAL)), dwarf_(::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) {}

const DebugLibrary& debug_library() {
  static const DebugLibrary loaded;
  return loaded;
}

}  // namespace kymo::threads
