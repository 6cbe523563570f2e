#include "capture/write/destination.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/system/new_file.hpp"
#include "base/system/system.hpp"

namespace kymo::capture {

namespace {

constexpr std::uint64_t most_kept_room = 128 * 1024;
constexpr std::uint64_t reserve_step = 256 * 1024;
/// Times that a file is opened again for one block.
constexpr int most_reopened = 16;

/// Lock-free, because a fork in another thread must not find a held lock. More files than these stay open in forked
/// children.
std::array<std::atomic<FileDestination*>, 16> open_destinations;

void exchange_destination(FileDestination* from, FileDestination* to) noexcept {
  for (std::atomic<FileDestination*>& place : open_destinations) {
    FileDestination* expected = from;
    if (place.load(std::memory_order_relaxed) == from && place.compare_exchange_strong(expected, to)) {
      return;
    }
  }
}

}  // namespace

void FileDestination::close_in_child() noexcept {
  for (std::atomic<FileDestination*>& place : open_destinations) {
    if (FileDestination* const destination = place.exchange(nullptr)) {
      destination->file_.reset();
    }
  }
}

FileDestination::FileDestination(const std::string& path) {
  static const int watches_forks = ::pthread_atfork(nullptr, nullptr, close_in_child);
  static_cast<void>(watches_forks);
  base::NewFile made = base::create_new_file(path);
  path_ = std::move(made.path);
  if (!made.file) {
    throw WriteError(base::describe_errno("cannot create a capture", path_, errno) +
                     "; name a file in a directory that can be written to");
  }
  file_ = base::KnownFile(std::move(made.file));
  absolute_path_ = base::resolve_links(path_);
  // On a file system without locks, others cannot see that this file is being written.
  static_cast<void>(base::lock_byte(file_.get(), writer_lock_byte));
  exchange_destination(nullptr, this);
}

FileDestination::~FileDestination() {
  exchange_destination(this, nullptr);
}

int FileDestination::descriptor() {
  if (const int file = file_.get(); file >= 0) {
    return file;
  }
  const int file = file_.get_or_reopen(absolute_path_, O_RDWR);
  if (file < 0) {
    throw WriteError("the program closed the capture " + path_ + ", and it has that name no longer; the first " +
                     std::to_string(size_) + " bytes are whole and can be read");
  }
  static_cast<void>(base::lock_byte(file, writer_lock_byte));
  return file;
}

/// Reserves room behind `end` for the closing words. 0, or the errno of the failure.
int FileDestination::make_room(std::uint64_t end) noexcept {
  if (is_closing_) {
    return 0;
  }
  // The program may change its file size limit at any time.
  const std::uint64_t largest = base::largest_file();
  end += std::min<std::uint64_t>(most_kept_room, largest / 4);
  if (end > largest) {
    return EFBIG;
  }
  if (can_reserve_ && end > reserved_) {
    for (const std::uint64_t ahead : {reserve_step, std::uint64_t{0}}) {
      const int error = base::reserve_space(file_.get(), size_, end + ahead - size_);
      if (error == 0) {
        reserved_ = end + ahead;
        return 0;
      }
      if (error == EBADF) {
        return 0;  // closed meanwhile: the write that follows opens it again
      }
      if (error != ENOSPC && error != EDQUOT) {
        can_reserve_ = false;
        return 0;
      }
    }
    return ENOSPC;
  }
  return 0;
}

void FileDestination::fail(int error) const {
  throw WriteError(base::describe_errno("cannot write on to the capture", path_, error) + "; the first " +
                   std::to_string(size_) + " bytes are whole and can be read");
}

void FileDestination::end() {
  if (reserved_ > size_ && ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
    // The reserved room ends with the file.
  }
}

void FileDestination::append(std::span<const std::byte> bytes) {
  int file = descriptor();
  if (const int error = make_room(size_ + bytes.size())) {
    fail(error);
  }
  std::uint64_t done = 0;
  int reopened = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pwrite(file, bytes.data() + done, static_cast<std::size_t>(bytes.size() - done),
                                   static_cast<off_t>(size_ + done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    // The program closes descriptors at this moment, one after the other.
    if (count < 0 && errno == EBADF && reopened++ < most_reopened) {
      file = descriptor();
      continue;
    }
    if (count <= 0) {
      const int error = count < 0 ? errno : EIO;
      if (::ftruncate(file, static_cast<off_t>(size_)) != 0) {
        // Readers find the torn block and report it.
      }
      reserved_ = size_;
      fail(error);
    }
    done += static_cast<std::uint64_t>(count);
  }
  size_ += done;
}

void FileDestination::sync() {
  if (base::sync_data(descriptor()) != 0 && errno != EINVAL && errno != EROFS) {
    throw WriteError(base::describe_errno("cannot sync the capture", path_, errno));
  }
}

}  // namespace kymo::capture
