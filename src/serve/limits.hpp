// What a client of the server may take of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kymo::serve {

struct Limits {
  /// Connections that are served at once, each by a thread; more wait in the kernel's queue.
  unsigned connections = 64;
  /// How many of them may be streams of events, which stay.
  unsigned event_streams = 24;
  std::size_t head_bytes = std::size_t{32} << 10U;  ///< of a request, with all that a browser adds to it
  std::chrono::milliseconds head_time{10'000};      ///< for a request's head, from its first byte
  std::chrono::milliseconds idle_time{15'000};      ///< between two requests of a connection
  /// How long a new connection may say nothing while others wait.
  std::chrono::milliseconds silence{1'000};
  std::chrono::milliseconds write_time{15'000};             ///< for a client to take the next 64 KiB
  std::chrono::milliseconds heartbeat{15'000};              ///< between two lines of a stream with nothing to say
  std::uint64_t response_bytes = std::uint64_t{64} << 20U;  ///< of a capture
  std::uint64_t outline_bytes = std::uint64_t{32} << 20U;   ///< of an outline; a block that is larger comes alone
  std::size_t captures = 4096;
};

}  // namespace kymo::serve
