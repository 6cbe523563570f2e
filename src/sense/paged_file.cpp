#include "sense/paged_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kymo::sense {

PagedFile::PagedFile(std::string path, std::size_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes), buffer_(std::min<std::size_t>(most_bytes, 8192)) {}

std::string_view PagedFile::read() {
  error_ = 0;
  if (!file_) {
    file_ = base::FileDescriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!file_) {
      error_ = errno;
      return {};
    }
  }
  std::size_t size = 0;
  while (true) {
    if (size == buffer_.size()) {
      if (size == most_bytes_) {
        break;
      }
      buffer_.resize(std::min(size * 2, most_bytes_));
    }
    const ssize_t piece = ::pread(file_.get(), buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (piece < 0 && errno == EINTR) {
      continue;
    }
    if (piece < 0) {
      error_ = errno;
      file_.reset();
      return {};
    }
    if (piece == 0) {
      break;
    }
    size += static_cast<std::size_t>(piece);
  }
  if (size == 0) {
    error_ = ENODATA;
    file_.reset();
  }
  return {buffer_.data(), size};
}

std::string PagedFile::describe_error() const {
  return std::string(std::strerror(error_)) + ": " + path_;
}

}  // namespace kymo::sense
