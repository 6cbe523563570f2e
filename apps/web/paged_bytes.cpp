// Pages and pieces of a remote capture.
#include "paged_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kymo::web {

namespace {

/// Beyond this, JavaScript numbers cannot address single bytes.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 53U;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

class PagedSource final : public capture::ByteSource {
 public:
  explicit PagedSource(std::shared_ptr<const PagedBytes> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_->size(); }
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override {
    return bytes_->read(offset, out);
  }
  [[nodiscard]] std::size_t read_some(std::uint64_t offset, std::span<std::byte> out,
                                      std::size_t least) const override {
    return bytes_->read_some(offset, out, least);
  }

 private:
  std::shared_ptr<const PagedBytes> bytes_;
};

}  // namespace

PagedBytes::PagedBytes(std::string name, Fetch fetch, const PageOptions& options)
    : name_(std::move(name)), fetch_(std::move(fetch)), options_(options) {}

void PagedBytes::set_size(std::uint64_t size) {
  if (size > most_bytes) {
    throw CaptureError(name_, 0, "is said to be larger than any file");
  }
  if (size < size_) {
    throw CaptureError(name_, size, "became shorter while it was read; open it again");
  }
  size_ = size;
}

std::uint64_t PagedBytes::add_outline(std::span<const std::byte> bytes) {
  constexpr std::size_t head_size = 12;
  std::vector<Piece> pieces;
  std::size_t taken = outline_bytes_;
  std::uint64_t behind = outline_.empty() ? 0 : outline_.back().offset + outline_.back().bytes.size();
  for (;;) {
    if (bytes.size() < head_size) {
      throw CaptureError(name_, behind, "the server's outline of it breaks off");
    }
    const std::uint64_t offset = little_endian(bytes.first(8));
    const auto size = static_cast<std::size_t>(little_endian(bytes.subspan(8, 4)));
    bytes = bytes.subspan(head_size);
    if (offset < behind || offset > most_bytes || size > bytes.size() || (size == 0 && !bytes.empty())) {
      throw CaptureError(name_, behind, "the server's outline of it is not one");
    }
    if (size == 0) {
      std::move(pieces.begin(), pieces.end(), std::back_inserter(outline_));
      outline_bytes_ = taken;
      return offset;
    }
    behind = offset + size;
    if (taken + size <= options_.outline_bytes) {
      taken += size;
      pieces.push_back({offset, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}});
    }
    bytes = bytes.subspan(size);
  }
}

const PagedBytes::Piece* PagedBytes::piece_behind(std::uint64_t offset) const {
  const auto found = std::upper_bound(outline_.begin(), outline_.end(), offset,
                                      [](std::uint64_t at, const Piece& piece) { return at < piece.offset; });
  return found == outline_.end() ? nullptr : &*found;
}

std::span<const std::byte> PagedBytes::at_hand(std::uint64_t offset) const {
  if (const Piece* const next = piece_behind(offset); next != outline_.data() && !outline_.empty()) {
    const Piece& piece = next == nullptr ? outline_.back() : *(next - 1);
    if (offset - piece.offset < piece.bytes.size()) {
      return std::span(piece.bytes).subspan(static_cast<std::size_t>(offset - piece.offset));
    }
  }
  const auto found = page_places_.find(offset / options_.page_bytes);
  const auto within = static_cast<std::size_t>(offset % options_.page_bytes);
  if (found == page_places_.end() || within >= found->second->bytes.size()) {
    return {};
  }
  pages_.splice(pages_.begin(), pages_, found->second);
  return std::span(found->second->bytes).subspan(within);
}

void PagedBytes::keep(std::uint64_t number, std::span<const std::byte> bytes) const {
  if (const auto known = page_places_.find(number); known != page_places_.end()) {
    pages_.erase(known->second);
    page_places_.erase(known);
  }
  pages_.push_front({number, {bytes.begin(), bytes.end()}});
  page_places_[number] = pages_.begin();
  while (pages_.size() > 1 && pages_.size() * options_.page_bytes > options_.cache_bytes) {
    page_places_.erase(pages_.back().number);
    pages_.pop_back();
  }
}

/// Fetches the page at an offset, and as many of the next ones as are wanted and fit the cache.
void PagedBytes::fetch_from(std::uint64_t offset, std::size_t wanted) const {
  const std::uint64_t first = offset / options_.page_bytes;
  std::uint64_t end = (offset + wanted - 1) / options_.page_bytes + 1;
  // Sequential reads fetch fewer and larger parts, because each fetch is a round trip.
  ahead_ = first == expected_page_ ? std::min(std::max(ahead_, std::size_t{1}) * 2, options_.most_ahead) : 0;
  // Limited to what stays in the cache until it is read.
  const std::uint64_t most = std::max<std::uint64_t>(options_.cache_bytes / options_.page_bytes / 2, 1);
  end = std::min(std::max(end, first + ahead_), first + most);
  const std::uint64_t from = first * options_.page_bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size_, end * options_.page_bytes) - from));
  const std::size_t count = fetch_(from, bytes);
  for (std::size_t at = 0; at < count; at += options_.page_bytes) {
    keep((from + at) / options_.page_bytes,
         std::span(bytes).subspan(at, std::min(options_.page_bytes, std::min(count, bytes.size()) - at)));
  }
  expected_page_ = end;
}

std::size_t PagedBytes::read(std::uint64_t offset, std::span<std::byte> out) const {
  return read_some(offset, out, out.size());
}

std::size_t PagedBytes::read_some(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const {
  if (offset >= size_) {
    return 0;
  }
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
  std::size_t done = 0;
  bool has_fetched = false;
  while (done < out.size()) {
    auto found = at_hand(offset + done);
    if (found.empty()) {
      if (done >= least || has_fetched) {
        break;  // enough, or the file ends early
      }
      std::uint64_t end = offset + out.size();
      if (const Piece* const next = piece_behind(offset + done); next != nullptr) {
        end = std::min(end, next->offset);
      }
      fetch_from(offset + done, static_cast<std::size_t>(end - offset) - done);
      has_fetched = true;
      continue;
    }
    has_fetched = false;
    found = found.first(std::min(found.size(), out.size() - done));
    std::copy(found.begin(), found.end(), out.begin() + static_cast<std::ptrdiff_t>(done));
    done += found.size();
  }
  return done;
}

std::unique_ptr<capture::ByteSource> make_source(std::shared_ptr<const PagedBytes> bytes) {
  return std::make_unique<PagedSource>(std::move(bytes));
}

}  // namespace kymo::web
