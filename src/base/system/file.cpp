#include "base/system/file.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kymo::base {

void FileDescriptor::reset() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

FileId id_of(const struct stat& status) noexcept {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

FileId id_of(int fd) noexcept {
  struct stat status {};
  return fd >= 0 && ::fstat(fd, &status) == 0 ? id_of(status) : FileId();
}

FileId id_of(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? id_of(status) : FileId();
}

bool is_file(int fd, const FileId& id) noexcept {
  const FileId found = id_of(fd);
  return found.inode != 0 && found == id;
}

namespace {

#ifdef F_SETSIG

/// Timers, events and the like have one inode in common. kymo's have this signal, which a file without O_ASYNC never
/// sends.
constexpr int own_mark = SIGPWR;

bool has_inode_of_its_own(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) != 0 || (status.st_mode & S_IFMT) != 0;
}

bool mark(int fd) noexcept {
  return !has_inode_of_its_own(fd) && ::fcntl(fd, F_SETSIG, own_mark) == 0;
}

bool is_marked(int fd) noexcept {
  return ::fcntl(fd, F_GETSIG) == own_mark;
}

#else

bool mark(int /*fd*/) noexcept {
  return false;
}
bool is_marked(int /*fd*/) noexcept {
  return false;
}

#endif

}  // namespace

KnownFile::KnownFile(FileDescriptor file) : file_(std::move(file)), id_(id_of(file_.get())) {
  is_marked_ = file_ && mark(file_.get());
}

int KnownFile::get() const noexcept {
  const bool is_own = is_file(file_.get(), id_) && (!is_marked_ || is_marked(file_.get()));
  return is_own ? file_.get() : -1;
}

std::uint64_t largest_file() noexcept {
  struct rlimit limit {};
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : std::numeric_limits<std::uint64_t>::max();
}

FileDescriptor move_high(FileDescriptor file) noexcept {
  constexpr int lowest = 200;
  const int saved_errno = errno;
  const FileId id = id_of(file.get());
  for (const int from : {lowest, 3}) {
    FileDescriptor moved(file && file.get() < from ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, from) : -1);
    if (moved) {
      // A program that closes all descriptors and opens files of its own meanwhile has the low number by now.
      if (!is_file(file.get(), id)) {
        static_cast<void>(file.release());
      }
      const bool is_same = is_file(moved.get(), id);
      errno = is_same ? saved_errno : EBADF;
      return is_same ? std::move(moved) : FileDescriptor();
    }
  }
  errno = saved_errno;
  return file;
}

FileDescriptor open_high(const std::string& path, int flags, unsigned mode) noexcept {
  return move_high(FileDescriptor(::open(path.c_str(), flags | O_CLOEXEC, mode)));
}

KnownFile KnownFile::opened_again(const std::string& path, int flags) const noexcept {
  KnownFile again(open_high(path, flags | O_NOFOLLOW));
  return is_file(again.number(), id_) ? std::move(again) : KnownFile();
}

int KnownFile::get_or_reopen(const std::string& path, int flags) noexcept {
  if (get() < 0) {
    KnownFile again = opened_again(path, flags);
    if (!again) {
      return -1;
    }
    *this = std::move(again);
  }
  return file_.get();
}

bool write_fully(int fd, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    if (count == 0) {
      errno = EIO;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::int64_t read_fully_at(int fd, std::span<std::byte> bytes, std::uint64_t offset) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return -1;
    }
    if (count == 0) {
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return static_cast<std::int64_t>(done);
}

std::string resolve_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? resolved.get() : path;
}

std::string read_small_file(const std::string& path) {
  constexpr std::size_t limit = std::size_t{1} << 20U;
  std::string content;
  const KnownFile file(open_high(path, O_RDONLY));
  if (!file) {
    return content;
  }
  std::byte buffer[4096];
  while (content.size() < limit) {
    const ssize_t count = ::read(file.number(), static_cast<void*>(buffer), sizeof buffer);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    content.append(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(count));
  }
  return content;
}

namespace {

// glibc's strerror_r returns the text; other versions return whether they wrote one.
[[maybe_unused]] const char* errno_text(const char* said, const char*) {
  return said;
}
[[maybe_unused]] const char* errno_text(int, const char* written) {
  return written;
}

}  // namespace

std::string describe_errno(const std::string& what, const std::string& path, int error) {
  char text[128] = "";
  return what + ": " + path + ": " + errno_text(::strerror_r(error, text, sizeof text), text);
}

}  // namespace kymo::base
