// Where a capture reader's bytes come from: a file, memory, or what a layer above makes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <kymo/capture.hpp>

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
  /// The same, but `least` bytes are enough where more would have to come from far away.
  [[nodiscard]] virtual std::size_t read_some(std::uint64_t offset, std::span<std::byte> out, std::size_t least) const {
    static_cast<void>(least);
    return read(offset, out);
  }
};

/// A regular file; CaptureError where it cannot be opened.
[[nodiscard]] std::unique_ptr<ByteSource> open_file_source(const std::string& path);

/// Memory that stays until the source is gone.
[[nodiscard]] std::unique_ptr<ByteSource> make_memory_source(std::span<const std::byte> bytes);

/// Opens the capture whose bytes these are; `name` stands for the path in messages. CaptureError as CaptureReader's.
[[nodiscard]] CaptureReader open_source(std::unique_ptr<ByteSource> source, std::string name);

}  // namespace kymo::capture
