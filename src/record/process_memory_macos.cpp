#include <mach/mach.h>

#include "record/process_memory.hpp"

namespace kymo::record {

std::uint64_t resident_memory_bytes() noexcept {
  mach_task_basic_info_data_t info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  const kern_return_t outcome =
      ::task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count);
  return outcome == KERN_SUCCESS ? info.resident_size : 0;
}

}  // namespace kymo::record
