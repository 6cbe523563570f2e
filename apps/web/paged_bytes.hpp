// The bytes of a remote capture: on a server, or in a file that the user gave to the browser. Fetched bytes are cached
// in pages; the outline, which a server sends ahead, is kept completely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/read/byte_source.hpp"

namespace kymo::web {

/// Fetches the bytes at an offset into `out` and waits for them. Returns their number, smaller only at the end. Throws
/// CaptureError.
using Fetch = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

struct PageOptions {
  std::size_t page_bytes = std::size_t{64} << 10U;
  std::size_t cache_bytes = std::size_t{64} << 20U;     ///< for pages
  std::size_t outline_bytes = std::size_t{256} << 20U;  ///< for the outline; beyond it, bytes are fetched on demand
  std::size_t most_ahead = 16;                          ///< pages fetched at once during sequential reads
};

/// For one thread.
class PagedBytes {
 public:
  PagedBytes(std::string name, Fetch fetch, const PageOptions& options = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The readable size. Grows with the capture.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Throws CaptureError if the size would shrink.
  void set_size(std::uint64_t size);

  /// Takes a part of the outline: pieces [u64 offset][u32 size][bytes], by ascending offset, and finally [u64 end][u32
  /// 0]. Returns the end. Throws CaptureError if the format differs, and takes nothing then.
  std::uint64_t add_outline(std::span<const std::byte> bytes);

  /// Like ByteSource::read().
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] std::size_t read_some(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  struct Page {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;  // less than a page at the end of the file
  };
  using Pages = std::list<Page>;

  [[nodiscard]] std::span<const std::byte> at_hand(std::uint64_t offset) const;
  [[nodiscard]] const Piece* piece_behind(std::uint64_t offset) const;
  void fetch_from(std::uint64_t offset, std::size_t wanted) const;
  void keep(std::uint64_t number, std::span<const std::byte> bytes) const;

  std::string name_;
  Fetch fetch_;
  PageOptions options_;
  std::uint64_t size_ = 0;
  std::vector<Piece> outline_;  // by ascending offset
  std::size_t outline_bytes_ = 0;
  // A cache, which does not affect the result of reads.
  mutable Pages pages_;  // most recently used first
  mutable std::unordered_map<std::uint64_t, Pages::iterator> page_places_;
  mutable std::uint64_t expected_page_ = 0;  // the one after those fetched last
  mutable std::size_t ahead_ = 0;
};

/// The source for a CaptureReader.
[[nodiscard]] std::unique_ptr<capture::ByteSource> make_source(std::shared_ptr<const PagedBytes> bytes);

}  // namespace kymo::web
