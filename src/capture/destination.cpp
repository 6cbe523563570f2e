#include "capture/destination.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "base/new_file.hpp"
#include "base/system.hpp"

namespace kymo::capture {

namespace {

/// Without a lock around it: a fork in another thread must not meet one that is held. Files beyond these stay open in
/// forked children.
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
  file_ = std::move(made.file);
  if (!file_) {
    throw WriteError(base::describe_errno("cannot create a capture", path_, errno) +
                     "; name a file in a directory that can be written to");
  }
  // Where the file system has no locks, nobody can be told that this file is being written.
  static_cast<void>(base::lock_byte(file_.get(), writer_lock_byte));
  exchange_destination(nullptr, this);
}

FileDestination::~FileDestination() {
  exchange_destination(this, nullptr);
}

void FileDestination::append(std::span<const std::byte> bytes) {
  std::uint64_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pwrite(file_.get(), bytes.data() + done, static_cast<std::size_t>(bytes.size() - done),
                                   static_cast<off_t>(size_ + done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      const int error = count < 0 ? errno : EIO;
      if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
        // Readers find the torn block and report it.
      }
      throw WriteError(base::describe_errno("cannot write on to the capture", path_, error) + "; the first " +
                       std::to_string(size_) + " bytes are whole and can be read");
    }
    done += static_cast<std::uint64_t>(count);
  }
  size_ += done;
}

void FileDestination::sync() {
  if (base::sync_data(file_.get()) != 0 && errno != EINVAL && errno != EROFS) {
    throw WriteError(base::describe_errno("cannot sync the capture", path_, errno));
  }
}

}  // namespace kymo::capture
