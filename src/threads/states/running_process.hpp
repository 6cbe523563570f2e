// A process that runs already, as the records that the kernel would have written had it been observed from its start.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "threads/states/kernel_records.hpp"

namespace kymo::threads {

/// The numbers among a directory's names, ascending.
[[nodiscard]] std::vector<std::uint32_t> list_numbers(const std::string& directory);

/// The threads that a process has now, ascending; the first 65,536 of them. `proc` is where /proc is. Empty if there is
/// no such process.
[[nodiscard]] std::vector<std::uint32_t> list_threads(pid_t process, const std::string& proc = "/proc");

/// Records of Kind::found for its threads and, if asked, Kind::mapped for what it can execute, all at `time_ns`. At
/// most 65,536 of each.
[[nodiscard]] std::vector<KernelRecord> describe_process(pid_t process, std::int64_t time_ns,
                                                         const std::string& proc = "/proc", bool has_mappings = true);

/// One line of /proc/PID/maps; Kind::other if it is none, or not executable.
[[nodiscard]] KernelRecord parse_mapping_line(std::string_view line);

}  // namespace kymo::threads
