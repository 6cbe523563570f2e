// The counter of macOS, for clock.cpp alone.
#pragma once

#include <cstdint>
#include <string_view>

#include <mach/mach_time.h>

#include "record/clock.hpp"

namespace kymo::record {

inline constexpr const char* hardware_counter_name = "mach_absolute_time";

inline std::uint64_t read_counter_in_order() noexcept {
  return read_counter();  // a call orders itself
}

inline bool processor_counter_is_invariant() noexcept {
  return true;
}

inline bool kernel_lists_counter(std::string_view /*root*/) {
  return true;
}

inline double hardware_step_ns() {
  mach_timebase_info_data_t base{};
  const bool is_known = ::mach_timebase_info(&base) == KERN_SUCCESS && base.denom != 0;
  return is_known ? static_cast<double>(base.numer) / static_cast<double>(base.denom) : 1.0;
}

}  // namespace kymo::record
