// A WebAssembly program without threads: nobody ever waits for another.
#pragma once

#include <cstdint>

#if defined(__EMSCRIPTEN_PTHREADS__)
#error "kymo records WebAssembly programs of one thread: build without -pthread"
#endif

namespace kymo::record {

inline void private_futex_wait(std::uint32_t* /*word*/, std::uint32_t /*expected*/) noexcept {}

inline void private_futex_wake_all(std::uint32_t* /*word*/) noexcept {}

}  // namespace kymo::record
