// The system's information on the processor's counter, for clock.cpp only.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/clock/clock.hpp"

namespace kymo::record {

/// "tsc", "cntvct", "mach_absolute_time", or "clock_monotonic" if there is no counter.
extern const char* const hardware_counter_name;

/// Reads the counter in order: neither before the preceding reads nor after the following ones.
[[nodiscard]] std::uint64_t read_counter_in_order() noexcept;

/// Whether the counter runs at one rate in every power state.
[[nodiscard]] bool processor_counter_is_invariant() noexcept;

/// Whether the kernel uses the counter for timekeeping, or would. `root` holds sys/.
[[nodiscard]] bool kernel_lists_counter(std::string_view root);

/// Nanoseconds per count. `earlier` was read in this process before, for where the rate has to be measured.
[[nodiscard]] double hardware_step_ns(const ClockPair& earlier);

}  // namespace kymo::record
