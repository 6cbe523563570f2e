// A whole capture file: opened, followed, read, checked. Once as it is and once with its checksums put right, since
// what lies behind a checksum would otherwise hardly ever be reached.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/block.hpp"
#include "capture/crc32c.hpp"
#include "capture/summary.hpp"

namespace {

using kymo::BatchParts;
using kymo::BlockInfo;
using kymo::BlockKind;
using kymo::BlockPayload;
using kymo::CaptureError;
using kymo::CaptureReader;
using kymo::EventBatch;

void read_everything(const std::vector<std::byte>& file) {
  try {
    CaptureReader reader(file.data(), file.size(), "fuzzed");
    EventBatch batch;
    BlockPayload payload;
    for (const BlockInfo& block : reader.blocks()) {
      static_cast<void>(reader.read(block, batch, BatchParts::everything));
      static_cast<void>(reader.read(block, batch, BatchParts::sequences));
      if (reader.read_payload(block, payload) && block.kind == BlockKind::summary) {
        try {
          static_cast<void>(kymo::capture::decode_summary({payload.data(), payload.size()}));
        } catch (const kymo::capture::DecodeError&) {
        }
      }
    }
    static_cast<void>(reader.check());
    static_cast<void>(reader.refresh());
    static_cast<void>(reader.damages());
  } catch (const CaptureError&) {
  }
}

// Gives every header that can be found the checksums that its bytes need.
void repair(std::vector<std::byte>& file) {
  using namespace kymo::capture;
  if (file.size() < preamble_size) {
    return;
  }
  const auto preamble = encode_preamble();
  std::copy(preamble.begin(), preamble.end(), file.begin());
  for (std::size_t at = preamble_size; at + block_header_size <= file.size();) {
    std::byte* const header = file.data() + at;
    if (load<std::uint32_t>(header) != block_sync) {
      ++at;
      continue;
    }
    const std::size_t room = file.size() - at - block_header_size;
    const std::size_t stored = std::min<std::size_t>(load<std::uint32_t>(header + 8), room);
    store(header + 8, static_cast<std::uint32_t>(stored));
    store(header + 16, crc32c(std::span<const std::byte>(file).subspan(at + block_header_size, stored)));
    store(header + 44, crc32c(std::span<const std::byte>(file).subspan(at, 44)));
    at += block_header_size + stored;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  read_everything(file);
  repair(file);
  read_everything(file);
  return 0;
}
