// Writes the initial inputs of the fuzzers: small captures of every kind, and the payloads of their blocks.
//
//     make_capture_corpus fuzz/corpus
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "capture/capture_fixture.hpp"
#include "capture/merge/merge.hpp"
#include "capture/sample_batches.hpp"

namespace {

using kymo::EventBatch;
using kymo::test::BatchSource;
using kymo::test::Bytes;

struct Seed {
  std::string name;
  Bytes bytes;
};

std::vector<Seed> make_captures() {
  BatchSource source(1);
  std::vector<EventBatch> ordinary{source.ordinary(30), source.ordinary(70)};
  std::vector<EventBatch> wild;
  for (int i = 0; i < 4; ++i) {
    wild.push_back(source.wild(6));
    wild.back().declarations = source.wild_declarations(2);
  }
  // Long enough for byte planes.
  const EventBatch wide = BatchSource(2).ordinary(700);
  auto zstd = kymo::capture::make_repack_options();
  auto plain = kymo::test::sample_options();
  plain.with_summaries = false;
  return {{"ordinary", kymo::test::write_capture(ordinary)},
          {"torn", kymo::test::write_capture(ordinary, false)},
          {"wild", kymo::test::write_capture(wild, true, std::move(plain))},
          {"zstd", kymo::test::write_capture({wide}, true, std::move(zstd))},
          {"empty", kymo::test::write_capture({})}};
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fputs("usage: make_capture_corpus DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path root = arguments[1];
  const auto files = root / "capture_reader_fuzzer";
  const auto payloads = root / "capture_payload_fuzzer";
  std::filesystem::create_directories(files);
  std::filesystem::create_directories(payloads);
  for (const Seed& seed : make_captures()) {
    kymo::test::write_file((files / seed.name).string(), seed.bytes);
    const kymo::CaptureReader reader = kymo::test::open_bytes(seed.bytes);
    kymo::BlockPayload payload;
    for (const kymo::BlockInfo& block : reader.blocks()) {
      if (block.kind != kymo::BlockKind::summary && reader.read_payload(block, payload)) {
        kymo::test::write_file((payloads / (seed.name + "-" + std::to_string(block.number))).string(),
                               Bytes(payload.data(), payload.data() + payload.size()));
      }
    }
  }
  return 0;
}
