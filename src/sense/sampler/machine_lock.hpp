// Decides which process of a user samples the machine.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/system/file.hpp"

namespace kymo::sense {

/// A record lock on a file in shared memory. The kernel releases it when the process ends, however that happens, and a
/// forked child does not inherit it. At most one object of a process holds it. Thread safe.
class MachineLock {
 public:
  /// For the machine below `root`.
  explicit MachineLock(std::string_view root);
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;
  ~MachineLock() { release(); }

  /// Whether this object holds the lock after the call. If the lock cannot be created at all, nobody can be kept from
  /// sampling, so the result is true. About 2 us.
  [[nodiscard]] bool try_acquire();
  void release();
  /// The process that holds it; 0: none, or this one.
  [[nodiscard]] pid_t holder() const;

 private:
  [[nodiscard]] bool open();

  std::string path_;
  base::KnownFile file_;
};

}  // namespace kymo::sense
