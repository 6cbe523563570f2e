// The record that each thread of a program to be killed keeps in a shared mapping of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::test {

inline constexpr int tally_threads = 8;

/// Fibers are numbered from here; no thread ID is that large.
inline constexpr std::uint64_t tally_fiber = std::uint64_t{1} << 40U;

struct alignas(128) KillTally {
  std::atomic<std::uint64_t> track;   ///< the kernel's thread ID, or the number in a fiber's name
  std::atomic<std::uint64_t> opened;  ///< number of the scope being opened or opened last
  std::atomic<std::uint64_t> closed;  ///< number of the scope closed last
};

}  // namespace kymo::test
