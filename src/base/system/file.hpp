// Owned file descriptors, and reads and writes that complete or report the reason.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

struct stat;

namespace kymo::base {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

/// Identity of an open file, independent of its name.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of a defaulted comparison for a pointer
  friend auto operator<=>(const FileId&, const FileId&) = default;
};

/// No file if the descriptor is not open, or nothing is at the path.
[[nodiscard]] FileId id_of(int fd) noexcept;
[[nodiscard]] FileId id_of(const std::string& path) noexcept;
[[nodiscard]] FileId id_of(const struct stat& status) noexcept;

/// Whether the descriptor still refers to that file: the program may have closed it and reused the number.
[[nodiscard]] bool is_file(int fd, const FileId& id) noexcept;

/// Owns a descriptor that the program may close and replace by a file of its own under the same number.
class KnownFile {
 public:
  KnownFile() = default;
  explicit KnownFile(FileDescriptor file);
  KnownFile(KnownFile&& other) noexcept = default;
  KnownFile& operator=(KnownFile&& other) noexcept {
    // The program may have closed this one, and the other one got its number.
    if (number() == other.number()) {
      static_cast<void>(file_.release());
    } else {
      reset();
    }
    file_ = std::move(other.file_);
    id_ = other.id_;
    is_marked_ = other.is_marked_;
    return *this;
  }
  KnownFile(const KnownFile&) = delete;
  KnownFile& operator=(const KnownFile&) = delete;
  ~KnownFile() { reset(); }

  /// -1 if the number refers to another file or to none. One system call, two for a file without an inode of its own.
  /// Async-signal-safe.
  [[nodiscard]] int get() const noexcept;
  /// The number without a look: for calls that change nothing of another file. -1 if none was opened.
  [[nodiscard]] int number() const noexcept { return file_.get(); }
  /// Whether a file was opened. The program may have closed it since.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(file_); }
  /// The same file opened anew by its name; none if that belongs to another file by now. Async-signal-safe.
  [[nodiscard]] KnownFile opened_again(const std::string& path, int flags) const noexcept;
  /// get(), but opens the file again if the program has closed it; -1 if that fails.
  [[nodiscard]] int get_or_reopen(const std::string& path, int flags) noexcept;
  /// Gives up ownership of the descriptor; -1 like get().
  [[nodiscard]] int release() noexcept {
    const int file = get();
    static_cast<void>(file_.release());
    return file;
  }
  /// Closes the file if the descriptor still refers to it.
  void reset() noexcept { FileDescriptor(release()).reset(); }

 private:
  FileDescriptor file_;
  FileId id_;
  bool is_marked_ = false;
};

/// The largest file in bytes that this process may write now (RLIMIT_FSIZE); the greatest number if unlimited. A write
/// beyond it raises SIGXFSZ.
[[nodiscard]] std::uint64_t largest_file() noexcept;

/// Moves the file to a high descriptor number: low numbers belong to the program, and kymo never uses 0 to 2. None, and
/// EBADF, if the program closed the file meanwhile.
[[nodiscard]] FileDescriptor move_high(FileDescriptor file) noexcept;

/// Opens a file that stays open beside the program's own: close-on-exec, with a high number. On failure none, and errno
/// is set.
[[nodiscard]] FileDescriptor open_high(const std::string& path, int flags, unsigned mode = 0) noexcept;

/// Writes all bytes; on failure returns false and sets errno. Retries after signals and short writes.
[[nodiscard]] bool write_fully(int fd, std::span<const std::byte> bytes) noexcept;

/// Reads up to bytes.size() bytes at an offset. Returns the count read (short only at the end of the file), or -1 with
/// errno set.
[[nodiscard]] std::int64_t read_fully_at(int fd, std::span<std::byte> bytes, std::uint64_t offset) noexcept;

/// Reads all bytes at an offset; false if the file ends before, or cannot be read.
[[nodiscard]] inline bool read_exactly_at(int fd, std::span<std::byte> bytes, std::uint64_t offset) noexcept {
  return read_fully_at(fd, bytes, offset) == static_cast<std::int64_t>(bytes.size());
}
/// The same for an object's bytes. Objects with atomics must not be shared yet.
template <typename Object>
[[nodiscard]] bool read_object_at(int fd, Object& object, std::uint64_t offset) noexcept {
  return read_exactly_at(fd, {reinterpret_cast<std::byte*>(&object), sizeof object}, offset);
}

/// The absolute path behind all links; the path itself if nothing is there.
[[nodiscard]] std::string resolve_links(const std::string& path);

/// Content of a small text file (at most 1 MiB), or an empty string if it cannot be read. For /proc and /sys.
[[nodiscard]] std::string read_small_file(const std::string& path);

/// "what: path: strerror(error)".
[[nodiscard]] std::string describe_errno(const std::string& what, const std::string& path, int error);

}  // namespace kymo::base
