#include "sense/common/renewal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace kymo::sense {

namespace {

template <std::size_t N>
std::int64_t median(std::array<std::int64_t, N> values) {
  std::nth_element(values.begin(), values.begin() + N / 2, values.end());
  return values[N / 2];
}

}  // namespace

bool RenewalMeter::take(double value, std::int64_t now_ns) {
  has_changed_ = false;
  if (std::isnan(value)) {
    // A gap carries no information about the source's pace.
    read_ns_ = 0;
    return true;
  }
  const bool is_first = read_ns_ == 0;
  const bool is_new = is_first || value != value_;
  if (!is_first) {
    steps_[reads_++ % window] = now_ns - read_ns_;
  }
  read_ns_ = now_ns;
  value_ = value;
  if (is_new) {
    if (!is_first) {
      intervals_[changes_++ % window] = now_ns - changed_ns_;
      estimate();
    }
    changed_ns_ = now_ns;
  }
  return is_new;
}

void RenewalMeter::estimate() {
  if (changes_ < window || reads_ < window) {
    return;
  }
  const std::int64_t between_changes = median(intervals_);
  // If half of the readings or more are new, the source may be faster than the reads can tell.
  const std::int64_t measured = between_changes > 2 * median(steps_) ? between_changes : 0;
  if (std::llabs(measured - renewal_ns_) > renewal_ns_ / 5) {
    renewal_ns_ = measured;
    has_changed_ = true;
  }
}

}  // namespace kymo::sense
