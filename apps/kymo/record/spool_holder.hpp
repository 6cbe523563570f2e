// Holds the spools of recorded processes that found no room in tmpfs, so that they outlive the processes.
#pragma once

#include <string>
#include <vector>

#include "base/system/file.hpp"

namespace kymo::command {

/// A unix socket to which processes send the descriptor of their spool. One thread.
class SpoolHolder {
 public:
  /// Listens on a socket in the directory. If that fails path() is empty, and processes do without it.
  explicit SpoolHolder(const std::string& directory);
  SpoolHolder(const SpoolHolder&) = delete;
  SpoolHolder& operator=(const SpoolHolder&) = delete;
  ~SpoolHolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The descriptors to poll for input.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Receives everything sent so far. Never blocks.
  void receive();
  /// Writes the held spools that are not part of a finished capture to files in the directory, named like spools in
  /// shared memory. Returns their number.
  std::size_t save(const std::string& directory) const;

 private:
  std::string path_;
  base::FileDescriptor listener_;
  std::vector<base::FileDescriptor> connections_;
  std::vector<base::FileDescriptor> spools_;
};

}  // namespace kymo::command
