// What each thread of a program that is going to be killed writes down, in a shared mapping of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::test {

inline constexpr int tally_threads = 8;

/// Fibers are numbered from here on: no thread has such an id.
inline constexpr std::uint64_t tally_fiber = std::uint64_t{1} << 40U;

struct alignas(128) KillTally {
  std::atomic<std::uint64_t> track;   ///< the kernel's id of the thread, or the number that a fiber is named by
  std::atomic<std::uint64_t> opened;  ///< number of the scope that is being opened, or was last
  std::atomic<std::uint64_t> closed;  ///< number of the last scope that was closed
};

}  // namespace kymo::test
