// The outline of a capture: everything but its events. A reader on a slow connection thus knows the whole file before
// it requests any block of events.
//
//     outline := piece*, end
//     piece   := u64 offset in the file, u32 size (not 0), size bytes of the file
//     end     := u64 offset up to which the outline covers the file, u32 0
//
// Little-endian; pieces have ascending offsets. They hold the preamble, the header of every EVENTS block, all blocks of
// other kinds unchanged, and the trailer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/read/byte_source.hpp"
#include "serve/http/answer.hpp"

namespace kymo::serve {

/// The outline of a file, or of the part after an earlier outline's end, step by step. The file may contain any
/// bytes: unrecognised parts are left out, and the outline stops at a torn end.
class OutlineBody final : public Body {
 public:
  /// `from`: 0, or an earlier outline's end. Ends before the piece that would exceed `most_bytes`; a first piece is
  /// written even if larger.
  OutlineBody(std::shared_ptr<const capture::ByteSource> source, std::uint64_t from, std::uint64_t most_bytes);

  /// Appends 64 KiB or slightly more, less at the end. Throws CaptureError if the file cannot be read or was truncated.
  Step next(std::string& out) override;

 private:
  void put_number(std::uint64_t number, unsigned bytes, std::string& out);
  void start_piece(std::uint64_t offset, std::uint64_t size, std::string& out);
  bool copy(std::size_t most, std::string& out);
  bool find_blocks();
  bool take_block(const BlockInfo& block, std::string& out);

  std::shared_ptr<const capture::ByteSource> source_;
  std::uint64_t most_bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t end_;            // the pieces so far cover the file up to here
  std::uint64_t scanned_to_;     // where to look for further blocks
  std::uint64_t copy_from_ = 0;  // the rest of the started piece
  std::uint64_t copy_to_ = 0;
  std::vector<BlockInfo> blocks_;  // found but not taken, from next_block_ on
  std::size_t next_block_ = 0;
  bool has_trailer_ = false;
  bool is_complete_ = false;
};

}  // namespace kymo::serve
