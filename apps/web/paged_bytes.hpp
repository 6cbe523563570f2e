// The bytes of a capture that lies elsewhere: on a server, or in a file that the user handed to the browser. What was
// fetched is kept in pages, as far as there is room; the outline, which a server sends ahead, is kept whole.
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

#include "capture/byte_source.hpp"

namespace kymo::web {

/// Fills `out` with the bytes at an offset and waits for them; how many came (fewer only at the end). CaptureError.
using Fetch = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

struct PageOptions {
  std::size_t page_bytes = std::size_t{64} << 10U;
  std::size_t cache_bytes = std::size_t{64} << 20U;     ///< of pages
  std::size_t outline_bytes = std::size_t{256} << 20U;  ///< of the outline; what is beyond is fetched when it is needed
  std::size_t most_ahead = 16;                          ///< pages that are fetched at once where a file is read through
};

/// For one thread.
class PagedBytes {
 public:
  PagedBytes(std::string name, Fetch fetch, const PageOptions& options = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  /// How much of it there is to be read; grows where the capture does.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// CaptureError where it would become shorter than it was.
  void set_size(std::uint64_t size);

  /// Takes a part of the outline: pieces [u64 offset][u32 size][bytes], by ascending offset, and at last [u64 end][u32
  /// 0]. Returns the end. CaptureError where it is not made like that; nothing of it is taken then.
  std::uint64_t add_outline(std::span<const std::byte> bytes);

  /// As ByteSource's.
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] std::size_t read_some(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  struct Page {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;  // fewer than a page at the end of the file
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
  // What was read before changes nothing of what is read.
  mutable Pages pages_;  // the one that was used last first
  mutable std::unordered_map<std::uint64_t, Pages::iterator> page_places_;
  mutable std::uint64_t expected_page_ = 0;  // the one behind those that were fetched last
  mutable std::size_t ahead_ = 0;
};

/// What a CaptureReader reads them by.
[[nodiscard]] std::unique_ptr<capture::ByteSource> make_source(std::shared_ptr<const PagedBytes> bytes);

}  // namespace kymo::web
