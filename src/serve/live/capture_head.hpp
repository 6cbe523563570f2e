// The server's view of a capture file: its identity, its writer, and whether it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <kymo/capture.hpp>

#include "base/system/file.hpp"
#include "capture/read/byte_source.hpp"

namespace kymo::serve {

/// Identifies a file under any name.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator<(const FileIdentity& a, const FileIdentity& b) {
    return std::tie(a.device, a.inode) < std::tie(b.device, b.inode);
  }
  friend bool operator==(const FileIdentity& a, const FileIdentity& b) = default;
};

/// An open regular file. Reads may come from several threads at once.
class CaptureFile final : public capture::ByteSource {
 public:
  /// Throws CaptureError if it cannot be opened or is not a regular file.
  explicit CaptureFile(const std::string& path);

  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::string path_;
  base::FileDescriptor file_;
  FileIdentity identity_;
};

/// The first block of a capture, which identifies its writer.
class CaptureHead {
 public:
  /// An unknown head: the capture is treated as not being written.
  CaptureHead() = default;
  /// Reads it. Throws CaptureError if the file is not a capture of this version.
  explicit CaptureHead(const CaptureFile& file, const std::string& path);

  /// Whether the block was present and complete.
  [[nodiscard]] bool is_known() const { return reader_ != nullptr && !reader_->blocks().empty(); }
  /// Whether the process that writes the capture is alive on this machine.
  [[nodiscard]] bool has_living_owner() const;

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  std::shared_ptr<const CaptureReader> reader_;
};

/// Whether the file ends with the recorder's trailer: nothing will be appended.
[[nodiscard]] bool ends_in_trailer(const CaptureFile& file, std::uint64_t size);

}  // namespace kymo::serve
