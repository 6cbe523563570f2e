// Limits on a client's use of the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kymo::serve {

struct Limits {
  /// Connections served at once, one thread each, started when they are needed. More wait in the kernel's queue.
  unsigned connections = 256;
  /// The maximum of these that may be event streams, which stay open.
  unsigned event_streams = 24;
  std::size_t head_bytes = std::size_t{32} << 10U;  ///< of a request, with everything that browsers add
  std::chrono::milliseconds head_time{10'000};      ///< to receive a request's head, from its first byte
  std::chrono::milliseconds idle_time{15'000};      ///< between two requests of a connection
  /// How long a client may take while others wait: to send a request, and to take the next 64 KiB.
  std::chrono::milliseconds silence{1'000};
  std::chrono::milliseconds write_time{15'000};             ///< for a client to take the next 64 KiB
  std::chrono::milliseconds heartbeat{15'000};              ///< between two lines of an idle stream
  std::uint64_t response_bytes = std::uint64_t{64} << 20U;  ///< of a capture
  std::uint64_t outline_bytes = std::uint64_t{32} << 20U;   ///< of an outline; a larger block is sent alone
  std::size_t captures = 4096;
};

}  // namespace kymo::serve
