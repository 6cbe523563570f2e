// Codecs: how a block's payload is compressed. lz4 is the recorder's; zstd is linked only into kymo::analysis.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "capture/block.hpp"
#include "capture/bytes.hpp"
#include "capture/column.hpp"

namespace kymo::capture {

/// Compresses payloads. One thread at a time.
class Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;

  [[nodiscard]] virtual CodecId id() const = 0;
  /// How columns should be stored to come out smallest behind this codec.
  [[nodiscard]] virtual Packing packing() const = 0;
  /// Appends the compressed bytes to `out` and returns their number; 0, with nothing appended, where they would not be
  /// fewer than the raw ones. `cuts` are ascending offsets in `raw` at which the statistics of the bytes change.
  [[nodiscard]] virtual std::size_t compress(std::span<const std::byte> raw, std::span<const std::size_t> cuts,
                                             ByteBuffer& out) = 0;
};

/// lz4 at its fastest: about 0.5 ns a scope.
[[nodiscard]] std::unique_ptr<Codec> make_lz4_codec();

/// zstd. Levels as zstd's own; 1 costs about 15 ns a scope. Only in kymo::analysis.
[[nodiscard]] std::unique_ptr<Codec> make_zstd_codec(int level = 1);

/// Decompresses into exactly raw.size() bytes. DecodeError for damage and for codecs not known.
void decompress_lz4(std::span<const std::byte> stored, std::span<std::byte> raw);
void decompress_zstd(std::span<const std::byte> stored, std::span<std::byte> raw);
void decompress(CodecId codec, std::span<const std::byte> stored, std::span<std::byte> raw);

}  // namespace kymo::capture
