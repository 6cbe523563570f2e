// Maps a GPU's clock to the processor's by pairs of simultaneous readings.
#pragma once

#include <cstdint>
#include <optional>

#include <kymo/gpu_driver.hpp>

namespace kymo::gpu {

/// A time of CLOCK_MONOTONIC with an error of at most `bound_ns` in either direction.
struct BoundedTime {
  std::int64_t ns = 0;
  std::int64_t bound_ns = 0;
};

/// Converts ticks to times. The GPU's clock runs slightly faster or slower than the processor's. Two distant pairs
/// determine the ratio, as precisely as their bounds allow.
class GpuClock {
 public:
  explicit GpuClock(const GpuClockFacts& facts) noexcept;

  /// Takes a pair if it is more precise than the prediction from earlier pairs, or contradicts them. In the latter case
  /// one of the clocks was set, and earlier pairs are dropped.
  void add(const GpuClockPair& pair) noexcept;

  [[nodiscard]] bool is_known() const noexcept { return latest_.has_value(); }
  /// The time of a tick within half a turn of the latest pair. Requires a known clock.
  [[nodiscard]] BoundedTime time_of(std::uint64_t ticks) const noexcept;
  /// The duration between two ticks within half a turn; 0 if the end is before the begin.
  [[nodiscard]] std::int64_t duration_ns(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept;

 private:
  /// A pair with its ticks unwrapped, counted on from the first pair.
  struct CountedPair {
    GpuClockPair pair;
    std::int64_t ticks = 0;
  };

  [[nodiscard]] std::int64_t ticks_between(std::uint64_t from, std::uint64_t to) const noexcept;
  [[nodiscard]] bool may_have_wrapped(const GpuClockPair& pair) const noexcept;
  void restart(const GpuClockPair& pair) noexcept;
  void tell_rate() noexcept;

  double nominal_ns_;
  unsigned valid_bits_;
  double rate_ns_;      // a tick's estimated length
  double rate_error_;   // its relative error
  CountedPair base_;    // the rate is measured from this pair to the latest
  CountedPair middle_;  // the next base
  std::optional<CountedPair> latest_;
};

}  // namespace kymo::gpu
