// Sources of a capture reader's bytes: a file, memory, or an implementation of a higher layer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <kymo/capture.hpp>

#include "base/system/file.hpp"

namespace kymo::capture {

/// Bytes at offsets. Concurrent reads are allowed.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// The current size; that of a growing file changes. Throws CaptureError.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Reads up to out.size() bytes from an offset and returns their number (fewer only at the end). Throws CaptureError.
  [[nodiscard]] virtual std::size_t read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// The same, but `least` bytes suffice if more would have to come from far away.
  [[nodiscard]] virtual std::size_t read_some(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const {
    static_cast<void>(least);
    return read(offset, out);
  }
};

/// A regular file.
class FileSource final : public ByteSource {
 public:
  /// Throws CaptureError if it cannot be opened, or is no regular file.
  explicit FileSource(const std::string& path);

  [[nodiscard]] base::FileId id() const { return base::id_of(file_.get()); }
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::string path_;
  base::FileDescriptor file_;
};

/// Memory that must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> make_memory_source(std::span<const std::byte> bytes);

/// Throws CaptureError unless the bytes begin as those of a capture of this version.
void require_capture(const ByteSource& source, const std::string& path);

/// Opens the capture in these bytes; messages use `name` as its path. Throws CaptureError like CaptureReader.
[[nodiscard]] CaptureReader open_source(std::unique_ptr<ByteSource> source, std::string name);

}  // namespace kymo::capture
