// Which process of a user samples the machine.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/file.hpp"

namespace kymo::sense {

/// A record lock on a file in shared memory: the kernel gives it up with the process, however that ends, and a forked
/// child does not have it. At most one object of a process holds it. Thread safe.
class MachineLock {
 public:
  /// For the machine below `root`.
  explicit MachineLock(std::string_view root);
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;
  ~MachineLock() { release(); }

  /// Whether this object holds the lock now. Where the lock cannot be made at all, nobody can be kept from sampling and
  /// the answer is yes. About 2 us.
  [[nodiscard]] bool try_acquire();
  void release();
  /// The process that holds it; 0: none, or this one.
  [[nodiscard]] pid_t holder() const;

 private:
  [[nodiscard]] bool open();

  std::string path_;
  base::FileDescriptor file_;
};

}  // namespace kymo::sense
