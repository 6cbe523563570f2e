// The capture that a worker's own ends with: its starter's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/system/file.hpp"

namespace kymo::control {

/// A capture that another process writes. Not thread-safe.
class FollowedCapture {
 public:
  /// `path`: absolute. The file is opened, and found again if it moves.
  FollowedCapture(std::string path, std::uint64_t writer);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Whether the file is gone, or nobody writes it and it is whole, or its writer is gone. False where locks do not
  /// tell. About five system calls.
  [[nodiscard]] bool has_ended();

 private:
  std::string path_;
  std::uint64_t writer_;
  base::KnownFile file_;
  bool is_gone_ = false;
};

/// The capture of this process's starter (KYMO_STARTER, KYMO_FOLLOW). Null in the starter itself, and without one.
[[nodiscard]] std::unique_ptr<FollowedCapture> follow_starter();

}  // namespace kymo::control
