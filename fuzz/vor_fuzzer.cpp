// A .vor stream: imported as a capture if valid, exported, and imported again. Unless a loss was reported, both imports
// must be equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <unistd.h>

#include <kymo/exchange.hpp>
#include <kymo/timeline.hpp>

#include "exchange/vor/format.hpp"
#include "exchange/vor/import.hpp"

namespace {

using namespace kymo;
using namespace kymo::exchange;

struct Outcome {
  VorImportReport report;
  std::uint64_t frames = 0;
};

std::optional<Outcome> import_stream(VorReader reader, const std::string& path) {
  ::unlink(path.c_str());
  try {
    Outcome outcome{import_vor(reader, path), 0};
    outcome.frames = Timeline(outcome.report.output).frames(FrameStreamId{1}).size();
    return outcome;
  } catch (const VorError&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string base = "/tmp/kymo-fuzz-" + std::to_string(::getpid());
  const std::string stream = base + ".vor";
  std::optional<Outcome> first;
  try {
    first =
        import_stream({capture::make_memory_source(std::as_bytes(std::span(data, size))), "fuzzed"}, base + "-1.kymo");
  } catch (const VorError&) {
    return 0;
  }
  if (!first) {
    return 0;
  }
  const VorExportReport exported = export_vor(Timeline(first->report.output), stream);
  const std::optional<Outcome> second = import_stream(VorReader(stream), base + "-2.kymo");
  if (!second || !second->report.losses.empty()) {
    std::abort();
  }
  if (first->report.losses.empty() && exported.losses.empty() &&
      (second->report.scopes != first->report.scopes || second->frames != first->frames)) {
    std::abort();
  }
  ::unlink(first->report.output.c_str());
  ::unlink(second->report.output.c_str());
  ::unlink(stream.c_str());
  return 0;
}
