// The only clock of a WebAssembly program: performance.now() in browsers, its equivalent in Node.js.
#pragma once

#include <cstdint>

#include <kymo/export.hpp>

extern "C" double emscripten_get_now(void);

namespace kymo::detail {

/// The monotonic clock of the page or worker, in nanoseconds. Its resolution is 5 us in pages isolated from other
/// origins, 100 us in others, and up to 100 ms in browsers that resist fingerprinting. A call out of WebAssembly, some
/// 30 ns.
KYMO_SKIP
inline std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(emscripten_get_now() * 1e6);
}

/// The same clock: WebAssembly has no counter of its own.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return monotonic_ns();
}

}  // namespace kymo::detail
