#include "exchange/output_file.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

OutputFile::OutputFile(base::FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
  struct stat status {};
  is_regular_ = ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
}

OutputFile OutputFile::create(const std::string& path) {
  base::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
  if (!file) {
    throw OutputError(base::describe_errno("cannot create", path, errno));
  }
  OutputFile output(std::move(file), path);
  if (output.is_regular_) {
    // Two processes that inherited one path would overwrite each other's text. Where locks do not work, nobody is kept
    // out.
    if (::flock(output.file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw OutputError("cannot write: " + path + ": another recorder is writing to it");
    }
    if (::ftruncate(output.file_.get(), 0) != 0) {
      throw OutputError(base::describe_errno("cannot empty", path, errno));
    }
  }
  return output;
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
    is_written = base::write_fully(file_.get(), std::as_bytes(std::span(buffer_)));
  }
  if (!is_written) {
    fail(errno);
  }
  written_ += buffer_.size();
  buffer_.clear();
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
