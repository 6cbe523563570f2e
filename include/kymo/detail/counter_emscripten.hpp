// The one clock that a WebAssembly program has: performance.now() in browsers, its like in Node.js.
#pragma once

#include <cstdint>

#include <kymo/export.hpp>

extern "C" double emscripten_get_now(void);

namespace kymo::detail {

/// Milliseconds of the page's or worker's monotonic clock, as nanoseconds. It moves in steps: of 5 us in pages that are
/// isolated from other origins, of 100 us in others, and of up to 100 ms where a browser guards against being
/// recognised. A call out of WebAssembly, some 30 ns.
KYMO_SKIP
inline std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(emscripten_get_now() * 1e6);
}

/// The same: WebAssembly has no counter of its own.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return monotonic_ns();
}

}  // namespace kymo::detail
