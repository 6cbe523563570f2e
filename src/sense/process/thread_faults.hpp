// Page faults of each thread of a process tree.
//
// They are in /proc/PID/task/TID/stat, which anybody may read of one's own processes: the same numbers as getrusage's
// of the thread. The kernel's software counters would need a descriptor for each thread and CPU, and where
// perf_event_paranoid is 2 they leave out what the kernel faults in on a thread's behalf. So the file is read, some 10
// us, but only of threads that ran since the last look: the others have no new faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <kymo/declarations.hpp>

namespace kymo::sense {

struct FaultCounts {
  std::uint64_t minor = 0;  ///< the page was in memory
  std::uint64_t major = 0;  ///< it had to be read

  [[nodiscard]] bool is_since(const FaultCounts& earlier) const {
    return minor >= earlier.minor && major >= earlier.major;
  }
};

/// The faults in a stat file; nothing for an incomplete text.
[[nodiscard]] std::optional<FaultCounts> parse_faults(std::string_view stat);

/// One thread from look to look.
struct FaultyThread {
  FaultCounts base;  ///< at the first look, for threads that were there before
  FaultCounts latest;
  std::optional<std::pair<std::size_t, std::size_t>> metrics;  ///< minor, major; none: not taken up (yet)
  bool was_seen = false;
};

/// Whether a thread needs its stat file read now. One that comes and goes within a look is never taken up: there are
/// too many.
[[nodiscard]] inline bool wants_faults(const FaultyThread& thread, bool is_first_look, bool has_run) {
  return thread.metrics ? has_run : is_first_look || thread.was_seen;
}

/// The declaration of one of a thread's metrics. `status`: its status file, which has its name.
[[nodiscard]] MetricDeclaration describe_faults(const char* name, std::string_view thread, std::uint64_t pid,
                                                std::string_view status);

/// Whether a status file says that the thread runs, or could.
[[nodiscard]] bool is_running(std::string_view status);

}  // namespace kymo::sense
