#include "serve/live/capture_head.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include "capture/format/block.hpp"
#include "capture/recover/spool_file.hpp"

namespace kymo::serve {
namespace {

// The recorder's head is a few kilobytes. A larger one is ignored.
constexpr std::uint32_t most_head_bytes = std::uint32_t{1} << 20U;

std::string reason() {
  return std::strerror(errno);
}

}  // namespace

CaptureFile::CaptureFile(const std::string& path) : path_(path) {
  // Non-blocking, because opening a pipe without a writer would block; it is refused below.
  file_ = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) {
    throw CaptureError(path, 0, "cannot be opened: " + reason());
  }
  if (!S_ISREG(status.st_mode)) {
    throw CaptureError(path, 0, "is not a regular file; name a capture file or a directory of them");
  }
  identity_ = {status.st_dev, status.st_ino};
}

std::uint64_t CaptureFile::size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    throw CaptureError(path_, 0, "cannot be looked at: " + reason());
  }
  return static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
}

std::size_t CaptureFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::int64_t count = base::read_fully_at(file_.get(), out, offset);
  if (count < 0) {
    throw CaptureError(path_, offset, "cannot be read: " + reason());
  }
  return static_cast<std::size_t>(count);
}

CaptureHead::CaptureHead(const CaptureFile& file, const std::string& path) {
  std::vector<std::byte> bytes(capture::preamble_size + capture::block_header_size);
  bytes.resize(file.read(0, bytes));
  if (bytes.size() > capture::preamble_size) {
    const auto header = capture::parse_header(std::span<const std::byte>(bytes).subspan(capture::preamble_size));
    if (header && header->kind == BlockKind::header && header->stored_size <= most_head_bytes) {
      const std::size_t start = bytes.size();
      bytes.resize(start + header->stored_size);
      bytes.resize(start + file.read(start, std::span(bytes).subspan(start)));
    }
  }
  bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  reader_ = std::make_shared<const CaptureReader>(bytes_->data(), bytes_->size(), path);
}

bool CaptureHead::has_living_owner() const {
  return reader_ != nullptr && capture::is_being_written(*reader_);
}

bool ends_in_trailer(const CaptureFile& file, std::uint64_t size) {
  std::array<std::byte, capture::trailer_size> trailer{};
  return size >= capture::preamble_size + trailer.size() &&
         file.read(size - trailer.size(), trailer) == trailer.size() && capture::parse_trailer(trailer);
}

}  // namespace kymo::serve
