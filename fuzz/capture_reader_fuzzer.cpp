// A whole capture file: opened, followed, read, checked. Once unchanged and once with corrected checksums, since the
// code behind a checksum would otherwise hardly ever be reached.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kymo/capture.hpp>

#include "capture/summary/summary.hpp"
#include "repair.hpp"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  read_everything(file);
  kymo::fuzz::repair(file);
  read_everything(file);
  return 0;
}
