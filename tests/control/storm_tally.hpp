// What each process of the storm writes down, in a mapping that they share.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::test {

struct alignas(128) StormTally {
  std::atomic<std::uint64_t> pid;     ///< 0: not in use
  std::atomic<std::uint64_t> opened;  ///< scopes that were about to be opened
  std::atomic<std::uint64_t> closed;  ///< scopes that were closed, all while recording was on
};

struct StormSheet {
  static constexpr std::uint32_t most_processes = 4096;
  std::atomic<std::uint32_t> used;
  std::atomic<std::uint64_t> signals;   ///< handled by all processes
  std::atomic<std::uint64_t> restarts;  ///< of recording
  StormTally processes[most_processes];
};

}  // namespace kymo::test
