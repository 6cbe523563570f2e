#include "serve/live/outline.hpp"

#include <algorithm>
#include <utility>

#include "capture/format/block.hpp"
#include "capture/read/block_scanner.hpp"

namespace kymo::serve {
namespace {

constexpr std::size_t part_size = std::size_t{64} << 10U;
// Limit per search, so that a hostile file cannot cause large memory use.
constexpr std::size_t most_blocks = 1024;

}  // namespace

OutlineBody::OutlineBody(std::shared_ptr<const capture::ByteSource> source, std::uint64_t from,
                         std::uint64_t most_bytes)
    : source_(std::move(source)), most_bytes_(most_bytes), end_(from), scanned_to_(from) {}

void OutlineBody::put_number(std::uint64_t number, unsigned bytes, std::string& out) {
  for (unsigned i = 0; i < bytes; ++i) {
    out.push_back(static_cast<char>((number >> (8 * i)) & 0xFFU));
  }
  written_ += bytes;
}

void OutlineBody::start_piece(std::uint64_t offset, std::uint64_t size, std::string& out) {
  put_number(offset, 8, out);
  put_number(size, 4, out);
  copy_from_ = offset;
  copy_to_ = offset + size;
  written_ += size;
}

// Copies the rest of a piece, up to a size. Returns whether all of it was copied.
bool OutlineBody::copy(std::size_t most, std::string& out) {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(copy_to_ - copy_from_, most));
  const std::size_t start = out.size();
  out.resize(start + size);
  const auto target = std::as_writable_bytes(std::span(out)).subspan(start);
  if (size != 0 && source_->read(copy_from_, target) != size) {
    throw CaptureError("the capture", copy_from_, "became shorter while it was read");
  }
  copy_from_ += size;
  return copy_from_ == copy_to_;
}

// Searches for blocks after those taken. Returns whether there are any, or a trailer.
bool OutlineBody::find_blocks() {
  blocks_.clear();
  next_block_ = 0;
  capture::BlockScanner scanner(*source_);
  scanner.start_at(std::max<std::uint64_t>(scanned_to_, capture::preamble_size), 0);
  scanner.scan(blocks_, most_blocks);
  has_trailer_ = scanner.found_trailer();
  scanned_to_ = blocks_.empty() ? scanned_to_ : capture::end_of(blocks_.back());
  return !blocks_.empty() || has_trailer_;
}

// Starts a block's piece unless that would make the outline too long.
bool OutlineBody::take_block(const BlockInfo& block, std::string& out) {
  const bool is_events = block.kind == BlockKind::events;
  const std::uint64_t size = capture::block_header_size + (is_events ? 0 : block.stored_bytes);
  if (written_ != 0 && written_ + size > most_bytes_) {
    return false;
  }
  start_piece(block.offset, size, out);
  end_ = capture::end_of(block);
  return true;
}

Body::Step OutlineBody::next(std::string& out) {
  const std::size_t start = out.size();
  const std::uint64_t file_size = source_->size();
  if (end_ == 0 && written_ == 0 && file_size >= capture::preamble_size) {
    start_piece(0, capture::preamble_size, out);
    end_ = scanned_to_ = capture::preamble_size;
  }
  while (!is_complete_ && out.size() - start < part_size) {
    if (!copy(part_size, out)) {
      continue;
    }
    if (next_block_ < blocks_.size()) {
      is_complete_ = !take_block(blocks_[next_block_++], out);
    } else if (has_trailer_) {
      // It follows the last block; anything after it is not part of the capture.
      start_piece(std::max<std::uint64_t>(scanned_to_, capture::preamble_size), capture::trailer_size, out);
      copy(capture::trailer_size, out);
      end_ = file_size;
      is_complete_ = true;
    } else {
      is_complete_ = end_ < capture::preamble_size || !find_blocks();
    }
    if (is_complete_) {
      put_number(end_, 8, out);
      put_number(0, 4, out);
    }
  }
  return is_complete_ ? Step::done : Step::more;
}

}  // namespace kymo::serve
