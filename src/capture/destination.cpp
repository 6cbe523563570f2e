#include "capture/destination.hpp"

#include <cerrno>
#include <utility>

#include <unistd.h>

#include "base/new_file.hpp"
#include "base/system.hpp"

namespace kymo::capture {

FileDestination::FileDestination(const std::string& path) {
  base::NewFile made = base::create_new_file(path);
  path_ = std::move(made.path);
  file_ = std::move(made.file);
  if (!file_) {
    throw WriteError(base::describe_errno("cannot create a capture", path_, errno) +
                     "; name a file in a directory that can be written to");
  }
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
