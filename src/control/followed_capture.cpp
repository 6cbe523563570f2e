#include "control/followed_capture.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/system/system.hpp"
#include "capture/format/block.hpp"
#include "capture/write/destination.hpp"
#include "control/run_facts.hpp"

namespace kymo::control {

namespace {

constexpr int how_to_open = O_RDONLY | O_NONBLOCK;

bool is_whole(int file, std::uint64_t bytes) {
  std::array<std::byte, capture::trailer_size> end{};
  return bytes >= end.size() && base::read_exactly_at(file, end, bytes - end.size()) && capture::parse_trailer(end);
}

bool is_plain(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

FollowedCapture::FollowedCapture(std::string path, const std::optional<base::FileId>& id)
    : path_(std::move(path)), id_(id), file_(base::open_high(path_, how_to_open)) {
  const bool is_missing = !file_ && errno == ENOENT;
  if (file_ && !id_) {
    id_ = base::id_of(file_.number());
  }
  is_gone_ = is_missing || (file_ && !base::is_file(file_.number(), *id_));
  // Locks on a device such as /dev/null would be everybody's.
  if (is_gone_ || !is_plain(file_.number())) {
    file_.reset();
  } else {
    base::share_byte(file_.number(), capture::follower_lock_byte);
  }
}

bool FollowedCapture::has_ended() {
  if (is_gone_) {
    return true;
  }
  const int file = file_ ? file_.get_or_reopen(path_, how_to_open) : -1;
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) {
    return false;
  }
  // The program may have closed the last descriptor, and the lock with it.
  base::share_byte(file, capture::follower_lock_byte);
  // A writer that lost its lock in the same way has not finished its file.
  return base::is_locked(file, capture::writer_lock_byte) == false &&
         is_whole(file, static_cast<std::uint64_t>(status.st_size));
}

void FollowedCapture::leave() noexcept {
  base::share_byte(file_.get(), capture::follower_lock_byte, false);
  file_.reset();
}

std::unique_ptr<FollowedCapture> follow_starter() {
  std::string path = followed_path();
  return path.empty() ? nullptr : std::make_unique<FollowedCapture>(std::move(path));
}

}  // namespace kymo::control
