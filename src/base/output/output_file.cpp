#include "base/output/output_file.hpp"

#include <cerrno>
#include <span>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/new_file.hpp"
#include "base/system/write_signals.hpp"

namespace kymo::base {
OutputFile::OutputFile(FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
  struct stat status {};
  is_regular_ = ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
}

OutputFile OutputFile::create(const std::string& path) {
  if (std::optional<OutputFile> open_already = open_descriptor(path)) {
    open_already->is_patient_ = false;
    return *std::move(open_already);
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) {
    // Without O_NONBLOCK the program would block here until somebody opens the pipe for reading.
    FileDescriptor stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!stream) {
      throw OutputError(errno == ENXIO ? "cannot write: " + path + ": nobody reads from it yet"
                                       : describe_errno("cannot write", path, errno));
    }
    OutputFile output(std::move(stream), path);
    output.is_patient_ = false;
    return output;
  }
  NewFile made = create_new_file(path);
  if (!made.file) {
    throw OutputError(describe_errno("cannot create", made.path, errno));
  }
  OutputFile output(std::move(made.file), std::move(made.path));
  output.absolute_path_ = resolve_links(output.name_);
  return output;
}

OutputFile OutputFile::open_stream(const std::string& path) {
  FileDescriptor stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!stream) {
    throw OutputError(describe_errno("cannot write", path, errno));
  }
  return {std::move(stream), path};
}

std::optional<OutputFile> OutputFile::open_descriptor(const std::string& path) {
  const std::optional<int> number = descriptor_of(path);
  if (!number) {
    return std::nullopt;
  }
  constexpr int behind_standard_ones = 3;
  FileDescriptor same(::fcntl(*number, F_DUPFD_CLOEXEC, behind_standard_ones));
  if (!same) {
    throw OutputError(describe_errno("cannot write to", path, errno));
  }
  return OutputFile(std::move(same), path);
}

int OutputFile::descriptor() {
  const int file = file_.get();
  if (file >= 0 || absolute_path_.empty()) {
    return file;
  }
  const int again = file_.get_or_reopen(absolute_path_, O_WRONLY);
  return again >= 0 && ::lseek(again, static_cast<off_t>(written_), SEEK_SET) >= 0 ? again : -1;
}

void OutputFile::flush() {
  if (buffer_.empty()) {
    return;
  }
  const int file = is_open_ ? descriptor() : -1;
  if (file < 0) {
    is_open_ = false;
    buffer_.clear();
    throw OutputError("cannot write: " + name_ + ": it was closed, or given up after an error");
  }
  errno = 0;
  bool is_written = false;
  if (is_regular_) {
    is_written = write_fully(file, std::as_bytes(std::span(buffer_)));
  } else {
    const WithoutWriteSignals guard;
    is_written = write_stream(file);
  }
  if (!is_written) {
    fail(errno);
  }
  written_ += buffer_.size();
  buffer_.clear();
}

bool OutputFile::write_stream(int file) {
  if (is_patient_) {
    return write_fully(file, std::as_bytes(std::span(buffer_)));
  }
  constexpr int patience_ms = 2000;
  // If poll() reports a pipe as writable, it takes this much at once, even through a descriptor in blocking mode.
  constexpr std::size_t piece = 4096;
  for (std::size_t done = 0; done < buffer_.size();) {
    pollfd ready{file, POLLOUT, 0};
    const int count = ::poll(&ready, 1, patience_ms);
    if (count == 0) {
      errno = ETIMEDOUT;
    }
    const std::string_view rest = std::string_view(buffer_).substr(done, piece);
    const ssize_t written = count > 0 ? ::write(file, rest.data(), rest.size()) : -1;
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written == 0 || (errno != EINTR && errno != EAGAIN)) {
      errno = written == 0 ? EIO : errno;
      return false;
    }
  }
  return true;
}

void OutputFile::close() {
  if (!is_open_) {
    return;
  }
  flush();
  is_open_ = false;
  // Some file systems report a lack of space only here. Linux has closed the descriptor even if close fails.
  if (const int file = file_.release(); file >= 0 && ::close(file) != 0 && errno != EINTR) {
    throw OutputError(describe_errno("cannot write", name_, errno));
  }
}

void OutputFile::take_back(std::size_t count) {
  if (const int file = is_open_ ? descriptor() : -1;
      file >= 0 && ::lseek(file, -static_cast<off_t>(count), SEEK_CUR) >= 0) {
    written_ -= count;
  }
}

void OutputFile::fail(int error) {
  if (is_regular_) {
    // The file keeps only complete pieces. If truncating fails too, it ends in the middle of an event.
    [[maybe_unused]] const int result = ::ftruncate(file_.get(), static_cast<off_t>(written_));
  }
  is_open_ = false;
  file_.reset();
  buffer_.clear();
  throw OutputError(describe_errno("cannot write", name_, error));
}

}  // namespace kymo::base
