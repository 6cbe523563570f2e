#include <zstd.h>

#include <algorithm>
#include <string>

#include "capture/codec.hpp"

namespace kymo::capture {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

class ZstdCodec final : public Codec {
 public:
  explicit ZstdCodec(int level) : context_(ZSTD_createCCtx()), level_(level) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  [[nodiscard]] CodecId id() const override { return CodecId::zstd; }
  [[nodiscard]] Packing packing() const override { return Packing::planes; }
  [[nodiscard]] std::size_t compress(std::span<const std::byte> raw, ByteBuffer& out) override {
    const std::size_t room = ZSTD_compressBound(raw.size());
    std::byte* const to = out.reserve(room);
    const std::size_t size = ZSTD_compressCCtx(context_.get(), to, room, raw.data(), raw.size(), level_);
    // A payload that shrinks further than the format allows is stored as it is.
    const bool gains = ZSTD_isError(size) == 0 && size < raw.size() && size * max_compression >= raw.size();
    out.commit(gains ? size : 0);
    return gains ? size : 0;
  }

 private:
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  int level_;
};

}  // namespace

std::unique_ptr<Codec> make_zstd_codec(int level) { return std::make_unique<ZstdCodec>(level); }

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
