#include "serve/live/capture_head.hpp"

#include "capture/format/block.hpp"
#include "capture/recover/spool_file.hpp"

namespace kymo::serve {
namespace {

// The recorder's head is a few kilobytes. A larger one is ignored.
constexpr std::uint32_t most_head_bytes = std::uint32_t{1} << 20U;

}  // namespace

CaptureHead::CaptureHead(const capture::FileSource& file, const std::string& path) {
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

}  // namespace kymo::serve
