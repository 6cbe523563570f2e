// Answers questions about samples, for tests that ask other programs the same. A line in, a line of numbers out:
//
//     rank 3 1 2 3 2 4 5       -> U, p-value, whether it is exact
//     student 1 0.05 1 4       -> quantile of a p-value at degrees of freedom, and the p-value of that quantile
//     gamma 1 0.5              -> digamma, trigamma, and x whose trigamma that is
//     percentile 3 1 2 3 1 95  -> unbiased percentile
//     fit 4 1 2 3 4 1 4        -> degrees of freedom and variance of the prior of variances with 4 degrees of freedom
//     runs 12 1 ... 6 2 3      -> for each of 2 things in 3 runs of base and 3 of new, thing by thing: both centers, the
//                                 interval of the difference, p-value, adjusted p-value
//     correct 3 0.1 0.2 0.3    -> p-values
//     bootstrap 3 1 2 3 2 4 5  -> medians, p95s of both, then the ends of the intervals of their differences,
//                                 and of those as shares of the base
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stats/common/moderated_variance.hpp"
#include "stats/common/sample_tests.hpp"
#include "stats/compare/run_differences.hpp"

namespace {

using namespace kymo;

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

/// `shape`: numbers of runs of base and of new.
std::vector<double> test_runs(const std::vector<double>& values, const std::vector<double>& shape) {
  const auto base_runs = static_cast<std::size_t>(shape[0]);
  const auto runs = base_runs + static_cast<std::size_t>(shape[1]);
  std::vector<stats::RunLevels> family(values.size() / runs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    stats::RunLevels& levels = family[i / runs];
    (i % runs < base_runs ? levels.base : levels.changed).push_back(stats::RunLevel{values[i], values[i], values[i]});
  }
  std::vector<double> numbers;
  for (const stats::RunDifference& found : stats::test_runs(family, {1, 20'000, 0.05})) {
    numbers.insert(numbers.end(), {found.base, found.changed, found.difference.low, found.difference.high,
                                   found.p_value, found.adjusted_p_value});
  }
  return numbers;
}

std::vector<double> answer(const std::string& question, std::istream& in) {
  std::vector<double> first = read_values(in);
  if (question == "correct") {
    return stats::correct_p_values(first);
  }
  if (question == "gamma") {
    const double x = first[0];
    return {stats::digamma(x), stats::trigamma(x), stats::trigamma_inverse(stats::trigamma(x))};
  }
  const std::vector<double> second = read_values(in);
  if (question == "student") {
    const double quantile = stats::student_quantile(first[0], second[0]);
    return {quantile, stats::student_p_value(quantile, second[0])};
  }
  if (question == "percentile") {
    return {stats::unbiased_percentile_of(sorted(first), static_cast<unsigned>(second[0]))};
  }
  if (question == "fit") {
    const stats::VariancePrior prior = stats::fit_prior(first, second[0]);
    return {prior.degrees, prior.variance};
  }
  if (question == "runs") {
    return test_runs(first, second);
  }
  if (question == "rank") {
    const auto test = stats::mann_whitney(sorted(first), sorted(second));
    return {test.u, test.p_value, test.is_exact ? 1.0 : 0.0};
  }
  const auto found = stats::bootstrap_differences(sorted(first), sorted(second), 10'000, stats::RandomSource(1));
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
