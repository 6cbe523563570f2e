// An NVMT trace: read and, if valid, imported as a capture and exported again. Unless a loss was reported, the result
// must be identical to the byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

#include <kymo/exchange.hpp>
#include <kymo/timeline.hpp>

#include "exchange/nvmt/format.hpp"
#include "exchange/nvmt/import.hpp"
#include "exchange/nvmt_fixture.hpp"

namespace {

using namespace kymo;
using namespace kymo::exchange;

// NaN comes back as NaN, but its bits may differ.
std::string without_payloads(NvmtTrace trace) {
  const auto settle = [](auto value) { return value != value ? decltype(value){-12345} : value; };
  for (nvmetrics::FastSample& row : trace.fast) {
    for (std::size_t i = 0; i < nvmetrics::max_cpu_cores; ++i) {
      row.cpu_util[i] = settle(float{row.cpu_util[i]});
    }
    row.cpu_aggregate = settle(float{row.cpu_aggregate});
  }
  for (nvmetrics::MediumSample& row : trace.medium) {
    for (std::size_t i = 0; i < nvmetrics::max_power_rails; ++i) {
      row.power_mw[i] = settle(float{row.power_mw[i]});
    }
  }
  for (nvmetrics::SlowSample& row : trace.slow) {
    for (std::size_t i = 0; i < nvmetrics::max_thermal_zones; ++i) {
      row.temp_c[i] = settle(float{row.temp_c[i]});
    }
  }
  return test::encode_nvmt(trace);
}

void go_around(const NvmtTrace& trace) {
  const std::string base = "/tmp/kymo-fuzz-" + std::to_string(::getpid());
  const std::string capture = base + ".kymo";
  const std::string back = base + ".nvmt";
  ::unlink(capture.c_str());
  NvmtImportReport report;
  try {
    report = import_nvmt(trace, "fuzzed", capture);
  } catch (const NvmtError&) {
    return;
  }
  export_nvmt(Timeline(report.output), back);
  if (report.losses.empty() && without_payloads(read_nvmt(back)) != without_payloads(trace)) {
    std::abort();
  }
  ::unlink(report.output.c_str());
  ::unlink(back.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const NvmtTrace trace = parse_nvmt(bytes, "fuzzed");
    if (test::encode_nvmt(trace) != std::string(reinterpret_cast<const char*>(data), size)) {
      std::abort();
    }
    go_around(trace);
  } catch (const NvmtError&) {
  }
  return 0;
}
