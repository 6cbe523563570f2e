// Codecs compress block payloads. The recorder uses lz4; zstd is linked only into kymo::analysis.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "capture/format/block.hpp"
#include "capture/format/bytes.hpp"
#include "capture/format/column.hpp"

namespace kymo::capture {

/// Compresses payloads. Not thread-safe.
class Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;

  [[nodiscard]] virtual CodecId id() const = 0;
  /// The packing of columns that this codec compresses best.
  [[nodiscard]] virtual Packing packing() const = 0;
  /// Appends the compressed bytes to `out` and returns their number. Appends nothing and returns 0 unless the result is
  /// smaller. `cuts` are ascending offsets in `raw` at which the bytes' statistics change.
  [[nodiscard]] virtual std::size_t compress(std::span<const std::byte> raw, std::span<const std::size_t> cuts,
                                             ByteBuffer& out) = 0;
};

/// lz4 at its fastest: about 0.5 ns per scope.
[[nodiscard]] std::unique_ptr<Codec> make_lz4_codec();

/// zstd. Levels are zstd's; level 1 costs about 15 ns per scope. Only in kymo::analysis.
[[nodiscard]] std::unique_ptr<Codec> make_zstd_codec(int level = 1);

/// Decompress into exactly raw.size() bytes. Throw DecodeError for damage and unknown codecs.
void decompress_lz4(std::span<const std::byte> stored, std::span<std::byte> raw);
void decompress_zstd(std::span<const std::byte> stored, std::span<std::byte> raw);
void decompress(CodecId codec, std::span<const std::byte> stored, std::span<std::byte> raw);

}  // namespace kymo::capture
