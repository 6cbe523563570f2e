// The axis of a drawing of distributions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kymo::stats {

/// The range of values in a drawing, and a value's position in it. Logarithmic if the range is wide.
class ValueAxis {
 public:
  ValueAxis(double low, double high) : low_(low), high_(high), is_logarithmic_(low > 0 && high / low > 30) {
    if (!(high_ > low_)) {
      const double margin = low_ == 0 ? 1 : std::fabs(low_) * 0.05;
      low_ -= margin;
      high_ += margin;
    }
  }

  [[nodiscard]] bool is_logarithmic() const { return is_logarithmic_; }
  /// 0 at the low end, 1 at the high one.
  [[nodiscard]] double share_at(double value) const {
    return is_logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  }
  [[nodiscard]] double value_at(double share) const {
    return is_logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + share * (high_ - low_);
  }
  /// The number of the bin of a value, among `count` of equal width; `count` if it is beyond the axis.
  [[nodiscard]] std::size_t bin_of(double value, std::size_t count) const {
    const double share = share_at(value);
    return share >= 0 && share <= 1 ? std::min(static_cast<std::size_t>(share * static_cast<double>(count)), count - 1)
                                    : count;
  }

 private:
  double low_;
  double high_;
  bool is_logarithmic_;
};

/// An axis for two sides, whose values ascend: all but extreme outliers.
template <typename Values>
[[nodiscard]] ValueAxis axis_of_both(const Values& base, const Values& changed) {
  const auto at = [](const Values& ascending, double share) {
    return ascending[static_cast<std::size_t>(share * static_cast<double>(ascending.size() - 1))];
  };
  return {std::min(at(base, 0.002), at(changed, 0.002)), std::max(at(base, 0.99), at(changed, 0.99))};
}

}  // namespace kymo::stats
