// Holds the shared memory of recorded processes that found no room for it in tmpfs, so that it outlives them.
#pragma once

#include <string>
#include <vector>

#include "base/file.hpp"

namespace kymo::command {

/// A unix socket to which processes send the file descriptor of their spool. One thread.
class SpoolHolder {
 public:
  /// Listens on a socket in the directory. path() is empty where that cannot be: processes then do without.
  explicit SpoolHolder(const std::string& directory);
  SpoolHolder(const SpoolHolder&) = delete;
  SpoolHolder& operator=(const SpoolHolder&) = delete;
  ~SpoolHolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Descriptors to wait on for something to read.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Takes what has been sent so far. Never blocks.
  void receive();
  /// Writes what is held and not in a finished capture to files in the directory, under the names that a spool has in
  /// shared memory. Returns how many.
  std::size_t save(const std::string& directory) const;

 private:
  std::string path_;
  base::FileDescriptor listener_;
  std::vector<base::FileDescriptor> connections_;
  std::vector<base::FileDescriptor> spools_;
};

}  // namespace kymo::command
