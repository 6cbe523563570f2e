// One connection: reads request heads and writes answers, each with a time and size limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/system/file.hpp"
#include "serve/http/limits.hpp"

namespace kymo::serve {

/// Owned and used by one thread. Another thread ends any wait by shutdown(2) of its socket.
class Client {
 public:
  /// `others_wait` is asked while the client is slow: whether a connection waits that no thread is left for. The client
  /// then gives way to it.
  Client(base::FileDescriptor socket, const Limits& limits, std::function<bool()> others_wait);

  enum class Reading {
    head,       ///< a complete head
    gone,       ///< closed, or it did not arrive in time, or the client gave way
    too_large,  ///< the head exceeds the limit
    malformed,  ///< a line ends without a carriage return
  };
  /// Waits for the next request's head. `head` stays valid until the next call.
  [[nodiscard]] Reading read_head(std::string_view& head);

  /// Writes all bytes. Returns false if the client does not take them in time, gave way or is gone; the connection is
  /// then unusable.
  bool write(std::string_view bytes);

  /// Whether the client is still connected. Costs a system call.
  [[nodiscard]] bool is_there() const;

  /// Ends a connection such that its last bytes arrive even if the client is still sending.
  void end();

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  using SteadyClock = std::chrono::steady_clock;
  enum class Arrival { bytes, nothing, end };
  Arrival receive(std::chrono::milliseconds timeout);
  [[nodiscard]] bool gives_way(SteadyClock::time_point stays_until) const;
  bool send_part(std::string_view bytes);

  base::FileDescriptor socket_;
  const Limits& limits_;
  std::function<bool()> others_wait_;
  std::string buffer_;       // received bytes not used yet
  std::size_t used_ = 0;     // bytes of it that the last head takes
  bool has_served_ = false;  // has answered at least one request
};

}  // namespace kymo::serve
