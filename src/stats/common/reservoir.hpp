// A bounded random sample of any number of values, each equally likely to be kept.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "stats/common/random_source.hpp"

namespace kymo::stats {

/// Keeps all values up to its capacity, then a random sample of that size (Li's algorithm L). About 1 ns a value;
/// memory grows with the kept values. Not thread-safe.
class Reservoir {
 public:
  /// capacity > 0
  Reservoir(std::size_t capacity, RandomSource random) : capacity_(capacity), random_(random) {}

  void add(double value) {
    if (++count_ < next_) {
      return;
    }
    keep(value);
  }

  /// The number of values added.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The kept values, unordered. Nothing may be added afterwards.
  [[nodiscard]] std::vector<double> release() { return std::move(values_); }

 private:
  void keep(double value) {
    if (values_.size() < capacity_) {
      values_.push_back(value);
      next_ = count_ + 1;
      if (values_.size() == capacity_) {
        skip();
      }
      return;
    }
    values_[static_cast<std::size_t>(random_.below(capacity_))] = value;
    skip();
  }

  /// Draws the next value to be kept.
  void skip() {
    share_ *= std::exp(std::log(random_.uniform()) / static_cast<double>(capacity_));
    const double skipped = std::floor(std::log(random_.uniform()) / std::log1p(-share_));
    next_ =
        skipped < 1e18 ? count_ + 1 + static_cast<std::uint64_t>(skipped) : std::numeric_limits<std::uint64_t>::max();
  }

  std::size_t capacity_;
  RandomSource random_;
  std::uint64_t count_ = 0;
  std::uint64_t next_ = 1;  // number, from 1, of the next value to be kept
  double share_ = 1;
  std::vector<double> values_;
};

}  // namespace kymo::stats
