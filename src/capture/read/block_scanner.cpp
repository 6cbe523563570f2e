#include "capture/read/block_scanner.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace kymo::capture {
namespace {

// Several small blocks are scanned in one read; each large one costs a short read.
constexpr std::size_t window_capacity = std::size_t{64} << 10U;
constexpr std::size_t short_read = 512;
constexpr std::size_t small_block = 4096;

}  // namespace

std::span<const std::byte> BlockScanner::view(std::uint64_t offset, std::size_t size) {
  if (offset < window_offset_ || offset + size > window_offset_ + window_size_) {
    const bool is_near = offset <= window_offset_ + window_size_ + small_block;
    window_.resize(window_capacity);
    window_offset_ = offset;
    window_size_ = source_.read_some(
        offset, std::span(window_).first(is_near ? window_capacity : std::max(size, short_read)), size);
  }
  const std::size_t begin = static_cast<std::size_t>(offset - window_offset_);
  return std::span<const std::byte>(window_).subspan(begin, std::min(size, window_size_ - begin));
}

std::optional<BlockHeader> BlockScanner::header_at(std::uint64_t offset) {
  return parse_header(view(offset, block_header_size));
}

std::optional<std::uint64_t> BlockScanner::next_header(std::uint64_t from, std::uint64_t end) {
  for (std::uint64_t at = from; at + block_header_size <= end;) {
    const auto bytes = view(at, static_cast<std::size_t>(std::min<std::uint64_t>(window_capacity, end - at)));
    if (bytes.size() < block_header_size) {
      break;
    }
    const std::size_t last = bytes.size() - block_header_size;
    std::size_t i = 0;
    while (i <= last) {
      const auto* const found = static_cast<const std::byte*>(
          std::memchr(bytes.data() + i, static_cast<int>(block_sync & 0xFFU), last - i + 1));
      if (found == nullptr) {
        i = last + 1;
        break;
      }
      i = static_cast<std::size_t>(found - bytes.data());
      if (parse_header(bytes.subspan(i))) {
        return at + i;
      }
      ++i;
    }
    at += i;
  }
  return std::nullopt;
}

void BlockScanner::start_at(std::uint64_t offset, std::uint32_t next_number) {
  offset_ = offset;
  next_number_ = next_number;
}

void BlockScanner::take(const BlockHeader& header, std::vector<BlockInfo>& blocks) {
  if (header.number != next_number_) {
    damages_.push_back({offset_, 0,
                        "block " + std::to_string(header.number) + " follows where block " +
                            std::to_string(next_number_) + " should: blocks are missing before it"});
  }
  blocks.push_back(info_of(header, offset_));
  next_number_ = header.number + 1;
  offset_ = end_of(blocks.back());
}

void BlockScanner::take_trailer(std::uint64_t end) {
  found_trailer_ = true;
  if (end - offset_ > trailer_size) {
    damages_.push_back({offset_ + trailer_size, end - offset_ - trailer_size,
                        "bytes follow the end of the capture; they were not written by its recorder"});
  }
  offset_ = end;
}

// Continues behind unreadable bytes; false if nothing readable follows.
bool BlockScanner::skip_damage(const std::optional<BlockHeader>& header, std::uint64_t end) {
  // The header and so its size are valid: a block that reaches beyond the end is being written or was torn. If bytes of
  // the file were lost instead, other headers lie within it.
  const auto found = next_header(std::max(offset_ + 1, searched_to_), end);
  if (!found) {
    searched_to_ = end > offset_ + block_header_size ? end - block_header_size + 1 : 0;
    const std::uint64_t size = end - offset_;
    torn_end_ = {offset_, size,
                 header ? "block " + std::to_string(header->number) + " is not complete: " + std::to_string(size) +
                              " of " + std::to_string(block_header_size + header->stored_size) +
                              " bytes are there, its content is missing"
                        : "the file ends in bytes that are no block; what they held is missing"};
    return false;
  }
  const std::uint32_t number_after = header_at(*found)->number;
  damages_.push_back({offset_, *found - offset_,
                      "no whole block can be recognised here; blocks " + std::to_string(next_number_) + " to " +
                          std::to_string(number_after) + " (not included) are missing"});
  next_number_ = number_after;
  offset_ = *found;
  return true;
}

bool BlockScanner::scan(std::vector<BlockInfo>& blocks, std::size_t most) {
  const std::size_t blocks_before = blocks.size();
  const std::uint64_t end = source_.size();
  torn_end_.reset();
  window_size_ = 0;  // the file may have changed
  while (offset_ < end && !found_trailer_ && blocks.size() - blocks_before < most) {
    const std::optional<BlockHeader> header = header_at(offset_);
    if (header && block_header_size + header->stored_size <= end - offset_) {
      take(*header, blocks);
    } else if (parse_trailer(view(offset_, trailer_size))) {
      take_trailer(end);
    } else if (!skip_damage(header, end)) {
      break;
    }
  }
  return blocks.size() > blocks_before;
}

}  // namespace kymo::capture
