#include "options.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace attention {
namespace {

/// Parses a whole word as a non-negative number, independent of the locale.
template <typename Number>
Number parse(std::string_view option, const std::string& word) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(number >= 0)) {
    throw std::invalid_argument(std::string(option) + " " + word + ": a number of at least 0 is expected");
  }
  return number;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  if (const char* const metrics = std::getenv("KYMO_BENCH_METRICS")) {
    options.metrics = metrics;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--gated") {
      options.is_gated = true;
      continue;
    }
    if (i + 1 == argc) {
      throw std::invalid_argument(std::string(option) + " is not known, or lacks its value");
    }
    const std::string value = argv[++i];
    if (option == "--lambda") {
      options.gate.lambda = parse<float>(option, value);
    } else if (option == "--tau") {
      options.gate.tau = parse<unsigned>(option, value);
    } else if (option == "--eps") {
      options.gate.eps = parse<float>(option, value);
    } else if (option == "--samples") {
      options.samples = parse<std::uint64_t>(option, value);
    } else if (option == "--seed") {
      options.seed = parse<std::uint64_t>(option, value);
    } else if (option == "--csv") {
      options.csv = value;
    } else if (option == "--witness") {
      options.witness = value;
    } else {
      throw std::invalid_argument(std::string(option) + " is not known");
    }
  }
  if (options.samples == 0) {
    throw std::invalid_argument("--samples: at least 1 is needed");
  }
  return options;
}

}  // namespace attention
