#include "control/followed_capture.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
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

}  // namespace

FollowedCapture::FollowedCapture(std::string path, std::uint64_t writer)
    : path_(std::move(path)), writer_(writer), file_(base::open_high(path_, how_to_open)) {
  is_gone_ = !file_ && errno == ENOENT;
}

bool FollowedCapture::has_ended() {
  if (is_gone_) {
    return true;
  }
  const int file = file_.get_or_reopen(path_, how_to_open);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      base::is_locked(file, capture::writer_lock_byte) != false) {
    return false;
  }
  // A program that closes all descriptors lost its lock, but writes on.
  return is_whole(file, static_cast<std::uint64_t>(status.st_size)) || !base::is_process(writer_);
}

std::unique_ptr<FollowedCapture> follow_starter() {
  const std::uint64_t starter = starter_process();
  const char* const path = starter != 0 ? base::trusted_variable("KYMO_FOLLOW") : nullptr;
  return path != nullptr && *path != '\0' ? std::make_unique<FollowedCapture>(path, starter) : nullptr;
}

}  // namespace kymo::control
