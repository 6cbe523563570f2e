// What each thread of a program that is going to be killed writes down, in a shared mapping of its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::test {

inline constexpr int tally_threads = 8;

struct alignas(128) KillTally {
  std::atomic<std::uint64_t> thread_id;
  std::atomic<std::uint64_t> opened;  ///< number of the scope that is being opened, or was last
  std::atomic<std::uint64_t> closed;  ///< number of the last scope that was closed
};

}  // namespace kymo::test
