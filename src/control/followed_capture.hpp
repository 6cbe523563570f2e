// The capture that a worker's own ends with: its starter's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/system/file.hpp"

namespace kymo::control {

/// A capture of another process, which ends this process's. While it is followed, a lock on it shows that to its
/// writer. Not thread-safe.
class FollowedCapture {
 public:
  /// `path`: absolute. The file is opened, and found again if it moves. `id`: of the file, where that is known: another
  /// one under its name is a later recording's.
  explicit FollowedCapture(std::string path, const std::optional<base::FileId>& id = {});

  /// The same capture, for a child forked from this process.
  [[nodiscard]] std::unique_ptr<FollowedCapture> for_child() const {
    return std::make_unique<FollowedCapture>(path_, id_);
  }

  /// Whether its writer has finished it, or it was gone at the start. False where locks do not tell. About five system
  /// calls.
  [[nodiscard]] bool has_ended();

  /// Shows that this process's capture is finished.
  void leave() noexcept;
  /// Closes the file, in a forked child: the lock is its parent's. Async-signal-safe.
  void forget() noexcept { file_.reset(); }

 private:
  std::string path_;
  std::optional<base::FileId> id_;
  base::KnownFile file_;
  bool is_gone_ = false;
};

/// The capture of this process's starter (KYMO_STARTER, KYMO_FOLLOW). Null in the starter itself, without one, and
/// where KYMO_RECORD was changed since.
[[nodiscard]] std::unique_ptr<FollowedCapture> follow_starter();

}  // namespace kymo::control
