// A duration. <chrono> takes a compiler longer than all of kymo's headers together, so that its durations are told by
// what they have.
#pragma once

#include <cstdint>
#include <type_traits>

#include <kymo/export.hpp>

namespace kymo {

/// A number of nanoseconds, or a time of CLOCK_MONOTONIC. std::chrono's durations of whole nanoseconds or longer units
/// convert to it, as they do to std::chrono::nanoseconds: `options.keep_duration = std::chrono::seconds(30)`.
class Nanoseconds {
 public:
  constexpr Nanoseconds() noexcept = default;
  KYMO_SKIP
  constexpr explicit Nanoseconds(std::int64_t count) noexcept : count_(count) {}
  template <template <typename, typename> class Duration, typename Rep, typename Period,
            typename = std::enable_if_t<std::is_integral_v<Rep> && 1'000'000'000 % Period::den == 0>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): it is a duration
  constexpr Nanoseconds(const Duration<Rep, Period>& duration) noexcept
      : count_(static_cast<std::int64_t>(duration.count()) * (Period::num * (1'000'000'000 / Period::den))) {}

  [[nodiscard]] KYMO_SKIP
  constexpr std::int64_t count() const noexcept { return count_; }

  /// To std::chrono::nanoseconds.
  template <template <typename, typename> class Duration, typename Rep, typename Period,
            typename = std::enable_if_t<std::is_integral_v<Rep> && Period::num == 1 && Period::den == 1'000'000'000>>
  KYMO_SKIP
  // NOLINTNEXTLINE(google-explicit-constructor): as above
  constexpr operator Duration<Rep, Period>() const noexcept { return Duration<Rep, Period>(static_cast<Rep>(count_)); }

 private:
  std::int64_t count_ = 0;
};

}  // namespace kymo
