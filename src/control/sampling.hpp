// Starts and stops the sampler that KYMO_SAMPLE asks for. It lives in a library of its own, loaded at the first start.
#pragma once

#include <array>

namespace kymo::control {

/// Hertz of the fast, the medium and the slow tier; 0: off.
using SampleRates = std::array<double, 3>;
inline constexpr SampleRates default_sample_rates{100, 10, 1};

/// One thread at a time.
class Sampling {
 public:
  /// False where there is nothing to start: all rates are 0, it runs, or libkymo_sense is not there (said where
  /// `is_wanted`).
  bool start(const SampleRates& rates, bool is_wanted) noexcept;
  void stop() noexcept;
  /// In a forked child, whose parent sampled; whether it did.
  bool forget() noexcept;

 private:
  bool is_running_ = false;
};

}  // namespace kymo::control
