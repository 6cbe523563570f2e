// Prints what kymo's histogram makes of the numbers on stdin, for check_histogram.py: count, minimum, maximum, mean,
// then a percentile a line for each argument; "merge" as the first argument splits the numbers over eight histograms
// first.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "capture/summary/histogram.hpp"

int main(int argc, char** argv) {
  using kymo::capture::Histogram;
  int first = 1;
  std::size_t parts = 1;
  if (argc > 1 && std::strcmp(argv[1], "merge") == 0) {
    parts = 8;
    first = 2;
  }
  std::vector<Histogram> histograms(parts);
  std::int64_t value = 0;
  for (std::size_t i = 0; std::fread(&value, sizeof(value), 1, stdin) == 1; ++i) {
    histograms[i % parts].record(value);
  }
  Histogram whole;
  for (const Histogram& histogram : histograms) {
    whole.merge(histogram);
  }
  std::printf("%" PRIu64 "\n%" PRId64 "\n%" PRId64 "\n%.17g\n", whole.count(), whole.min_ns(), whole.max_ns(),
              whole.mean_ns());
  for (int i = first; i < argc; ++i) {
    std::printf("%" PRId64 "\n", whole.percentile_ns(std::strtod(argv[i], nullptr)));
  }
  return 0;
}
