// The distribution of values of any magnitude in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace kymo::stats {

/// Standard deviation and percentiles of values, each value counting once. Values are counted by sign, exponent and the
/// first ten bits of the mantissa, so a percentile is at most 1/1024 nearer to zero than the exact value, and exact for
/// integers up to 2048. Values in more than `most_counts` different counts halve that precision, so memory is bounded:
/// about 48 bytes a count.
class ValueDistribution {
 public:
  static constexpr std::size_t most_counts = 65'536;

  /// NaN does not count. About 50 ns.
  void add(double value);
  void merge(const ValueDistribution& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Of the population: the root of the mean squared distance from the mean. NaN without values and with infinite ones.
  [[nodiscard]] double standard_deviation() const;
  /// By nearest rank, and within the least and the greatest value; 0 < percent <= 100. NaN without values.
  [[nodiscard]] double percentile(double percent) const;

 private:
  void count(double value, std::uint64_t times);
  void scale_to(int exponent);

  std::map<double, std::uint64_t> counts_;  // by the value nearest to zero that is counted there
  unsigned dropped_bits_ = 42;              // of the mantissa's 52
  std::uint64_t count_ = 0;
  double least_ = 0;
  double greatest_ = 0;
  // The mean and the sum of squared distances from it, in units of 2^exponent_, about the greatest value: so the
  // squares neither vanish nor overflow.
  int exponent_ = least_exponent;
  double mean_ = 0;
  double squares_ = 0;
  static constexpr int least_exponent = -1074;  // of a double
};

}  // namespace kymo::stats
