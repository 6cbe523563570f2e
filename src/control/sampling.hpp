// Starts and stops the sampler of KYMO_SAMPLE, which is in a separate library, loaded at the first start.
#pragma once

#include <array>

namespace kymo::control {

/// Hertz of the fast, the medium and the slow tier; 0: off.
using SampleRates = std::array<double, 3>;
inline constexpr SampleRates default_sample_rates{100, 10, 1};

/// Not thread-safe.
class Sampling {
 public:
  /// False if there is nothing to start: all rates are 0, it runs already, or libkymo_sense is missing (kymo warns if
  /// `is_wanted`). `has_capture`: run states of threads are taken from now on.
  bool start(const SampleRates& rates, bool is_wanted, bool has_capture) noexcept;
  void stop() noexcept;
  /// In a forked child: forgets the parent's sampler; returns whether it ran.
  bool forget() noexcept;

 private:
  bool is_running_ = false;
};

}  // namespace kymo::control
