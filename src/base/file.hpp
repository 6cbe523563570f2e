// File descriptors with an owner, and reads and writes that finish or say why not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

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

/// Which file a descriptor stands for, whatever its name.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

/// Of no file where the descriptor is not open.
[[nodiscard]] FileId id_of(int fd) noexcept;

/// Whether the descriptor still is that file: a program may have closed it, and its number may be another's.
[[nodiscard]] bool is_file(int fd, const FileId& id) noexcept;

/// Owns a descriptor beside a program that may close it and open a file of its own under the same number.
class KnownFile {
 public:
  KnownFile() = default;
  explicit KnownFile(FileDescriptor file) : file_(std::move(file)), id_(id_of(file_.get())) {}
  KnownFile(KnownFile&& other) noexcept = default;
  KnownFile& operator=(KnownFile&& other) noexcept {
    reset();
    file_ = std::move(other.file_);
    id_ = other.id_;
    return *this;
  }
  KnownFile(const KnownFile&) = delete;
  KnownFile& operator=(const KnownFile&) = delete;
  ~KnownFile() { reset(); }

  /// -1 where the number stands for another file by now, or for none. A system call. Async-signal-safe.
  [[nodiscard]] int get() const noexcept { return is_file(file_.get(), id_) ? file_.get() : -1; }
  [[nodiscard]] const FileId& id() const noexcept { return id_; }
  /// Closes the file if it is still this one.
  void reset() noexcept {
    if (get() < 0) {
      static_cast<void>(file_.release());
    }
    file_.reset();
  }

 private:
  FileDescriptor file_;
  FileId id_;
};

/// The same file under a high number: the low ones are the program's, and 0 to 2 are never ours.
[[nodiscard]] FileDescriptor move_high(FileDescriptor file) noexcept;

/// Writes all bytes; false with errno set where that fails. Retries after signals and short writes.
[[nodiscard]] bool write_fully(int fd, std::span<const std::byte> bytes) noexcept;

/// Reads up to bytes.size() bytes at an offset; the count read (short only at the end of the file), or -1 with errno
/// set.
[[nodiscard]] std::int64_t read_fully_at(int fd, std::span<std::byte> bytes, std::uint64_t offset) noexcept;

/// A small text file's content (at most 1 MiB), or an empty string where it cannot be read. For /proc and /sys.
[[nodiscard]] std::string read_small_file(const std::string& path);

/// "what: path: strerror(error)".
[[nodiscard]] std::string describe_errno(const std::string& what, const std::string& path, int error);

}  // namespace kymo::base
