#include <mach/mach.h>

#include "sense/own_memory.hpp"

namespace kymo::sense {

namespace {

mach_task_basic_info_data_t ask() noexcept {
  mach_task_basic_info_data_t info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (::task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) !=
      KERN_SUCCESS) {
    info = {};
  }
  return info;
}

}  // namespace

std::uint64_t resident_bytes() {
  return ask().resident_size;
}

std::uint64_t peak_resident_bytes() {
  return ask().resident_size_max;
}

}  // namespace kymo::sense
