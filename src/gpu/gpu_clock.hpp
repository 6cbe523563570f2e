// A GPU's clock on that of the processor, by pairs that tell both at one moment.
#pragma once

#include <cstdint>
#include <optional>

#include <kymo/gpu_driver.hpp>

namespace kymo::gpu {

/// A time of CLOCK_MONOTONIC, off by at most `bound_ns` either way.
struct BoundedTime {
  std::int64_t ns = 0;
  std::int64_t bound_ns = 0;
};

/// Turns ticks into times. The GPU's clock runs a little faster or slower than the processor's; how much is told by two
/// pairs that lie apart, as far as their bounds allow.
class GpuClock {
 public:
  explicit GpuClock(const GpuClockFacts& facts) noexcept;

  /// Takes a pair that is known better than what the earlier ones say of its moment, or that contradicts them: then one
  /// of the clocks was set, and they are forgotten.
  void add(const GpuClockPair& pair) noexcept;

  [[nodiscard]] bool is_known() const noexcept { return latest_.has_value(); }
  /// The time of a tick within half a turn of the latest pair. Only where the clock is known.
  [[nodiscard]] BoundedTime time_of(std::uint64_t ticks) const noexcept;
  /// From one tick to another within half a turn; 0 where it lies before.
  [[nodiscard]] std::int64_t duration_ns(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept;

 private:
  /// A pair, and its ticks counted on from those of the first one without wrapping.
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
  double rate_ns_;      // a tick's length, as far as it is known
  double rate_error_;   // of that, as a share
  CountedPair base_;    // the rate is told by this one and the latest
  CountedPair middle_;  // the next base
  std::optional<CountedPair> latest_;
};

}  // namespace kymo::gpu
