#include "stats/explain/permutation_test.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "stats/common/random_source.hpp"

namespace kymo::stats {

namespace {

constexpr std::size_t permutations = 1'999;

/// Values by instance, then by column, with mean 0 and variance 1, or a variance of at most 1 where all have one scale.
class Standardised {
 public:
  Standardised(const std::vector<const std::vector<double>*>& columns, ColumnScale scale)
      : columns_(columns.size()), instances_(columns.front()->size()), values_(columns_ * instances_) {
    std::vector<double> means;
    std::vector<double> deviations;
    for (const std::vector<double>* const column : columns) {
      means.push_back(std::accumulate(column->begin(), column->end(), 0.0) / static_cast<double>(instances_));
      double squares = 0;
      for (const double value : *column) {
        squares += (value - means.back()) * (value - means.back());
      }
      deviations.push_back(std::sqrt(squares / static_cast<double>(instances_)));
    }
    if (scale == ColumnScale::common) {
      deviations.assign(columns_, *std::max_element(deviations.begin(), deviations.end()));
    }
    for (std::size_t column = 0; column < columns_; ++column) {
      for (std::size_t i = 0; deviations[column] > 0 && i < instances_; ++i) {
        values_[i * columns_ + column] =
            static_cast<float>(((*columns[column])[i] - means[column]) / deviations[column]);
      }
    }
  }

  /// For each column, the absolute difference of means between some instances and the others.
  void differences(const std::vector<std::size_t>& some, std::size_t count, std::vector<float>& out) const {
    out.assign(columns_, 0.0F);
    for (std::size_t i = 0; i < count; ++i) {
      const float* const row = values_.data() + some[i] * columns_;
      for (std::size_t column = 0; column < columns_; ++column) {
        out[column] += row[column];
      }
    }
    // The sum over all is 0, so the others' sum is minus that of these.
    const auto here = static_cast<float>(count);
    const float scale = 1.0F / here + 1.0F / (static_cast<float>(instances_) - here);
    for (float& difference : out) {
      difference = std::abs(difference) * scale;
    }
  }

 private:
  std::size_t columns_;
  std::size_t instances_;
  std::vector<float> values_;
};

}  // namespace

std::vector<double> permutation_p_values(const std::vector<const std::vector<double>*>& columns,
                                         const std::vector<bool>& is_slow, std::uint64_t seed, ColumnScale scale) {
  if (columns.empty()) {
    return {};
  }
  const std::size_t count = is_slow.size();
  const Standardised values(columns, scale);
  std::vector<std::size_t> dealt;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_slow[i]) {
      dealt.push_back(i);
    }
  }
  const std::size_t slow = dealt.size();
  std::vector<float> observed;
  values.differences(dealt, slow, observed);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_slow[i]) {
      dealt.push_back(i);
    }
  }
  const std::size_t fewer = std::min(slow, count - slow);
  std::vector<std::size_t> as_large(columns.size());
  RandomSource random(seed, 1);
  std::vector<float> differences;
  for (std::size_t round = 0; round < permutations; ++round) {
    for (std::size_t i = 0; i < fewer; ++i) {
      std::swap(dealt[i], dealt[i + static_cast<std::size_t>(random.below(count - i))]);
    }
    values.differences(dealt, fewer, differences);
    // Sums of floats in another order differ by a little.
    const float largest = *std::max_element(differences.begin(), differences.end()) * 1.0001F;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      as_large[column] += largest >= observed[column] ? 1U : 0U;
    }
  }
  std::vector<double> p_values;
  p_values.reserve(columns.size());
  for (const std::size_t so_many : as_large) {
    p_values.push_back(static_cast<double>(so_many + 1) / static_cast<double>(permutations + 1));
  }
  return p_values;
}

}  // namespace kymo::stats
