// Answers questions about samples, for tests that ask other programs the same. A line in, a line of numbers out:
//
//     rank 3 1 2 3 2 4 5       -> U, p-value, whether it is exact
//     welch 3 1 2 3 2 4 5      -> p-value
//     correct 3 0.1 0.2 0.3    -> p-values
//     bootstrap 3 1 2 3 2 4 5  -> medians, p95s of both, then the ends of the intervals of their differences,
//                                 and of those as shares of the base
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stats/common/sample_tests.hpp"

namespace {

std::vector<double> read_values(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<double> values(count);
  for (double& value : values) {
    in >> value;
  }
  return values;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<double> answer(const std::string& question, std::istream& in) {
  const std::vector<double> first = read_values(in);
  if (question == "correct") {
    return kymo::stats::correct_p_values(first);
  }
  const std::vector<double> second = read_values(in);
  if (question == "welch") {
    return {kymo::stats::welch_test(first, second)};
  }
  if (question == "rank") {
    const auto test = kymo::stats::mann_whitney(sorted(first), sorted(second));
    return {test.u, test.p_value, test.is_exact ? 1.0 : 0.0};
  }
  const std::vector<std::vector<double>> base{sorted(first)};
  const std::vector<std::vector<double>> changed{sorted(second)};
  const auto found = kymo::stats::bootstrap_differences(base, changed, 10'000, kymo::stats::RandomSource(1));
  return {found.base_median,      found.new_median,        found.base_p95,      found.new_p95,
          found.median.low,       found.median.high,       found.p95.low,       found.p95.high,
          found.median_share.low, found.median_share.high, found.p95_share.low, found.p95_share.high};
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string question;
    in >> question;
    for (const double number : answer(question, in)) {
      std::printf("%.17g ", number);
    }
    std::printf("\n");
  }
}
