#include <zstd.h>

#include <algorithm>
#include <new>
#include <string>

#include "capture/format/codec.hpp"

namespace kymo::capture {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

class ZstdCodec final : public Codec {
 public:
  explicit ZstdCodec(int level) : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  }
  [[nodiscard]] CodecId id() const override { return CodecId::zstd; }
  [[nodiscard]] Packing packing() const override { return Packing::planes; }
  [[nodiscard]] std::size_t compress(std::span<const std::byte> raw, std::span<const std::size_t> cuts,
                                     ByteBuffer& out) override {
    // Each piece between cuts becomes a zstd block with its own entropy table. Planes of different columns have nothing
    // in common; a shared table costs a tenth of the size.
    ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(context_.get(), raw.size());
    const std::size_t room = ZSTD_compressBound(raw.size()) + (16 * cuts.size());
    ZSTD_outBuffer to{out.reserve(room), room, 0};
    ZSTD_inBuffer from{raw.data(), 0, 0};
    for (const std::size_t cut : cuts) {
      if (cut - from.size >= least_piece && cut < raw.size()) {
        from.size = cut;
        if (!run(to, from, ZSTD_e_flush)) {
          return 0;
        }
      }
    }
    from.size = raw.size();
    if (!run(to, from, ZSTD_e_end)) {
      return 0;
    }
    // A payload that shrinks further than the format allows is stored uncompressed.
    const bool gains = to.pos < raw.size() && to.pos * max_compression >= raw.size();
    out.commit(gains ? to.pos : 0);
    return gains ? to.pos : 0;
  }

 private:
  // For smaller pieces an entropy table costs more than it gains.
  static constexpr std::size_t least_piece = 1024;

  [[nodiscard]] bool run(ZSTD_outBuffer& to, ZSTD_inBuffer& from, ZSTD_EndDirective directive) {
    return ZSTD_compressStream2(context_.get(), &to, &from, directive) == 0;
  }

  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
};

}  // namespace

std::unique_ptr<Codec> make_zstd_codec(int level) {
  return std::make_unique<ZstdCodec>(level);
}

void decompress_zstd(std::span<const std::byte> stored, std::span<std::byte> raw) {
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw.size()) {
    throw DecodeError("a block's zstd payload states another size than its header");
  }
  const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != raw.size()) {
    throw DecodeError("a block's zstd payload does not decompress to its stated size");
  }
}

void decompress(CodecId codec, std::span<const std::byte> stored, std::span<std::byte> raw) {
  switch (codec) {
    case CodecId::none:
      if (stored.size() != raw.size()) {
        throw DecodeError("a block's payload has another size than its header states");
      }
      std::copy(stored.begin(), stored.end(), raw.begin());
      return;
    case CodecId::lz4:
      decompress_lz4(stored, raw);
      return;
    case CodecId::zstd:
      decompress_zstd(stored, raw);
      return;
  }
  throw DecodeError("a block is compressed by codec " + std::to_string(static_cast<unsigned>(codec)) +
                    ", which this version of kymo does not know");
}

}  // namespace kymo::capture
