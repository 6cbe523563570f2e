#include "capture/destination.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/system.hpp"

namespace kymo::capture {
namespace {

constexpr int max_suffix = 10000;

// "dir/run.kymo" and 2 become "dir/run-2.kymo".
std::string with_suffix(const std::string& path, int suffix) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name) {
    dot = path.size();
  }
  return path.substr(0, dot) + "-" + std::to_string(suffix) + path.substr(dot);
}

}  // namespace

FileDestination::FileDestination(const std::string& path) : path_(path) {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  for (int suffix = 1; suffix <= max_suffix; ++suffix) {
    file_ = base::FileDescriptor(::open(path_.c_str(), flags, 0666));
    if (file_) {
      return;
    }
    if (errno != EEXIST) {
      break;
    }
    path_ = with_suffix(path, suffix);
  }
  throw WriteError(base::describe_errno("cannot create a capture", path_, errno) +
                   "; name a file in a directory that can be written to");
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
