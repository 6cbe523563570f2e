#include "sense/common/source_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "sense/common/parse.hpp"

namespace kymo::sense {

SourceFile::SourceFile(std::string path, std::size_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes), buffer_(most_bytes) {}

SourceFile SourceFile::of_table(std::string path, std::size_t most_bytes, std::size_t longest_line) {
  constexpr std::size_t first_bytes = 8192;
  SourceFile file(std::move(path), std::min(first_bytes, most_bytes));
  file.most_bytes_ = most_bytes;
  file.longest_line_ = longest_line;
  file.is_table_ = true;
  return file;
}

/// Reads the file once. Returns -1 with errno on error.
std::ptrdiff_t SourceFile::read_open_file() {
  ssize_t size = 0;
  do {
    size = reopens_ ? ::read(file_.number(), buffer_.data(), buffer_.size())
                    : ::pread(file_.number(), buffer_.data(), buffer_.size(), 0);
  } while (size < 0 && errno == EINTR);
  return size;
}

/// Does the same for a table, which is read in pieces.
std::ptrdiff_t SourceFile::read_table(std::size_t enough_bytes) {
  // The minimum page size. A piece ends when the next line does not fit its page, or at the end of the table.
  constexpr std::size_t page_bytes = 4096;
  const std::size_t most_bytes = std::min(most_bytes_, enough_bytes);
  std::size_t size = 0;
  while (size < most_bytes) {
    if (size == buffer_.size()) {
      buffer_.resize(std::min(size * 2, most_bytes_));
    }
    const std::size_t room = std::min(buffer_.size(), most_bytes) - size;
    const ssize_t result = ::pread(file_.number(), buffer_.data() + size, room, static_cast<off_t>(size));
    if (result < 0 && errno == EINTR) {
      continue;
    }
    if (result <= 0) {
      return result < 0 ? result : static_cast<std::ptrdiff_t>(size);
    }
    const auto piece = static_cast<std::size_t>(result);
    size += piece;
    if (longest_line_ != 0 && piece < room && piece + longest_line_ < page_bytes) {
      break;
    }
  }
  return static_cast<std::ptrdiff_t>(size);
}

std::string_view SourceFile::read(std::size_t enough_bytes) {
  error_ = 0;
  // The descriptor of a vanished file returns errors forever. The file may exist again, so try to reopen it once.
  const bool was_open = static_cast<bool>(file_);
  for (int attempt = was_open && !reopens_ ? 0 : 1; attempt < 2; ++attempt) {
    if (!file_ || reopens_ || attempt == 1) {
      file_ = base::KnownFile(base::open_high(path_, O_RDONLY | O_NOCTTY | O_NONBLOCK));
      if (!file_) {
        error_ = errno;
        return {};
      }
    }
    const std::ptrdiff_t size = is_table_ ? read_table(enough_bytes) : read_open_file();
    if (size > 0) {
      error_ = 0;
      return {buffer_.data(), static_cast<std::size_t>(size)};
    }
    error_ = size < 0 ? errno : ENODATA;
    if (error_ == EAGAIN) {
      return {};
    }
  }
  file_.reset();
  return {};
}

double SourceFile::read_number() {
  const std::string_view text = read();
  double value = std::numeric_limits<double>::quiet_NaN();
  if (!text.empty() && !parse_whole_number(text, value)) {
    error_ = EBADMSG;
  }
  return value;
}

std::string SourceFile::describe_error() const {
  return std::string(error_ == EBADMSG ? "holds no number" : std::strerror(error_)) + ": " + path_;
}

}  // namespace kymo::sense
