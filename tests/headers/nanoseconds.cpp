// Durations of std::chrono convert to Nanoseconds as they do to std::chrono::nanoseconds, by a header without <chrono>.
#include <chrono>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include <kymo/nanoseconds.hpp>

namespace {

using kymo::Nanoseconds;

constexpr std::int64_t count_of(Nanoseconds duration) {
  return duration.count();
}

static_assert(count_of(std::chrono::nanoseconds(7)) == 7 && count_of(std::chrono::microseconds(-7)) == -7'000);
static_assert(count_of(std::chrono::seconds(30)) == 30'000'000'000 &&
              count_of(std::chrono::hours(1)) == 3'600'000'000'000);

template <typename Duration>
constexpr bool agrees =
    std::is_convertible_v<Duration, Nanoseconds> == std::is_convertible_v<Duration, std::chrono::nanoseconds>;
static_assert(agrees<std::chrono::minutes> && agrees<std::chrono::milliseconds> &&
              agrees<std::chrono::duration<float>> && agrees<std::chrono::duration<std::int64_t, std::pico>> &&
              agrees<std::chrono::duration<int, std::ratio<1, 60>>> && agrees<int> && agrees<std::int64_t>);

constexpr std::chrono::nanoseconds back = Nanoseconds(5);
static_assert(back.count() == 5 && !std::is_convertible_v<Nanoseconds, std::chrono::milliseconds>);
static_assert(std::is_trivially_copyable_v<Nanoseconds> && sizeof(Nanoseconds) == sizeof(std::int64_t));

}  // namespace
