// The distribution of values of any magnitude in bounded memory.
#include "stats/common/value_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace kymo::stats {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double cut_mantissa(double value, unsigned dropped_bits) {
  const std::uint64_t dropped = (std::uint64_t{1} << dropped_bits) - 1;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= ~dropped;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

}  // namespace

void ValueDistribution::count(double value, std::uint64_t times) {
  counts_[cut_mantissa(value, dropped_bits_)] += times;
  while (counts_.size() > most_counts) {
    ++dropped_bits_;
    const std::map<double, std::uint64_t> finer = std::exchange(counts_, {});
    for (const auto& [known, its_times] : finer) {
      counts_[cut_mantissa(known, dropped_bits_)] += its_times;
    }
  }
}

void ValueDistribution::scale_to(int exponent) {
  mean_ = std::scalbn(mean_, exponent_ - exponent);
  squares_ = std::scalbn(squares_, 2 * (exponent_ - exponent));
  exponent_ = exponent;
}

void ValueDistribution::add(double value) {
  if (std::isnan(value)) {
    return;
  }
  least_ = count_ == 0 ? value : std::min(least_, value);
  greatest_ = count_ == 0 ? value : std::max(greatest_, value);
  count(value, 1);
  ++count_;
  // B. P. Welford, "Note on a method for calculating corrected sums of squares and products", 1962.
  if (std::isfinite(value)) {
    if (const int exponent = std::ilogb(value); exponent > exponent_) {
      scale_to(exponent);
    }
    const double scaled = std::scalbn(value, -exponent_);
    const double distance = scaled - mean_;
    mean_ += distance / static_cast<double>(count_);
    squares_ += distance * (scaled - mean_);
  }
}

void ValueDistribution::merge(const ValueDistribution& other) {
  if (other.count_ == 0) {
    return;
  }
  least_ = count_ == 0 ? other.least_ : std::min(least_, other.least_);
  greatest_ = count_ == 0 ? other.greatest_ : std::max(greatest_, other.greatest_);
  for (const auto& [value, times] : other.counts_) {
    count(value, times);
  }
  // T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm", 1979.
  const double own = static_cast<double>(count_);
  const double others = static_cast<double>(other.count_);
  scale_to(std::max(exponent_, other.exponent_));
  const double distance = std::scalbn(other.mean_, other.exponent_ - exponent_) - mean_;
  mean_ += distance * others / (own + others);
  squares_ += std::scalbn(other.squares_, 2 * (other.exponent_ - exponent_)) +
              distance * distance * own * others / (own + others);
  count_ += other.count_;
}

double ValueDistribution::standard_deviation() const {
  const bool is_known = count_ != 0 && std::isfinite(least_) && std::isfinite(greatest_);
  return is_known ? std::scalbn(std::sqrt(squares_ / static_cast<double>(count_)), exponent_) : nothing;
}

double ValueDistribution::percentile(double percent) const {
  if (count_ == 0) {
    return nothing;
  }
  const double share = std::ceil(percent / 100 * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(share), 1, count_);
  std::uint64_t seen = 0;
  for (const auto& [value, times] : counts_) {
    seen += times;
    if (seen >= rank) {
      return std::clamp(value, least_, greatest_);
    }
  }
  return greatest_;
}

}  // namespace kymo::stats
