// CSV files of benchmark records, of every kind: what is read is written again as a text that must read back to the
// same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <kymo/bench.hpp>

namespace {

template <typename Record>
void check(std::string_view text) {
  try {
    const auto records = kymo::parse_csv<Record>(text, "fuzzed");
    const std::string written = kymo::to_csv(records);
    const auto again = kymo::parse_csv<Record>(written, "written");
    if (again.size() != records.size() || kymo::to_csv(again) != written) {
      std::abort();
    }
  } catch (const kymo::BenchFileError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check<kymo::LatencyRecord>(text);
  check<kymo::MemorySnapshot>(text);
  check<kymo::BaselineRecord>(text);
  check<kymo::ResultRow>(text);
  return 0;
}
