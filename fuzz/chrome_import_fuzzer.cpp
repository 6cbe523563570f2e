// A Chrome or a Perfetto trace, compressed or not: imported with little memory, so that sorting goes through a file;
// then the result is opened. The capture must be valid and match the report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

#include <kymo/import.hpp>
#include <kymo/timeline.hpp>

#include "exchange/import/input.hpp"
#include "exchange/perfetto/event_reader.hpp"

namespace {

void check(const kymo::ImportReport& report) {
  const kymo::Timeline timeline(report.output);
  if (!kymo::CaptureReader(report.output).check() || !timeline.complaints().empty()) {
    std::abort();
  }
  std::uint64_t spans = 0;
  timeline.visit_spans([&spans](const kymo::SpanList& list) {
    spans += list.spans.size();
    return true;
  });
  if (spans != report.spans || timeline.messages().size() != report.messages ||
      timeline.flows().size() != report.flow_points || timeline.sync_points().size() != report.sync_points) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string base = "/tmp/kymo-chrome-fuzz-" + std::to_string(::getpid());
  const std::string trace = base + ".json";
  std::ofstream(trace, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  kymo::ImportOptions options;
  options.memory = 2000;
  try {
    const bool is_perfetto = kymo::exchange::is_perfetto_trace(kymo::exchange::ImportInput(trace, trace).look_ahead());
    const kymo::ImportReport report = is_perfetto ? kymo::import_perfetto_trace(trace, base + ".kymo", options)
                                                  : kymo::import_chrome_trace(trace, base + ".kymo", options);
    check(report);
    ::unlink(report.output.c_str());
  } catch (const kymo::ImportError&) {
  }
  ::unlink(trace.c_str());
  return 0;
}
