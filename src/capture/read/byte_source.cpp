#include "capture/read/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include <kymo/capture.hpp>

#include "base/system/file.hpp"

namespace kymo::capture {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, std::uint64_t offset) {
  const int error = errno;
  throw CaptureError(path, offset, what + ": " + std::strerror(error));
}

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    // Non-blocking, so that a pipe without a writer does not hang; pipes are refused below.
    file_ = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_) {
      fail("cannot be opened", path, 0);
    }
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) {
      fail("cannot be looked at", path, 0);
    }
    if (!S_ISREG(status.st_mode)) {
      throw CaptureError(path, 0,
                         S_ISDIR(status.st_mode) ? "is a directory, not a capture; name the files in it"
                                                 : "is not a regular file; name a capture file");
    }
  }

  [[nodiscard]] std::uint64_t size() const override {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) {
      fail("cannot be looked at", path_, 0);
    }
    return static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  }

  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::int64_t count = base::read_fully_at(file_.get(), out, offset);
    if (count < 0) {
      fail("cannot be read", path_, offset);
    }
    return static_cast<std::size_t>(count);
  }

 private:
  std::string path_;
  base::FileDescriptor file_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= bytes_.size()) {
      return 0;
    }
    const auto rest = bytes_.subspan(static_cast<std::size_t>(offset));
    const std::size_t count = std::min(rest.size(), out.size());
    std::copy_n(rest.begin(), count, out.begin());
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file_source(const std::string& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSource> make_memory_source(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

}  // namespace kymo::capture
