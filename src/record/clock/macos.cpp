#include "record/clock/counter.hpp"

#include <mach/mach_time.h>

#include "record/clock/clock.hpp"

namespace kymo::record {

const char* const hardware_counter_name = "mach_absolute_time";

std::uint64_t read_counter_in_order() noexcept {
  return read_counter();  // the call orders itself
}

bool processor_counter_is_invariant() noexcept {
  return true;
}

bool kernel_lists_counter(std::string_view /*root*/) {
  return true;
}

double hardware_step_ns(const ClockPair&) {
  mach_timebase_info_data_t base{};
  const bool is_known = ::mach_timebase_info(&base) == KERN_SUCCESS && base.denom != 0;
  return is_known ? static_cast<double>(base.numer) / static_cast<double>(base.denom) : 1.0;
}

}  // namespace kymo::record
