// Where a capture reader's bytes come from: a file or memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace kymo::capture {

/// Bytes at offsets. Reads may come from several threads at once.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// The size now; a growing file's changes. CaptureError.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Reads up to out.size() bytes from an offset; how many (fewer only at the end). CaptureError.
  [[nodiscard]] virtual std::size_t read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

/// A regular file; CaptureError where it cannot be opened.
[[nodiscard]] std::unique_ptr<ByteSource> open_file_source(const std::string& path);

/// Memory that stays until the source is gone.
[[nodiscard]] std::unique_ptr<ByteSource> make_memory_source(std::span<const std::byte> bytes);

}  // namespace kymo::capture
