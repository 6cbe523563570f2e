#include "exchange/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.hpp"

namespace kymo::exchange {
namespace {

/// Keeps a closed pipe from ending the process: holds SIGPIPE back on this thread and takes away one that came.
class WithoutBrokenPipeSignal {
 public:
  WithoutBrokenPipeSignal() {
    sigemptyset(&pipe_signal_);
    sigaddset(&pipe_signal_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    // One that was pending before is somebody else's.
    is_ours_ = sigismember(&pending, SIGPIPE) == 0;
    ::pthread_sigmask(SIG_BLOCK, &pipe_signal_, &before_);
  }
  WithoutBrokenPipeSignal(const WithoutBrokenPipeSignal&) = delete;
  WithoutBrokenPipeSignal& operator=(const WithoutBrokenPipeSignal&) = delete;
  ~WithoutBrokenPipeSignal() {
    const int saved_errno = errno;
    if (is_ours_ && saved_errno == EPIPE) {
      // The write raised it for this thread alone, unless the program ignores it.
      sigset_t pending;
      ::sigpending(&pending);
      int taken = 0;
      if (sigismember(&pending, SIGPIPE) == 1) {
        ::sigwait(&pipe_signal_, &taken);
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved_errno;
  }

 private:
  sigset_t pipe_signal_{};
  sigset_t before_{};
  bool is_ours_ = false;
};

/// The number in what names an open descriptor of this process.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") {
    return STDOUT_FILENO;
  }
  if (path == "/dev/stderr") {
    return STDERR_FILENO;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int number = 0;
    const std::string_view digits = path.substr(std::min(path.size(), folder.size()));
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (path.substr(0, folder.size()) == folder && parsed.ec == std::errc() && number >= 0 &&
        parsed.ptr == digits.data() + digits.size()) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

OutputFile::OutputFile(base::FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
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
    // Without O_NONBLOCK the program would wait here until somebody opens the pipe to read.
    base::FileDescriptor stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!stream) {
      throw OutputError(errno == ENXIO ? "cannot write: " + path + ": nobody reads from it yet"
                                       : base::describe_errno("cannot write", path, errno));
    }
    OutputFile output(std::move(stream), path);
    output.is_patient_ = false;
    return output;
  }
  base::NewFile made = base::create_new_file(path);
  if (!made.file) {
    throw OutputError(base::describe_errno("cannot create", made.path, errno));
  }
  return {std::move(made.file), std::move(made.path)};
}

OutputFile OutputFile::open_stream(const std::string& path) {
  base::FileDescriptor stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!stream) {
    throw OutputError(base::describe_errno("cannot write", path, errno));
  }
  return {std::move(stream), path};
}

std::optional<OutputFile> OutputFile::open_descriptor(const std::string& path) {
  const std::optional<int> number = descriptor_of(path);
  if (!number) {
    return std::nullopt;
  }
  constexpr int behind_standard_ones = 3;
  base::FileDescriptor same(::fcntl(*number, F_DUPFD_CLOEXEC, behind_standard_ones));
  if (!same) {
    throw OutputError(base::describe_errno("cannot write to", path, errno));
  }
  return OutputFile(std::move(same), path);
}

void OutputFile::flush() {
  if (buffer_.empty()) {
    return;
  }
  if (!file_) {
    buffer_.clear();
    throw OutputError("cannot write: " + name_ + ": it was closed, or given up after an error");
  }
  errno = 0;
  bool is_written = false;
  if (is_regular_) {
    is_written = base::write_fully(file_.get(), std::as_bytes(std::span(buffer_)));
  } else {
    const WithoutBrokenPipeSignal guard;
    is_written = write_stream();
  }
  if (!is_written) {
    fail(errno);
  }
  written_ += buffer_.size();
  buffer_.clear();
}

bool OutputFile::write_stream() {
  if (is_patient_) {
    return base::write_fully(file_.get(), std::as_bytes(std::span(buffer_)));
  }
  constexpr int patience_ms = 2000;
  // A pipe that poll() calls writable takes so much at once, also through a descriptor that others let block.
  constexpr std::size_t piece = 4096;
  for (std::size_t done = 0; done < buffer_.size();) {
    pollfd ready{file_.get(), POLLOUT, 0};
    const int count = ::poll(&ready, 1, patience_ms);
    if (count == 0) {
      errno = ETIMEDOUT;
    }
    const std::string_view rest = std::string_view(buffer_).substr(done, piece);
    const ssize_t written = count > 0 ? ::write(file_.get(), rest.data(), rest.size()) : -1;
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
  if (!file_) {
    return;
  }
  flush();
  // Some file systems tell only now that they have no room. Linux has closed the descriptor even where close fails.
  if (::close(file_.release()) != 0 && errno != EINTR) {
    throw OutputError(base::describe_errno("cannot write", name_, errno));
  }
}

void OutputFile::take_back(std::size_t count) {
  if (file_ && ::lseek(file_.get(), -static_cast<off_t>(count), SEEK_CUR) >= 0) {
    written_ -= count;
  }
}

void OutputFile::fail(int error) {
  if (is_regular_) {
    // The file keeps what was written whole. Where even that fails it ends in the middle of an event.
    [[maybe_unused]] const int result = ::ftruncate(file_.get(), static_cast<off_t>(written_));
  }
  file_.reset();
  buffer_.clear();
  throw OutputError(base::describe_errno("cannot write", name_, error));
}

}  // namespace kymo::exchange
