// One connection: reads requests' heads and writes answers, each within its time and size.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "serve/limits.hpp"

namespace kymo::serve {

/// Owned and used by one thread; shutdown(2) of its socket by another ends whatever it waits for.
class Client {
 public:
  Client(base::FileDescriptor socket, const Limits& limits);

  enum class Reading {
    head,       ///< there is a whole one
    gone,       ///< closed, or nothing came in time
    too_large,  ///< larger than a head may be
  };
  /// Waits for the next request's head. `head` stays valid until the next call. `gives_way`: asked now and then while
  /// there is no request: whether to end a connection that does nothing, since others wait.
  [[nodiscard]] Reading read_head(std::string_view& head, const std::function<bool()>& gives_way);

  /// Writes all of it; false where the client does not take it in time or is gone. After that the connection is of no
  /// use.
  bool write(std::string_view bytes);

  /// Whether the other side still listens. Costs a system call.
  [[nodiscard]] bool is_there() const;

  /// Ends a connection whose last bytes are to arrive though the client may still be sending.
  void end();

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  enum class Arrival { bytes, nothing, end };
  Arrival receive(std::chrono::milliseconds timeout);
  bool send_part(std::string_view bytes);

  base::FileDescriptor socket_;
  const Limits& limits_;
  std::string buffer_;       // what came and was not used
  std::size_t used_ = 0;     // of it: the last head
  bool has_served_ = false;  // at least one request
};

}  // namespace kymo::serve
