// Answers of the kernel, from calls of the system library.
#include <libproc.h>
#include <mach/mach.h>
#include <mach/mach_host.h>
#include <mach/mach_time.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <cerrno>
#include <cstring>

#include "sense/macos/calls.hpp"

namespace kymo::sense {

namespace {

std::string describe_failure(const char* call, kern_return_t outcome) {
  return std::string(call) + ": " + ::mach_error_string(outcome);
}

/// A right to this host. Each call of mach_host_self() takes another reference, so it is called once.
host_t host() {
  static const host_t self = ::mach_host_self();
  return self;
}

std::string read_core_ticks(std::vector<MachCoreTicks>& cores) {
  natural_t count = 0;
  processor_info_array_t info = nullptr;
  mach_msg_type_number_t numbers = 0;
  const kern_return_t outcome = ::host_processor_info(host(), PROCESSOR_CPU_LOAD_INFO, &count, &info, &numbers);
  if (outcome != KERN_SUCCESS) {
    return describe_failure("host_processor_info", outcome);
  }
  for (natural_t i = 0; i < count && (std::size_t{i} + 1) * CPU_STATE_MAX <= numbers; ++i) {
    const integer_t* const ticks = info + std::size_t{i} * CPU_STATE_MAX;
    const auto at = [ticks](int state) { return static_cast<std::uint32_t>(ticks[state]); };
    cores.push_back({at(CPU_STATE_USER), at(CPU_STATE_SYSTEM), at(CPU_STATE_IDLE), at(CPU_STATE_NICE)});
  }
  ::vm_deallocate(mach_task_self(), reinterpret_cast<vm_address_t>(info), numbers * sizeof *info);
  return {};
}

template <typename T>
bool read_kernel_value(const char* name, T& value) {
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && size == sizeof value;
}

std::string read_memory(MachMemory& memory) {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const kern_return_t outcome =
      ::host_statistics64(host(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count);
  if (outcome != KERN_SUCCESS) {
    return describe_failure("host_statistics64", outcome);
  }
  xsw_usage swap{};
  std::uint64_t total_bytes = 0;
  if (!read_kernel_value("hw.memsize", total_bytes)) {
    return std::string("hw.memsize: ") + std::strerror(errno);
  }
  if (!read_kernel_value("vm.swapusage", swap)) {
    return std::string("vm.swapusage: ") + std::strerror(errno);
  }
  memory.page_bytes = vm_kernel_page_size;
  memory.total_bytes = total_bytes;
  memory.swap_used_bytes = swap.xsu_used;
  memory.anonymous = pages.internal_page_count;
  memory.purgeable = pages.purgeable_count;
  memory.file_backed = pages.external_page_count;
  memory.wired = pages.wire_count;
  memory.compressor = pages.compressor_page_count;
  memory.faults = pages.faults;
  memory.page_ins = pages.pageins;
  memory.swap_ins = pages.swapins;
  memory.swap_outs = pages.swapouts;
  return {};
}

std::string read_process(std::uint64_t process, MachProcess& usage) {
  const auto pid = static_cast<pid_t>(process);
  rusage_info_v4 info{};
  if (::proc_pid_rusage(pid, RUSAGE_INFO_V4, reinterpret_cast<rusage_info_t*>(&info)) != 0) {
    return std::string("proc_pid_rusage: ") + std::strerror(errno);
  }
  usage.user_time = info.ri_user_time;
  usage.system_time = info.ri_system_time;
  usage.resident_bytes = info.ri_resident_size;
  usage.footprint_bytes = info.ri_phys_footprint;
  usage.page_ins = info.ri_pageins;
  usage.read_bytes = info.ri_diskio_bytesread;
  usage.written_bytes = info.ri_diskio_byteswritten;
  proc_taskinfo task{};
  if (::proc_pidinfo(pid, PROC_PIDTASKINFO, 0, &task, sizeof task) == static_cast<int>(sizeof task)) {
    usage.threads = static_cast<std::uint64_t>(task.pti_threadnum);
  }
  return {};
}

}  // namespace

MachCalls mach_calls() {
  mach_timebase_info_data_t base{};
  const bool is_known = ::mach_timebase_info(&base) == KERN_SUCCESS && base.denom != 0;
  return {read_core_ticks, read_memory, read_process,
          is_known ? static_cast<double>(base.numer) / static_cast<double>(base.denom) : 0};
}

}  // namespace kymo::sense
