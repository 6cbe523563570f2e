// The server's view of a capture file: its writer, and whether it is closed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/read/byte_source.hpp"

namespace kymo::serve {

/// The first block of a capture, which identifies its writer.
class CaptureHead {
 public:
  /// An unknown head: the capture is treated as not being written.
  CaptureHead() = default;
  /// Reads it. Throws CaptureError if the file is not a capture of this version.
  explicit CaptureHead(const capture::FileSource& file, const std::string& path);

  /// Whether the block was present and complete.
  [[nodiscard]] bool is_known() const { return reader_ != nullptr && !reader_->blocks().empty(); }
  /// Whether the process that writes the capture is alive on this machine.
  [[nodiscard]] bool has_living_owner() const;

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::shared_ptr<const CaptureReader> reader_;
};

}  // namespace kymo::serve
