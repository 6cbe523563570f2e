// A thread's open hooked functions, and the memory that holds them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <kymo/detail/hot_path.hpp>

namespace kymo::record {

/// An open hooked function.
struct Frame {
  const void* function = nullptr;  ///< null: being written
  const void* call_site = nullptr;
  detail::ScopeToken token;
};

/// A thread's open functions. All zero at first and in a forked child: the kernel clears it, so that no token of the
/// parent is used there.
///
/// A signal handler may come between any two steps. It leaves `depth` unchanged and writes only above it.
struct HookThread {
  /// Deeper than the limit for recorded scopes, so frames that don't fit would have been dropped anyway.
  static constexpr std::size_t most_frames = 32'768;

  std::uint32_t depth;
  std::uint32_t unpushed;        ///< open functions above the frames, all of which are in use then
  std::uintptr_t unpushed_from;  ///< a place on the stack near the first of them
  /// Where nobody reports the thread's end: the thread's id, and in the upper half how often the memory had another
  /// owner. 0: it is given to no other thread.
  std::atomic<std::uint64_t> owner;
  HookThread* next;
  Frame frames[most_frames];
};

/// The calling thread's; null before its first function.
extern __thread HookThread* hook_thread KYMO_STATIC_TLS;

/// Gives the calling thread its memory. Null if there is none. Async-signal-safe.
[[nodiscard]] HookThread* make_hook_thread() noexcept;

}  // namespace kymo::record
