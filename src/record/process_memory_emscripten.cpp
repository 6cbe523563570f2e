#include <emscripten/heap.h>

#include "record/process_memory.hpp"

namespace kymo::record {

/// WebAssembly's memory is all there is of the program, and grows only.
std::uint64_t resident_memory_bytes() noexcept {
  return emscripten_get_heap_size();
}

}  // namespace kymo::record
