// A witness bundle: once unchanged, which hardly ever gets beyond the first hash, and once with corrected hashes of its
// lines, as a forger would. "@" stands for the hash of the line before. A valid bundle is written again and must then
// be equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

#include <kymo/witness.hpp>

#include "bench/witness_line.hpp"

namespace {

std::string forge(std::string_view text) {
  std::string bundle;
  std::string previous;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    std::string line;
    for (const char character : text.substr(0, end)) {
      if (character == '@') {
        line += previous;
      } else {
        line += character;
      }
    }
    text.remove_prefix(end + 1);
    previous = kymo::bench::close_line(line);
    bundle += line + '\n';
  }
  return bundle.append(text);
}

void check(std::string_view bundle, const std::string& path) {
  std::ofstream(path, std::ios::binary).write(bundle.data(), static_cast<std::streamsize>(bundle.size()));
  std::uint64_t entries = 0;
  const kymo::WitnessReport report = kymo::verify_witness(path, [&entries](const kymo::WitnessEntry&) { ++entries; });
  if (entries != report.totals.entries || report.is_whole != report.problem.empty()) {
    std::abort();
  }
  if (!report.is_whole) {
    return;
  }
  const std::string copy = path + ".copy";
  try {
    kymo::WitnessWriter writer(copy, report.header);
    static_cast<void>(kymo::verify_witness(path, [&writer](const kymo::WitnessEntry& entry) { writer.add(entry); }));
    writer.finish();
  } catch (const std::invalid_argument&) {
    return;  // texts that are not UTF-8
  }
  if (!kymo::compare_witnesses(path, copy).is_none()) {
    std::abort();
  }
  ::unlink(copy.c_str());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = "/tmp/kymo-witness-fuzz-" + std::to_string(::getpid());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, path);
  check(forge(text), path);
  ::unlink(path.c_str());
  return 0;
}
