// Estimates how often a source produces a new value from the lengths of runs of repeated values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kymo::sense {

/// Observes the values of one metric. If a source is read less often than it renews itself, the renewal interval stays
/// unknown.
class RenewalMeter {
 public:
  /// Takes the next reading. Returns whether the source has produced a new value since the last one.
  bool take(double value, std::int64_t now_ns);

  /// The median time between new values; 0: unknown.
  [[nodiscard]] std::int64_t renewal_ns() const { return renewal_ns_; }
  /// Whether the last take() changed the estimate by more than a fifth or made the first one.
  [[nodiscard]] bool has_changed_estimate() const { return has_changed_; }
  /// Whether it is too early for the source to have renewed itself since its value last changed.
  [[nodiscard]] bool is_within_renewal(std::int64_t now_ns) const {
    return renewal_ns_ != 0 && now_ns - changed_ns_ < renewal_ns_ - renewal_ns_ / 8;
  }

 private:
  void estimate();

  static constexpr std::size_t window = 15;
  std::array<std::int64_t, window> intervals_{};  // between changes
  std::array<std::int64_t, window> steps_{};      // between reads
  std::size_t changes_ = 0;
  std::size_t reads_ = 0;
  double value_ = 0;
  std::int64_t read_ns_ = 0;
  std::int64_t changed_ns_ = 0;
  std::int64_t renewal_ns_ = 0;
  bool has_changed_ = false;
};

}  // namespace kymo::sense
