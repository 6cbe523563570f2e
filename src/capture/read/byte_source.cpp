#include "capture/read/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include "capture/format/block.hpp"

namespace kymo {

CaptureError::CaptureError(std::string path, std::uint64_t offset, const std::string& what)
    : std::runtime_error(path + ": " + what + (offset == 0 ? "" : " (at byte " + std::to_string(offset) + ")")),
      path_(std::move(path)),
      offset_(offset) {}

CaptureError::~CaptureError() = default;

}  // namespace kymo

namespace kymo::capture {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, std::uint64_t offset) {
  const int error = errno;
  throw CaptureError(path, offset, what + ": " + std::strerror(error));
}

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

FileSource::FileSource(const std::string& path) : path_(path) {
  // Non-blocking, so that a pipe without a writer does not hang; pipes are refused below.
  file_ = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
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

std::uint64_t FileSource::size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    fail("cannot be looked at", path_, 0);
  }
  return static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
}

std::size_t FileSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::int64_t count = base::read_fully_at(file_.get(), out, offset);
  if (count < 0) {
    fail("cannot be read", path_, offset);
  }
  return static_cast<std::size_t>(count);
}

std::unique_ptr<ByteSource> make_memory_source(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

void require_capture(const ByteSource& source, const std::string& path) {
  std::array<std::byte, preamble_size> bytes{};
  const std::size_t count = source.read(0, bytes);
  if (count == 0) {
    throw CaptureError(path, 0, "is empty: nothing was recorded into it");
  }
  const auto version = parse_preamble(std::span(bytes).first(count));
  if (!version) {
    throw CaptureError(path, 0, "is not a kymo capture: its first bytes are others");
  }
  if (*version != format_version) {
    throw CaptureError(path, 8,
                       "is a capture of format version " + std::to_string(*version) + "; this kymo reads version " +
                           std::to_string(format_version) + ": use the kymo that wrote it, or a newer one");
  }
}

}  // namespace kymo::capture
